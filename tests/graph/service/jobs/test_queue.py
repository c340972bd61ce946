"""Edits as jobs, on the real server: posted, claimed, settled, cancelled, released; no model."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.errors import ConflictError, NotFoundError, QueueFullError, UsageError
from thinkeval.service.jobs import job_requests, queue, recovery, submit
from thinkeval.service.jobs import sweep as job_sweeps
from thinkeval.service.process import is_gone, name_of, this_process
from thinkeval.service.schemas import EditIn, SweepIn
from thinkeval.service.scoring import record
from thinkeval.service.scoring.record import event
from thinkeval.service.settings import Settings

REWRITE = "harry-potter--studied-at"
SETTINGS = Settings()


@pytest.fixture(scope="module")
def own_hogwarts(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield hogwarts_as(db, f"{prefix}-hogwarts")


@pytest.fixture
def graph(db: Database, own_hogwarts: str) -> Iterator[str]:
    """The demo graph under a name of this module's own, and an empty queue before and after."""
    assert db.read(rows.RunningRow) == []
    assert db.write(rows.ClaimEditRow, owner="nobody", event=event("running", "x")) == []
    yield own_hogwarts
    for edit in db.read(rows.PageEditRow, dataset=own_hogwarts, limit=1000):
        db.write(rows.DeleteEditRow, id=edit.id)


def posted(graph: str, **more: object) -> EditIn:
    return EditIn.model_validate({"graph": graph, "rewrite": REWRITE} | more)


def claim(db: Database, owner: str = "a/1/1.0", **more: object) -> rows.ClaimEditRow | None:
    found = db.write(rows.ClaimEditRow, owner=owner, event=event("running", "starting"), **more)
    return found[0] if found else None


def test_a_post_is_stored_as_a_queued_edit(db: Database, graph: str) -> None:
    done = submit.post(db, SETTINGS, posted(graph))
    shown = queue.edit_out(db, done.edit)
    assert (done.outcome, shown.status, shown.subject) == ("created", "queued", "Harry Potter")
    assert shown.model == "organism-gpt2-seed0"
    assert shown.score is None
    assert queue.job_of(db, done.edit).events


def test_posting_the_same_again_finds_the_same_edit(db: Database, graph: str) -> None:
    first = submit.post(db, SETTINGS, posted(graph))
    again = submit.post(db, SETTINGS, posted(graph, rewrite=REWRITE[:-3]))  # the same rewrite
    other = submit.post(db, SETTINGS, posted(graph, seed=1))
    assert (again.edit, again.outcome) == (first.edit, "known")
    assert other.edit != first.edit
    assert queue.page(db, dataset=graph)[2] == 2


def test_clients_that_post_the_same_at_once_make_one_edit(db: Database, graph: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: submit.post(db, SETTINGS, posted(graph)), range(16)))
    assert len({each.edit for each in done}) == 1
    assert [each.outcome for each in done].count("created") == 1


def test_a_key_belongs_to_one_body_for_ever(db: Database, graph: str) -> None:
    key = f"key-{graph}"
    first = submit.post(db, SETTINGS, posted(graph), key=key)
    assert submit.post(db, SETTINGS, posted(graph), key=key).edit == first.edit
    with pytest.raises(ConflictError, match="idempotency key"):
        submit.post(db, SETTINGS, posted(graph, seed=1), key=key)
    queue.cancel(db, first.edit)
    # Without the key the edit would wait again; a repeated request gets what the first one made.
    assert submit.post(db, SETTINGS, posted(graph), key=key).outcome == "known"
    assert submit.post(db, SETTINGS, posted(graph)).outcome == "queued"


def test_a_full_queue_takes_nothing(db: Database, graph: str) -> None:
    small = SETTINGS.model_copy(update={"queue_limit": 2})
    for seed in range(2):
        submit.post(db, small, posted(graph, seed=seed))
    with pytest.raises(QueueFullError, match="the limit is 2"):
        submit.post(db, small, posted(graph, seed=2))
    with pytest.raises(QueueFullError):
        submit.post_all(db, small, [posted(graph, seed=seed) for seed in range(5)])
    assert queue.page(db, dataset=graph)[2] == 2
    assert submit.post(db, small, posted(graph, seed=0)).outcome == "known"  # it has its place


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"rewrite": "Hary Potter"}, NotFoundError, "Did you mean"),
        ({"model": "/etc"}, UsageError, "not one this service may load"),
        ({"model": "some/other-model"}, UsageError, "not one this service may load"),
        ({"hparams": "/etc/passwd"}, UsageError, "no hyperparameter file"),
    ],
)
def test_what_cannot_be_scored_is_refused_at_once(
    db: Database, graph: str, wrong: dict[str, object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        submit.post(db, SETTINGS, posted(graph, **wrong))
    assert queue.page(db, dataset=graph)[2] == 0


def test_each_of_many_workers_gets_another_edit(db: Database, graph: str) -> None:
    wanted = {submit.post(db, SETTINGS, posted(graph, seed=seed)).edit for seed in range(12)}
    with ThreadPoolExecutor(6) as pool:
        taken = list(pool.map(lambda n: claim(db, f"host/{n}/1.0"), range(15)))
    assert sorted(edit.id for edit in taken if edit) == sorted(wanted)
    assert taken.count(None) == 3


def test_edits_are_taken_up_in_the_order_in_which_they_were_posted(
    db: Database, graph: str
) -> None:
    # Moments as text do not sort (".12Z" comes after ".125Z"), and several fall on the same one.
    wanted = [submit.post(db, SETTINGS, posted(graph, seed=seed)).edit for seed in range(12)]
    batches = [[posted(graph, seed=seed) for seed in range(n, n + 4)] for n in (20, 30)]
    for batch in batches:
        wanted += [one.edit for one in submit.post_all(db, SETTINGS, batch)]
    taken = [claim(db) for _ in wanted]
    assert [edit.id for edit in taken if edit] == wanted


def test_an_edit_that_is_posted_again_takes_its_place_at_the_end(db: Database, graph: str) -> None:
    first = submit.post(db, SETTINGS, posted(graph, seed=0)).edit
    other = submit.post(db, SETTINGS, posted(graph, seed=1)).edit
    queue.cancel(db, first)
    assert submit.post(db, SETTINGS, posted(graph, seed=0)).outcome == "queued"
    taken = [claim(db), claim(db)]
    assert [edit.id for edit in taken if edit] == [other, first]


def test_edits_of_the_loaded_model_go_first_but_nobody_waits_for_ever(
    db: Database, graph: str
) -> None:
    other = submit.post(db, SETTINGS, posted(graph, model="organism:llama")).edit
    mine = submit.post(db, SETTINGS, posted(graph, seed=1)).edit
    found = db.read(rows.GetEditRow, id=mine)
    assert found
    first = claim(db)
    assert first is not None
    assert first.id == other  # the oldest, as nothing is loaded
    submit.post(db, SETTINGS, posted(graph, seed=2, model="organism:llama"))
    last = submit.post(db, SETTINGS, posted(graph, seed=3, model="organism:llama")).edit
    second = claim(db, affinity=first.affinity)
    assert second is not None
    assert second.id != mine
    third = claim(db, affinity=first.affinity, patience_s=0)
    assert third is not None
    assert third.id == mine
    rest = claim(db, affinity=first.affinity)
    assert rest is not None
    assert {second.id, rest.id} >= {last}


def test_an_edit_is_found_by_every_id_it_had(db: Database, graph: str) -> None:
    first = submit.post(db, SETTINGS, posted(graph)).edit
    final = f"{first}-final"
    assert claim(db) is not None
    settled = db.write(rows.SettleIdRow, id=first, final=final, model="m")[0]
    assert settled == rows.SettleIdRow(id=final, score_it=True)
    assert queue.edit_out(db, first).id == final
    assert queue.edit_out(db, first).posted_as == [first]
    assert queue.edit_out(db, final).model == "m"
    assert submit.post(db, SETTINGS, posted(graph)).edit == final
    # Once more under its own id, as after a restart: nothing changes.
    assert db.write(rows.SettleIdRow, id=final, final=final, model="m")[0].score_it
    assert queue.page(db, dataset=graph)[2] == 1


def test_two_posts_that_mean_the_same_become_one_edit(db: Database, graph: str) -> None:
    first = submit.post(db, SETTINGS, posted(graph), key=f"k-{graph}").edit
    final = f"{first}-final"
    claim(db)
    db.write(rows.SettleIdRow, id=first, final=final, model="m")
    db.write(rows.UpdateEditRow, id=final, status="succeeded", score="{}", progress=1.0)
    # A model written otherwise: another post, but the same edit once it is loaded.
    second = submit.post(db, SETTINGS, posted(graph, model="organism:gpt2"), key=f"l-{graph}").edit
    assert second not in (first, final)
    claim(db)
    settled = db.write(rows.SettleIdRow, id=second, final=final, model="m")[0]
    assert settled == rows.SettleIdRow(id=final, score_it=False)
    assert queue.job_of(db, second).id == queue.job_of(db, first).id == final
    assert queue.job_of(db, final).status == "succeeded"
    assert set(queue.job_of(db, final).posted_as) == {first, second}
    assert queue.page(db, dataset=graph)[2] == 1
    # The keys of both lead to it.
    again = submit.post(db, SETTINGS, posted(graph, model="organism:gpt2"), key=f"l-{graph}")
    assert (again.edit, again.outcome) == (final, "known")


def test_forced_the_posted_edit_takes_the_place_of_the_stored_one(db: Database, graph: str) -> None:
    final = submit.post(db, SETTINGS, posted(graph)).edit
    claim(db)
    db.write(rows.UpdateEditRow, id=final, status="succeeded", score='{"old": 1}')
    second = submit.post(db, SETTINGS, posted(graph, model="organism:gpt2", force=True)).edit
    claim(db, owner="b/2/2.0")
    settled = db.write(rows.SettleIdRow, id=second, final=final, model="m", force=True)[0]
    assert settled.score_it
    assert queue.job_of(db, final).status == "running"
    found = db.read(rows.GetEditRow, id=second)[0]
    assert (found.id, found.score) == (final, '{"old": 1}')  # kept until there is a new one


def test_a_waiting_edit_is_cancelled_at_once_and_a_running_one_told(
    db: Database, graph: str
) -> None:
    waiting = submit.post(db, SETTINGS, posted(graph)).edit
    assert queue.cancel(db, waiting) == (waiting, "cancelled")
    assert claim(db) is None
    assert queue.cancel(db, waiting) == (waiting, "cancelled")  # again: nothing changes
    running = submit.post(db, SETTINGS, posted(graph, seed=1)).edit
    claim(db, owner=this_process())
    assert queue.cancel(db, running) == (running, "running")
    heard = db.write(
        rows.BeatRow, owner=this_process(), device="cpu", busy=True, stage="x", progress=0.5
    )
    assert heard[0].cancel
    assert recovery.release(db, running, this_process()) == "cancelled"
    db.write(rows.ForgetWorkerRow, owner=this_process())
    with pytest.raises(NotFoundError):
        queue.cancel(db, "no-such-edit")


def test_what_is_cancelled_while_a_worker_takes_it_is_cancelled_or_told(
    db: Database, graph: str
) -> None:
    """Both at the same moment, thirty times: never cancelled for one and taken for the other."""
    told = []
    with ThreadPoolExecutor(2) as pool:
        for seed in range(30):
            edit = submit.post(db, SETTINGS, posted(graph, seed=seed)).edit
            both = threading.Barrier(2)

            def cancelled(edit: str = edit, both: threading.Barrier = both) -> str:
                both.wait()
                return queue.cancel(db, edit)[1]

            def taken(both: threading.Barrier = both) -> bool:
                both.wait()
                return claim(db) is not None

            asked = [pool.submit(cancelled), pool.submit(taken)]
            status, was_taken = (each.result() for each in asked)
            told.append((status, was_taken))
            db.write(rows.DeleteEditRow, id=edit)
    assert set(told) <= {("cancelled", False), ("running", True)}, told


def test_a_beat_tells_of_the_edit_that_is_its_own_only(db: Database, graph: str) -> None:
    edit = submit.post(db, SETTINGS, posted(graph)).edit
    claim(db, owner=this_process())
    for owner, progress in ((this_process(), 0.25), ("else/1/1.0", 0.75)):
        db.write(
            rows.BeatRow, owner=owner, device="cpu", busy=True, stage="here", progress=progress
        )
        db.write(rows.ForgetWorkerRow, owner=owner)
    job = queue.job_of(db, edit)
    assert (job.stage, job.progress) == ("here", 0.25)
    recovery.release(db, edit, this_process())


def test_a_beat_that_comes_as_the_edit_ends_changes_nothing_of_it(db: Database, graph: str) -> None:
    """Both at the same moment, thirty times."""
    beat = {"owner": this_process(), "device": "cpu", "busy": True, "stage": "write"}
    with ThreadPoolExecutor(2) as pool:
        for seed in range(30):
            edit = submit.post(db, SETTINGS, posted(graph, seed=seed)).edit
            claim(db, owner=this_process())
            both = threading.Barrier(2)

            def tell(both: threading.Barrier = both) -> None:
                both.wait()
                db.write(rows.BeatRow, **beat, progress=0.9)

            def end(edit: str = edit, both: threading.Barrier = both) -> None:
                both.wait()
                done = {"status": "succeeded", "progress": 1.0, "stage": "done"}
                db.write(rows.UpdateEditRow, id=edit, **done)

            for each in [pool.submit(tell), pool.submit(end)]:
                each.result()
            job = queue.job_of(db, edit)
            assert (job.status, job.progress, job.stage) == ("succeeded", 1.0, "done")
    db.write(rows.ForgetWorkerRow, owner=this_process())


def dead_process() -> str:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = name_of(process.pid)
    assert is_gone(owner) is False
    process.kill()
    process.wait()
    if process.stdin:
        process.stdin.close()
    assert is_gone(owner) is True
    return owner


def test_an_edit_whose_worker_died_waits_again_and_fails_in_the_end(
    db: Database, graph: str
) -> None:
    edit = submit.post(db, SETTINGS, posted(graph)).edit
    owner = dead_process()
    for attempt in range(1, recovery.MAX_ATTEMPTS + 1):
        taken = claim(db, owner=owner)
        assert taken is not None
        assert taken.attempts == attempt
        status = recovery.recover(db)[edit]
        assert status == ("queued" if attempt < recovery.MAX_ATTEMPTS else "failed")
    shown = queue.edit_out(db, edit)
    assert (shown.status, shown.attempts) == ("failed", 3)
    assert "killed" in (shown.error or "")
    assert shown.remedy
    assert recovery.recover(db) == {}
    # Posted again it starts anew.
    assert submit.post(db, SETTINGS, posted(graph)).outcome == "queued"
    assert queue.job_of(db, edit).attempts == 0


def test_a_living_owner_keeps_its_edit(db: Database, graph: str) -> None:
    edit = submit.post(db, SETTINGS, posted(graph)).edit
    claim(db, owner=this_process())
    assert recovery.recover(db) == {}
    assert recovery.release(db, edit, "else/1/1.0") is None
    assert recovery.release(db, edit, this_process(), counted=False) == "queued"
    assert queue.job_of(db, edit).attempts == 0


def test_a_worker_elsewhere_is_lost_when_it_was_silent_for_long(
    db: Database, graph: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit = submit.post(db, SETTINGS, posted(graph)).edit
    owner = "another-machine/7/123.45"
    claim(db, owner=owner)
    db.write(rows.BeatRow, owner=owner, device="cuda:0", busy=True)
    assert recovery.recover(db) == {}
    monkeypatch.setattr(recovery, "LEASE_S", -1.0)
    assert recovery.recover(db) == {edit: "queued"}
    assert owner not in {w.id for w in db.read(rows.WorkerRow)}


def test_a_command_that_was_killed_leaves_a_failed_edit(db: Database, graph: str) -> None:
    name = f"{graph}-by-hand"
    rewrite = job_requests.rewrite_of(db, posted(graph))
    db.write(
        rows.MergeEditRow, id=name, model="m", method="rome", dataset=graph, rewrite=rewrite.id
    )
    db.write(rows.UpdateEditRow, id=name, status="running", owner=dead_process())
    assert recovery.recover(db) == {name: "failed"}
    assert "ended without a word" in (queue.edit_out(db, name).error or "")


def test_removing_needs_an_end_and_forgets_every_name(db: Database, graph: str) -> None:
    edit = submit.post(db, SETTINGS, posted(graph), key=f"key-{graph}").edit
    with pytest.raises(ConflictError, match="queued"):
        queue.remove(db, edit)
    claim(db)
    db.write(rows.SettleIdRow, id=edit, final=f"{edit}-final", model="m")
    record.fail(db, f"{edit}-final", UsageError("no"))
    assert queue.remove(db, edit) == f"{edit}-final"
    with pytest.raises(NotFoundError):
        queue.job_of(db, edit)
    assert submit.post(db, SETTINGS, posted(graph), key=f"key-{graph}").outcome == "created"


def test_pages_hold_every_edit_once(db: Database, graph: str) -> None:
    made = [submit.post(db, SETTINGS, posted(graph, seed=seed)).edit for seed in range(7)]
    seen: list[str] = []
    cursor = None
    while True:
        items, cursor, total = queue.page(db, limit=3, cursor=cursor, dataset=graph)
        assert total == 7
        seen += [item.id for item in items]
        if cursor is None:
            break
    assert sorted(seen) == sorted(made)
    assert len(seen) == 7
    for wrong in ("x", "2026~y", "~", "9" * 100):
        with pytest.raises(UsageError, match="not a cursor"):
            queue.page(db, cursor=wrong)
    assert queue.counts(db, made) == {
        "queued": 7, "running": 0, "succeeded": 0, "failed": 0, "cancelled": 0
    }  # fmt: skip


def test_a_sweep_asks_every_cell_for_implications(db: Database, graph: str) -> None:
    sweep = SweepIn(graph=graph, rewrites=[REWRITE], methods=["none", "rome"])
    asking = sweep.model_copy(update={"implications": True})
    assert [cell.implications for cell in job_sweeps.cells(db, asking)] == [True, True]
    assert not any(cell.implications for cell in job_sweeps.cells(db, sweep))
    plain, other = (job_sweeps.post(db, SETTINGS, each) for each in (sweep, asking))
    try:
        assert plain != other
        assert queue.page(db, dataset=graph)[2] == 4
    finally:
        job_sweeps.remove(db, plain)
        job_sweeps.remove(db, other)
