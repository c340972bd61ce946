"""Runs of the protocol as jobs, on the real server: posted, claimed, released; no model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.editing.errors import EditingError
from thinkeval.service.base.errors import (
    ConflictError,
    LeaseLostError,
    NotFoundError,
    QueueFullError,
    ServiceError,
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
from thinkeval.service.depedit import store
from thinkeval.service.depedit.kind import DEPEDIT
from thinkeval.service.depedit.questions import questions
from thinkeval.service.depedit.sets import SetOptions, build
from thinkeval.service.depedit.store import Answer, RunRecord
from thinkeval.service.experiments import queue, recovery, submit
from thinkeval.service.experiments import store as experiments
from thinkeval.service.experiments.edit import EDIT
from thinkeval.service.experiments.job import job_of
from thinkeval.service.graphs import datasets
from thinkeval.service.models.depedit import ProtocolOut, RunsIn
from thinkeval.service.models.edit import EditIn

SETTINGS = Settings()
KINDS = (job_of(EDIT), job_of(DEPEDIT))
SMALL = SetOptions(facts=6, unrelated=2, implications=3, copies=1, updates=2, seed=2)


@pytest.fixture(scope="module")
def place(db: Database) -> Iterator[tuple[str, list[str]]]:
    """A graph of this module's own, and two sets of it."""
    datasets.get_or_import(db, "atlas")
    with own_graphs(db) as prefix:
        graph = hogwarts_as(db, f"{prefix}-hogwarts")
        drawn = build(db, "atlas", SMALL).sets[:2]
        made = [
            replace(one, id=f"{prefix}-{number}", dataset=graph) for number, one in enumerate(drawn)
        ]
        for one in made:
            store.save_set(db, one)
        yield graph, [one.id for one in made]
        for one in made:
            store.delete_set(db, one.id)


@pytest.fixture
def graph(db: Database, place: tuple[str, list[str]]) -> Iterator[str]:
    """The graph, and an empty queue before and after."""
    assert queue.counts(db)["running"] == queue.counts(db, kind="depedit")["running"] == 0
    assert taken(db) is None
    yield place[0]
    for row in db.read(rows.PageJobRow, "jobs/page", kind="depedit", limit=1000):
        if set(json.loads(row.request or "{}")["sets"]) & set(place[1]):
            db.write(int, "jobs/delete", id=row.id)
    for edit in db.read(rows.PageEditRow, "edits/page_edits", dataset=place[0], limit=1000):
        db.write(rows.DeleteEditRow, "edits/delete_edit", id=edit.id)


def row_of(db: Database, job: str) -> rows.JobRow:
    found = queue.find(db, DEPEDIT.name, job)
    if found is None:
        raise NotFoundError("protocol", job, [], listing="thinkeval results protocols")
    return found


def posted(graph: str, /, **more: object) -> RunsIn:
    return RunsIn.model_validate({"graph": graph, "strategies": ["base"]} | more)


def post(db: Database, graph: str, /, **more: object) -> str:
    return DEPEDIT.store.submit(db, SETTINGS, posted(graph, **more)).edit


def post_edit(db: Database, graph: str, seed: int) -> str:
    body = {"graph": graph, "rewrite": "harry-potter--studied-at", "seed": seed}
    return EDIT.store.submit(db, SETTINGS, EditIn.model_validate(body)).edit


def claimed(db: Database, affinity: str | None = None) -> tuple[rows.ClaimJobRow, Lease] | None:
    """Return the job that a worker would claim, and its lease on it."""
    token = new_token()
    found = db.write(
        rows.ClaimJobRow,
        "jobs/claim",
        kinds=[kind.KIND for kind in KINDS],
        rows=[{"worker": "w", "lease": token, "affinity": affinity}],
        lease_ms=60_000,
        event=event("running", "starting"),
    )
    return (found[0], Lease(token, found[0].attempt)) if found else None


def taken(db: Database, affinity: str | None = None) -> str | None:
    """The kind and id of what a worker would claim."""
    found = claimed(db, affinity)
    return f"{found[0].kind} {found[0].id}" if found else None


def lease_on(db: Database, job: str) -> Lease:
    """Claim the next job, which is this one."""
    found = claimed(db)
    assert found is not None
    assert found[0].id == job
    return found[1]


def stored_run(db: Database, set_id: str) -> str:
    answers = [Answer(q.id, "x") for q in questions(store.load_set(db, set_id))]
    return store.save_run(db, RunRecord(set_id, "base", None, "tests"), answers)


def test_a_post_is_a_waiting_job_and_the_same_post_the_same_job(
    db: Database, graph: str, place: tuple[str, list[str]]
) -> None:
    wanted = posted(graph, strategies=["forwchain", "base"])
    first = DEPEDIT.store.submit(db, SETTINGS, wanted)
    shown = DEPEDIT.store.get(db, first.edit)
    assert (first.outcome, shown.status) == ("created", "queued")
    assert shown.request["sets"] == place[1]
    assert (shown.total, shown.parts, shown.graph) == (4, [], graph)
    same = posted(
        graph, sets=place[1], strategies=["finetune+forwchain", "base", "base"], force=True
    )
    again = DEPEDIT.store.submit(db, SETTINGS, same)
    assert (again.edit, again.outcome) == (first.edit, "known")
    assert post(db, graph, seed=1) != first.edit
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: post(db, graph, seed=2), range(8)))
    assert len(set(made)) == 1
    listed = [each.id for each in DEPEDIT.store.listing(db)]
    assert listed[0] == made[0]
    assert first.edit in listed


def test_a_key_belongs_to_one_body_for_ever(db: Database, graph: str) -> None:
    key = f"key-{graph}"
    first = DEPEDIT.store.submit(db, SETTINGS, posted(graph), key=key)
    DEPEDIT.store.cancel(db, first.edit)
    assert DEPEDIT.store.submit(db, SETTINGS, posted(graph), key=key).outcome == "known"
    with pytest.raises(ConflictError, match="idempotency key"):
        DEPEDIT.store.submit(db, SETTINGS, posted(graph, seed=1), key=key)
    assert DEPEDIT.store.submit(db, SETTINGS, posted(graph)).outcome == "queued"
    # The key of an edit is another: keys are of one kind of work.
    edit = EditIn.model_validate({"graph": graph, "rewrite": "harry-potter--studied-at"})
    assert EDIT.store.submit(db, SETTINGS, edit, key=key).outcome == "created"


def test_a_full_queue_takes_nothing(db: Database, graph: str) -> None:
    small = SETTINGS.model_copy(update={"queue_limit": 2})
    post_edit(db, graph, 0)
    first = post(db, graph)
    with pytest.raises(QueueFullError, match="the limit is 2") as caught:
        DEPEDIT.store.submit(db, small, posted(graph, seed=1))
    assert caught.value.status == 429
    assert DEPEDIT.store.submit(db, small, posted(graph)).edit == first  # it has its place


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        ({"strategies": ["forwchian"]}, NotFoundError, "Did you mean 'forwchain'"),
        ({"strategies": ["memitt+forwchain"]}, EditingError, "did you mean 'memit'"),
        ({"strategies": ["ike+forwchain"]}, UsageError, "changes prompts"),
        ({"strategies": ["memit+finetune"]}, UsageError, "takes no editor"),
        ({"editor": "memit"}, UsageError, "wraps an editor"),
        ({"sets": ["nowhere"]}, NotFoundError, "knowledge set 'nowhere'"),
        ({"graph": "nowhere"}, NotFoundError, "There is no dataset graph"),
        ({"graph": None}, UsageError, "Nothing says"),
        ({"model": "/etc"}, UsageError, "not one this service may load"),
        ({"strategies": ["memit"], "hparams": "/etc/passwd"}, UsageError, "no hyperparameter file"),
        ({"strategies": ["mend"], "overrides": {"archive": "x.pt"}}, UsageError, "names a file"),
        ({"strategies": ["memit"], "overrides": {"k": "../x.json"}}, UsageError, "names a file"),
    ],
)
def test_what_a_worker_would_refuse_is_refused_at_once(
    db: Database, graph: str, wrong: dict[str, object], error: type[Exception], says: str
) -> None:
    before = queue.counts(db, kind="depedit")
    with pytest.raises(error, match=says) as caught:
        post(db, graph, **wrong)
    assert isinstance(caught.value, ServiceError | EditingError)
    assert caught.value.remedy
    assert queue.counts(db, kind="depedit") == before


def test_an_edit_names_no_file_either(db: Database, graph: str) -> None:
    body = {"graph": graph, "rewrite": "harry-potter--studied-at", "method": "mend"}
    wrong = EditIn.model_validate(body | {"overrides": {"archive": "/etc/passwd"}})
    with pytest.raises(UsageError, match="names a file"):
        EDIT.store.submit(db, SETTINGS, wrong)


def test_edits_and_jobs_go_by_their_tickets_and_by_the_model_that_is_loaded(
    db: Database, graph: str
) -> None:
    order = [post_edit(db, graph, 0), post(db, graph), post_edit(db, graph, 1)]
    order.append(post(db, graph, seed=1))
    names = [f"edit {order[0]}", f"depedit {order[1]}", f"edit {order[2]}", f"depedit {order[3]}"]
    assert [taken(db) for _ in range(5)] == [*names, None]


def test_what_the_loaded_model_serves_goes_first(db: Database, graph: str) -> None:
    first = post(db, graph)
    other = post(db, graph, model="organism:gpt2:seed=5")
    edit = post_edit(db, graph, 2)
    loaded = "|".join(["other", "", "float32", ""])
    same = submit.affinity_of("organism:gpt2:seed=5", graph, "float32", None)
    assert taken(db, same) == f"depedit {other}"
    assert taken(db, loaded) == f"depedit {first}"
    assert taken(db, loaded) == f"edit {edit}"


def test_a_job_that_lost_its_worker_is_queued_again_and_keeps_its_runs(
    db: Database, graph: str, place: tuple[str, list[str]]
) -> None:
    job = post(db, graph, force=True)
    runs = [stored_run(db, name) for name in place[1]]
    for run in runs:
        for _ in range(MAX_CRASHES - 1):
            assert recovery.release(db, KINDS, lease_on(db, job), crashed=True) == "queued"
        lease = lease_on(db, job)  # the last attempt gets further, so crashes are counted anew
        lease.part(db.write, run, "x", 0.5)
        lease.part(db.write, run, "x", 0.5)  # the same run is counted once
        assert recovery.release(db, KINDS, lease) == "queued"
        with pytest.raises(LeaseLostError):
            lease.part(db.write, run, "x", 0.5)
    for _ in range(MAX_CRASHES):
        recovery.release(db, KINDS, lease_on(db, job), crashed=True)
    row = row_of(db, job)
    assert (row.status, row.parts, row.attempts) == ("failed", tuple(runs), 7)
    assert "killed" in (row.error or "")
    assert queue.counts(db, kind="depedit")["failed"] >= 1
    # A worker that ends in good order is no attempt.
    again = post(db, graph, seed=3)
    assert recovery.release(db, KINDS, lease_on(db, again)) == "queued"
    assert row_of(db, again).attempts == 0


def test_a_run_is_not_stored_by_a_worker_that_lost_its_lease(
    db: Database, graph: str, place: tuple[str, list[str]]
) -> None:
    job = post(db, graph, seed=4)
    lease = lease_on(db, job)
    recovery.release(db, KINDS, lease)
    answers = [Answer(q.id, "late") for q in questions(store.load_set(db, place[1][0]))]
    record = RunRecord(place[1][0], "base", None, f"late of {graph}")
    with pytest.raises(LeaseLostError):
        store.save_run(db, record, answers, lease.assert_owned)
    assert db.read(rows.ProtocolRunRow, "depedit/list_runs", ids=[record.id]) == []
    assert store.save_run(db, record, answers, lease_on(db, job).assert_owned) == record.id
    store.delete_run(db, record.id)


def test_cancelled_is_at_once_or_at_the_next_renewal(db: Database, graph: str) -> None:
    job = post(db, graph)
    assert DEPEDIT.store.cancel(db, job).status == "cancelled"
    assert taken(db) is None
    job = post(db, graph)
    lease = lease_on(db, job)
    news = [Renewal(lease, State("set 1", 0.5), "w", {"device": "cpu"})]
    assert not renew(db, news)[0].cancel
    assert row_of(db, job).stage == "set 1"
    assert {w.job for w in db.read(rows.WorkerRow, "jobs/workers") if w.id == "w"} == {job}
    assert DEPEDIT.store.cancel(db, job).status == "running"
    with pytest.raises(ConflictError, match="running"):
        DEPEDIT.store.delete(db, SETTINGS, job)
    assert renew(db, news)[0].cancel
    assert recovery.release(db, KINDS, lease) == "cancelled"
    DEPEDIT.store.delete(db, SETTINGS, job)
    with pytest.raises(NotFoundError):
        row_of(db, job)
    db.write(int, "jobs/forget_workers", id="w", silent_ms=10**9)


def test_a_protocol_whose_run_was_deleted_is_run_again(
    db: Database, graph: str, place: tuple[str, list[str]]
) -> None:
    asked = posted(graph, sets=place[1][:1])
    job = DEPEDIT.store.submit(db, SETTINGS, asked).edit
    lease = lease_on(db, job)
    run = stored_run(db, place[1][0])
    out = ProtocolOut(
        id=f"protocol-{graph}", graph=graph, model="m", sets=place[1][:1], strategies=["base"],
        runs=[run], methods=[], request=asked.model_dump(mode="json"),
    )  # fmt: skip
    lease.part(db.write, run, "x", 1.0)
    experiments.save(db, DEPEDIT.name, out, edits=[], lease=lease)
    lease.succeed_with(db, out.id)
    assert DEPEDIT.store.submit(db, SETTINGS, asked).outcome == "known"
    assert DEPEDIT.store.get(db, job).result == DEPEDIT.store.get(db, out.id).result
    store.delete_run(db, run)
    assert DEPEDIT.store.submit(db, SETTINGS, asked).outcome == "queued"
    assert row_of(db, job).parts == ()
    db.write(rows.DeleteExperimentRow, "experiments/delete", id=out.id)


def test_lists_of_sets_and_runs_have_pages(
    db: Database, graph: str, place: tuple[str, list[str]]
) -> None:
    first, more, total = store.page_sets(db, 1, dataset=graph)
    rest = store.page_sets(db, 5, more, dataset=graph)
    assert [row.id for row in (*first, *rest[0])] == place[1]
    assert (total, rest[1], rest[2]) == (2, None, 2)
    made = [stored_run(db, name) for name in place[1]]
    first, more, total = store.page_runs(db, 1, dataset=graph)
    assert (first[0].id, total) == (made[0], 2)
    assert [row.id for row in store.page_runs(db, 5, more, dataset=graph)[0]] == made[1:]
    with pytest.raises(UsageError, match="not a cursor"):
        store.page_runs(db, 5, "x")
