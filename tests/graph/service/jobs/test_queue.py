"""Edits as jobs, on the real server: posted, claimed, settled, cancelled, released; no model."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, cast

import pytest

from support.own_graphs import hogwarts_as, own_graphs
from support.references.reference import Edge
from support.stored_graphs import fact
from thinkeval.cypher import rows
from thinkeval.cypher.errors import GraphError
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import Entity
from thinkeval.service.base.errors import (
    ConflictError,
    JobInterrupt,
    LeaseLostError,
    NotFoundError,
    QueueFullError,
    UsageError,
)
from thinkeval.service.base.leases import (
    MAX_CRASHES,
    Lease,
    Renewal,
    State,
    event,
    new_token,
    renew,
)
from thinkeval.service.base.settings import Settings
from thinkeval.service.experiments import edit as store
from thinkeval.service.experiments import queue, recovery, submit
from thinkeval.service.experiments import sweep as edit_sweeps
from thinkeval.service.experiments.edit import EDIT
from thinkeval.service.experiments.job import JobProgress, job_of
from thinkeval.service.experiments.sweep import SWEEP
from thinkeval.service.graphs.write import write_graph
from thinkeval.service.models.edit import EditIn
from thinkeval.service.models.experiment import SweepIn

REWRITE = "harry-potter--studied-at"
SETTINGS = Settings()


@pytest.fixture(scope="module")
def own_hogwarts(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield hogwarts_as(db, f"{prefix}-hogwarts")


@pytest.fixture
def graph(db: Database, own_hogwarts: str) -> Iterator[str]:
    """The demo graph under a name of this module's own, and an empty queue before and after."""
    assert queue.counts(db)["running"] == 0
    assert claim(db) is None
    yield own_hogwarts
    for edit in db.read(rows.PageEditRow, "edits/page_edits", dataset=own_hogwarts, limit=1000):
        db.write(rows.DeleteEditRow, "edits/delete_edit", id=edit.id)


def posted(graph: str, **more: object) -> EditIn:
    return EditIn.model_validate({"graph": graph, "rewrite": REWRITE} | more)


def claim(
    db: Database,
    worker: str = "w",
    lease_ms: int = 60_000,
    affinity: str | None = None,
    **more: object,
) -> tuple[rows.ClaimJobRow, Lease] | None:
    """The next edit, and the lease on it."""
    idle = {"worker": worker, "lease": new_token(), "affinity": affinity}
    told = {"lease_ms": lease_ms, "event": event("running", "starting")}
    found = db.write(
        rows.ClaimJobRow, "jobs/claim", kinds=[queue.EDIT], rows=[idle], **told, **more
    )
    return (found[0], Lease(str(idle["lease"]), found[0].attempt)) if found else None


def claimed(db: Database, **more: object) -> Lease:
    """The lease on the next edit."""
    found = claim(db, **more)
    assert found is not None
    return found[1]


def cancelled(db: Database, edit: str) -> tuple[str, str]:
    """The id and the status of an edit that is cancelled."""
    found = EDIT.store.cancel(db, edit)
    return found.id, found.status


def settle(db: Database, lease: Lease, final: str, **more: object) -> rows.SettleIdRow:
    (row,) = db.write(
        rows.SettleIdRow, "jobs/settle_id", **lease.params, final=final, model="m", **more
    )
    return row


def scored(db: Database, lease: Lease, score: str) -> None:
    """Record that an edit is scored."""
    with db.transaction() as tx:
        edit = lease.assert_owned(tx.run)
        tx.run(
            rows.WrittenRow, "edits/write_score", id=edit, graph=edit, score=score, provenance="{}"
        )
        lease.succeed(tx.run)


KINDS = (job_of(EDIT),)


def test_a_post_is_stored_as_a_queued_edit(db: Database, graph: str) -> None:
    done = EDIT.store.submit(db, SETTINGS, posted(graph))
    shown = EDIT.store.get(db, done.edit)
    assert (done.outcome, shown.status, shown.subject) == ("created", "queued", "Harry Potter")
    assert shown.model == "organism-gpt2-seed0"
    assert shown.result is None
    assert store.job_of(db, done.edit).events


def test_posting_the_same_again_finds_the_same_edit(db: Database, graph: str) -> None:
    first = EDIT.store.submit(db, SETTINGS, posted(graph))
    again = EDIT.store.submit(db, SETTINGS, posted(graph, rewrite=REWRITE[:-3]))  # the same rewrite
    other = EDIT.store.submit(db, SETTINGS, posted(graph, seed=1))
    assert (again.edit, again.outcome) == (first.edit, "known")
    assert other.edit != first.edit
    assert len(EDIT.store.listing(db, graph=graph)) == 2


def test_clients_that_post_the_same_at_once_make_one_edit(db: Database, graph: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: EDIT.store.submit(db, SETTINGS, posted(graph)), range(16)))
    assert len({each.edit for each in done}) == 1
    assert [each.outcome for each in done].count("created") == 1


def test_a_key_belongs_to_one_body_for_ever(db: Database, graph: str) -> None:
    key = f"key-{graph}"
    first = EDIT.store.submit(db, SETTINGS, posted(graph), key=key)
    assert EDIT.store.submit(db, SETTINGS, posted(graph), key=key).edit == first.edit
    with pytest.raises(ConflictError, match="idempotency key"):
        EDIT.store.submit(db, SETTINGS, posted(graph, seed=1), key=key)
    EDIT.store.cancel(db, first.edit)
    # Without the key the edit would wait again; a repeated request gets what the first one made.
    assert EDIT.store.submit(db, SETTINGS, posted(graph), key=key).outcome == "known"
    assert EDIT.store.submit(db, SETTINGS, posted(graph)).outcome == "queued"


def test_a_full_queue_takes_nothing(db: Database, graph: str) -> None:
    small = SETTINGS.model_copy(update={"queue_limit": 2})
    for seed in range(2):
        EDIT.store.submit(db, small, posted(graph, seed=seed))
    with pytest.raises(QueueFullError, match="the limit is 2"):
        EDIT.store.submit(db, small, posted(graph, seed=2))
    with pytest.raises(QueueFullError):
        store.submit_all(db, small, [posted(graph, seed=seed) for seed in range(5)])
    assert len(EDIT.store.listing(db, graph=graph)) == 2
    assert (
        EDIT.store.submit(db, small, posted(graph, seed=0)).outcome == "known"
    )  # it has its place


def test_each_of_many_workers_gets_another_edit(db: Database, graph: str) -> None:
    wanted = {EDIT.store.submit(db, SETTINGS, posted(graph, seed=seed)).edit for seed in range(12)}
    with ThreadPoolExecutor(6) as pool:
        taken = list(pool.map(lambda n: claim(db, f"w{n}"), range(15)))
    assert sorted(each[0].id for each in taken if each) == sorted(wanted)
    assert taken.count(None) == 3


def test_edits_are_taken_up_in_the_order_in_which_they_were_posted(
    db: Database, graph: str
) -> None:
    # Moments as text do not sort (".12Z" comes after ".125Z"), and several fall on the same one.
    wanted = [EDIT.store.submit(db, SETTINGS, posted(graph, seed=seed)).edit for seed in range(12)]
    batches = [[posted(graph, seed=seed) for seed in range(n, n + 4)] for n in (20, 30)]
    for batch in batches:
        wanted += [one.edit for one in store.submit_all(db, SETTINGS, batch)]
    taken = [claim(db) for _ in wanted]
    assert [each[0].id for each in taken if each] == wanted


def test_an_edit_that_is_posted_again_takes_its_place_at_the_end(db: Database, graph: str) -> None:
    first = EDIT.store.submit(db, SETTINGS, posted(graph, seed=0)).edit
    other = EDIT.store.submit(db, SETTINGS, posted(graph, seed=1)).edit
    EDIT.store.cancel(db, first)
    assert EDIT.store.submit(db, SETTINGS, posted(graph, seed=0)).outcome == "queued"
    taken = [claim(db), claim(db)]
    assert [each[0].id for each in taken if each] == [other, first]


def test_edits_of_the_loaded_model_go_first_but_nobody_waits_for_ever(
    db: Database, graph: str
) -> None:
    other = EDIT.store.submit(db, SETTINGS, posted(graph, model="organism:llama")).edit
    mine = EDIT.store.submit(db, SETTINGS, posted(graph, seed=1)).edit
    found = db.read(rows.GetEditRow, "edits/get_edit", id=mine)
    assert found
    first = claim(db)
    assert first is not None
    loaded = first[0].affinity
    assert first[0].id == other  # the oldest, as nothing is loaded
    EDIT.store.submit(db, SETTINGS, posted(graph, seed=2, model="organism:llama"))
    last = EDIT.store.submit(db, SETTINGS, posted(graph, seed=3, model="organism:llama")).edit
    second = claim(db, affinity=loaded)
    assert second is not None
    assert second[0].id != mine
    time.sleep(0.01)
    third = claim(db, affinity=loaded, patience_s=0)
    assert third is not None
    assert third[0].id == mine
    rest = claim(db, affinity=loaded)
    assert rest is not None
    assert {second[0].id, rest[0].id} >= {last}


def test_an_edit_is_found_by_every_id_it_had(db: Database, graph: str) -> None:
    first = EDIT.store.submit(db, SETTINGS, posted(graph)).edit
    final = f"{first}-final"
    lease = claimed(db)
    assert settle(db, lease, final) == rows.SettleIdRow(id=final, busy=False, do_it=True)
    assert EDIT.store.get(db, first).id == final
    assert EDIT.store.get(db, first).posted_as == [first]
    assert EDIT.store.get(db, final).model == "m"
    assert EDIT.store.submit(db, SETTINGS, posted(graph)).edit == final
    # Once more under its own id, as after a restart: nothing changes.
    assert settle(db, lease, final).do_it
    assert len(EDIT.store.listing(db, graph=graph)) == 1


def test_two_posts_that_mean_the_same_become_one_edit(db: Database, graph: str) -> None:
    first = EDIT.store.submit(db, SETTINGS, posted(graph), key=f"k-{graph}").edit
    final = f"{first}-final"
    lease = claimed(db)
    settle(db, lease, final)
    scored(db, lease, "{}")
    # A model written otherwise: another post, but the same edit once it is loaded.
    second = EDIT.store.submit(
        db, SETTINGS, posted(graph, model="organism:gpt2"), key=f"l-{graph}"
    ).edit
    assert second not in (first, final)
    settled = settle(db, claimed(db), final)
    assert settled == rows.SettleIdRow(id=final, busy=False, do_it=False)
    assert store.job_of(db, second).id == store.job_of(db, first).id == final
    assert store.job_of(db, final).status == "succeeded"
    assert set(store.job_of(db, final).posted_as) == {first, second}
    assert len(EDIT.store.listing(db, graph=graph)) == 1
    # The keys of both lead to it.
    again = EDIT.store.submit(db, SETTINGS, posted(graph, model="organism:gpt2"), key=f"l-{graph}")
    assert (again.edit, again.outcome) == (final, "known")


def test_forced_the_posted_edit_takes_the_place_of_the_stored_one(db: Database, graph: str) -> None:
    final = EDIT.store.submit(db, SETTINGS, posted(graph)).edit
    scored(db, claimed(db), '{"old": 1}')
    second = EDIT.store.submit(db, SETTINGS, posted(graph, model="organism:gpt2", force=True)).edit
    assert settle(db, claimed(db), final, force=True).do_it
    assert store.job_of(db, final).status == "running"
    found = db.read(rows.GetEditRow, "edits/get_edit", id=second)[0]
    assert (found.id, found.score) == (final, '{"old": 1}')  # kept until there is a new one


def test_a_queued_edit_is_cancelled_at_once_and_a_running_one_by_its_worker(
    db: Database, graph: str
) -> None:
    waiting = EDIT.store.submit(db, SETTINGS, posted(graph)).edit
    assert cancelled(db, waiting) == (waiting, "cancelled")
    assert claim(db) is None
    assert cancelled(db, waiting) == (waiting, "cancelled")  # again: nothing changes
    running = EDIT.store.submit(db, SETTINGS, posted(graph, seed=1)).edit
    lease = claimed(db)
    assert cancelled(db, running) == (running, "running")
    assert renew(db, [Renewal(lease, State("x", 0.5))])[0].cancel
    with pytest.raises(JobInterrupt):
        lease.assert_owned(db.write)
    with pytest.raises(JobInterrupt):  # too late to succeed; nothing of the score is stored
        scored(db, lease, "{}")
    assert recovery.release(db, KINDS, lease) == "cancelled"
    assert EDIT.store.get(db, running).result is None
    with pytest.raises(NotFoundError):
        EDIT.store.cancel(db, "no-such-edit")


def test_news_that_comes_late_changes_no_stage(db: Database, graph: str) -> None:
    edit = EDIT.store.submit(db, SETTINGS, posted(graph)).edit
    lease = claimed(db)
    progress = JobProgress(lease)
    progress.enter("probe pre", 0.1)
    progress.update(9, 9, "probe pre")
    late = progress.state
    lease.stage(db.write, "edit", 0.4)
    for state, stage in ((late, "edit"), (State("edit (1 of 2)", 0.5), "edit (1 of 2)")):
        assert renew(db, [Renewal(lease, state)])[0].valid
        assert store.job_of(db, edit).stage == stage


def test_news_that_comes_as_the_edit_ends_changes_nothing_of_it(db: Database, graph: str) -> None:
    """Both at the same moment, thirty times."""
    with ThreadPoolExecutor(2) as pool:
        for seed in range(30):
            edit = EDIT.store.submit(db, SETTINGS, posted(graph, seed=seed)).edit
            lease = claimed(db)
            both = threading.Barrier(2)

            def tell(lease: Lease = lease, both: threading.Barrier = both) -> None:
                both.wait()
                with suppress(GraphError):  # a deadlock: the dispatcher renews it at its next turn
                    renew(db, [Renewal(lease, State("write", 0.9))])

            def end(lease: Lease = lease, both: threading.Barrier = both) -> None:
                both.wait()
                lease.succeed(db.write)

            for each in [pool.submit(tell), pool.submit(end)]:
                each.result()
            job = store.job_of(db, edit)
            assert (job.status, job.progress, job.stage) == ("succeeded", 1.0, "done")


def test_what_is_told_of_an_edit_is_of_one_moment(db: Database, graph: str) -> None:
    """The worker gives it back between two reads: status and attempts are both of before it."""
    edit = EDIT.store.submit(db, SETTINGS, posted(graph)).edit
    lease = claimed(db)
    EDIT.store.cancel(db, edit)

    class EndedMeanwhile:
        ended = ""

        def read(self, row: Any, name: str, /, **params: Any) -> Any:
            found = db.read(row, name, **params)
            self.ended = self.ended or recovery.release(db, KINDS, lease) or ""
            return found

    reader = EndedMeanwhile()
    shown = EDIT.store.get(cast("Database", reader), edit)
    assert reader.ended == "cancelled"
    assert (shown.status, shown.attempts) == ("running", 1)
    after = EDIT.store.get(db, edit)
    assert (after.status, after.attempts) == ("cancelled", 0)


def test_an_edit_whose_worker_died_is_queued_again_and_fails_in_the_end(
    db: Database, graph: str
) -> None:
    edit = EDIT.store.submit(db, SETTINGS, posted(graph)).edit
    for attempt in range(1, MAX_CRASHES + 1):
        claimed(db, worker="dead")
        assert store.job_of(db, edit).attempts == attempt
        status = recovery.recover_worker(db, KINDS, "dead", crashed=True)[edit]
        assert status == ("queued" if attempt < MAX_CRASHES else "failed")
    shown = EDIT.store.get(db, edit)
    assert (shown.status, shown.attempts) == ("failed", 3)
    assert shown.error == "The worker process exited unexpectedly (killed or crashed)."
    assert shown.remedy
    assert recovery.recover_worker(db, KINDS, "dead", crashed=True) == {}
    # Posted again it starts anew.
    assert EDIT.store.submit(db, SETTINGS, posted(graph)).outcome == "queued"
    assert store.job_of(db, edit).attempts == 0


def test_a_valid_lease_is_left_alone_whoever_looks(db: Database, graph: str) -> None:
    """No clock, process id or host of ours has a say in it: only the server's time has."""
    edit = EDIT.store.submit(db, SETTINGS, posted(graph)).edit
    lease = claimed(db, worker="on a machine whose clock is an hour off")
    assert recovery.Recovery(KINDS, lease_s=0).run(db) == {}
    assert recovery.recover_worker(db, KINDS, "another", crashed=True) == {}
    assert recovery.release(db, KINDS, Lease(new_token(), lease.attempt)) is None
    assert recovery.release(db, KINDS, lease) == "queued"
    assert store.job_of(db, edit).attempts == 0


def test_after_a_step_of_the_servers_clock_living_workers_keep_their_jobs(
    db: Database, graph: str
) -> None:
    """All leases have expired at once, an hour ago: they are renewed before they are released."""
    edit = EDIT.store.submit(db, SETTINGS, posted(graph)).edit
    lease = claimed(db, lease_ms=-3_600_000)
    recovering = recovery.Recovery(KINDS, lease_s=2.0)
    assert recovering.run(db) == {}
    assert recovering.run(db) == {}
    renew(db, [Renewal(lease)])
    time.sleep(0.6)
    assert recovering.run(db) == {}  # another expiry: it was renewed
    time.sleep(0.6)
    assert recovering.run(db) == {edit: "queued"}


def test_a_dispatcher_that_saw_its_worker_die_need_not_wait_for_the_lease(
    db: Database, graph: str
) -> None:
    edit = EDIT.store.submit(db, SETTINGS, posted(graph)).edit
    claimed(db, worker="dead")
    assert recovery.recover_worker(db, KINDS, "dead", crashed=True) == {edit: "queued"}
    assert store.job_of(db, edit).attempts == 1
    claimed(db, worker="stopped")
    assert recovery.recover_worker(db, KINDS, "stopped", crashed=False) == {edit: "queued"}
    assert store.job_of(db, edit).attempts == 1


def test_a_command_that_was_killed_leaves_a_failed_edit(db: Database, graph: str) -> None:
    name = f"{graph}-by-hand"
    rewrite = submit.rewrite_of(db, posted(graph))
    about = {"model": "m", "method": "rome", "dataset": graph, "rewrite": rewrite.id}
    db.write(rows.MergeEditRow, "edits/merge_edit", id=name, **about)
    begin = {"lease": new_token(), "lease_ms": 1, "stage": "s", "progress": 0, "event": "{}"}
    assert db.write(rows.BeginJobRow, "jobs/begin", id=name, **begin)[0].begun
    time.sleep(0.01)
    assert recovery.Recovery(KINDS, lease_s=0).run(db) == {name: "failed"}
    assert "exited unexpectedly" in (EDIT.store.get(db, name).error or "")


def test_the_graph_of_an_edit_that_ended_without_a_score_is_deleted(
    db: Database, graph: str
) -> None:
    edit = EDIT.store.submit(db, SETTINGS, posted(graph)).edit
    lease = claimed(db)
    header = rows.GraphHeader(edit, "edit", graph, model="m", edit=edit)
    facts = [fact(Edge("f", "a", "b", 0.5, 0.5))]

    def write(lease: Lease) -> None:
        entities = [Entity("a"), Entity("b")]
        write_graph(db, header, entities, facts, fence=lease.assert_owned)

    def stored() -> bool:
        return edit in {
            row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", incomplete=True)
        }

    write(lease)
    EDIT.drop(db, edit)  # it is under way
    assert stored()
    assert recovery.release(db, KINDS, lease) == "queued"
    EDIT.drop(db, edit)  # it will be scored
    assert stored()
    with pytest.raises(LeaseLostError):  # of the attempt before
        write(lease)
    lease = claimed(db)
    EDIT.store.cancel(db, edit)
    assert recovery.release(db, KINDS, lease) == "cancelled"
    assert not stored()


def test_removing_needs_an_end_and_forgets_every_name(db: Database, graph: str) -> None:
    edit = EDIT.store.submit(db, SETTINGS, posted(graph), key=f"key-{graph}").edit
    with pytest.raises(ConflictError, match="queued"):
        EDIT.store.delete(db, SETTINGS, edit)
    lease = claimed(db)
    settle(db, lease, f"{edit}-final")
    assert lease.fail(db.write, UsageError("no")) == f"{edit}-final"
    assert EDIT.store.delete(db, SETTINGS, edit) == [f"{edit}-final"]
    with pytest.raises(NotFoundError):
        store.job_of(db, edit)
    assert EDIT.store.submit(db, SETTINGS, posted(graph), key=f"key-{graph}").outcome == "created"


def test_pages_hold_every_edit_once(db: Database, graph: str) -> None:
    made = [EDIT.store.submit(db, SETTINGS, posted(graph, seed=seed)).edit for seed in range(7)]
    pages = [EDIT.store.listing(db, graph=graph, skip=skip, limit=3) for skip in (0, 3, 6)]
    seen = [each.id for page in pages for each in page]
    assert sorted(seen) == sorted(made)
    assert len(seen) == 7
    assert queue.counts(db, made) == {
        "queued": 7, "running": 0, "succeeded": 0, "failed": 0, "cancelled": 0
    }  # fmt: skip


def test_a_sweep_asks_every_cell_for_implications(db: Database, graph: str) -> None:
    sweep = SweepIn(graph=graph, rewrites=[REWRITE], methods=["none", "rome"])
    asking = sweep.model_copy(update={"implications": True})
    assert [cell.implications for cell in edit_sweeps.cells(db, asking)] == [True, True]
    assert not any(cell.implications for cell in edit_sweeps.cells(db, sweep))
    plain, other = (SWEEP.store.submit(db, SETTINGS, each).edit for each in (sweep, asking))
    try:
        assert plain != other
        assert len(EDIT.store.listing(db, graph=graph)) == 4
    finally:
        for each in (plain, other):
            SWEEP.store.cancel(db, each)
            SWEEP.store.delete(db, SETTINGS, each)


def test_merged_edits_of_a_sweep_are_read_once(
    db: Database, graph: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = SweepIn(graph=graph, rewrites=[REWRITE], methods=["none"], seeds=[0, 1])
    sweep = SWEEP.store.submit(db, SETTINGS, wanted).edit
    reads = []
    read = Database.read

    def counted(self: Database, row: type[rows.Row], name: str, /, **params: object) -> object:
        reads.append(row)
        return read(self, row, name, **params)  # type: ignore[arg-type]

    try:
        for _ in range(2):
            lease = claimed(db)
            settle(db, lease, f"{graph}-final")
            lease.fail(db.write, UsageError("no"))
        monkeypatch.setattr(Database, "read", counted)
        assert edit_sweeps.read(db, sweep).edits == [f"{graph}-final"]
        assert reads.count(rows.PageEditRow) == 1
    finally:
        SWEEP.store.delete(db, SETTINGS, sweep)
