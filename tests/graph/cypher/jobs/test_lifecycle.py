"""The life cycle of a job by its queries alone: leases, fences, crashes, cancelling; any kind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from support.job_queries import AT, EVENTS, LEASE_MS, Queue
from support.job_queries import admin as admin
from support.job_queries import queue as queue
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database

EVENT = '{"status": "running"}'


FENCED: dict[str, Callable[[Database, dict[str, Any]], list[Any]]] = {
    "stage": lambda db, held: db.write(
        bool, "jobs/stage", **held, stage="old", progress=0.9, event=EVENT
    ),
    "hold": lambda db, held: db.write(rows.HoldLeaseRow, "jobs/hold", **held),
    "part": lambda db, held: db.write(
        rows.JobPartRow, "jobs/part", **held, part="old", event=EVENT
    ),
    "finish": lambda db, held: db.write(
        rows.FinishJobRow, "jobs/finish", **held, status="succeeded", at=AT, event=EVENT
    ),
    "release": lambda db, held: db.write(
        rows.ReleaseJobRow, "jobs/release",
        **held, crashed=True, error="x", remedy="x", cancelled="x", at=AT,
        events=EVENTS,
    ),
    "settle": lambda db, held: db.write(
        rows.SettleIdRow, "jobs/settle_id",
        **held, final=f"{held['lease']}-final", model="m", force=True
    ),
}  # fmt: skip
"""Every write of a worker."""


@pytest.mark.parametrize("write", FENCED)
def test_a_worker_that_lost_its_lease_writes_nothing(queue: Queue, write: str) -> None:
    queue.submit("a")
    old = queue.claimed("old-" + queue.kind)
    assert queue.release(old, crashed=False)[0].status == "queued"
    new = queue.claimed("new-" + queue.kind)
    before = queue.node("a")
    assert FENCED[write](queue.db, old) == []
    assert FENCED[write](queue.db, new | {"attempt": old["attempt"]}) == []
    assert queue.node("a") == before
    renewed = queue.renew(old, stage="old", progress=0.9)
    assert (renewed.valid, renewed.cancel) == (False, False)
    assert queue.node("a") == before


@pytest.mark.parametrize("write", [*FENCED, "renew"])
def test_a_write_that_waits_while_the_lease_goes_to_another_changes_nothing(
    queue: Queue, write: str
) -> None:
    """The lease changes hands in a transaction that is open when the old worker writes."""
    queue.submit("a")
    old = queue.claimed("old-" + queue.kind)
    found: list[Any] = []

    def late() -> None:
        if write == "renew":
            held = queue.renew(old, stage="old", progress=0.9).valid
            found.extend(["held"] if held else [])
        else:
            found.extend(FENCED[write](queue.db, old))

    with queue.admin.session() as session, session.begin_transaction() as tx:
        taken = {"lease": "new-" + queue.kind, "attempt": 2, "stage": "new"}
        tx.run("MATCH (j:Job {id: $id}) SET j += $p", id=queue.name("a"), p=taken).consume()
        thread = threading.Thread(target=late)
        thread.start()
        time.sleep(0.3)
        assert thread.is_alive()  # it waits for the lock
        tx.commit()
        thread.join(30)
    assert found == []
    node = queue.node("a")
    assert {key: node[key] for key in taken} == taken
    assert (node["id"], node["status"], node["parts"]) == (queue.name("a"), "running", [])


def test_each_of_many_workers_claims_another_job(queue: Queue) -> None:
    wanted = [row.id for row in queue.submit(*(f"{n}" for n in range(12)))]
    with ThreadPoolExecutor(6) as pool:
        claimed = list(pool.map(lambda n: queue.claim(f"w{n}"), range(15)))
    assert sorted(job.id for job in claimed if job) == sorted(wanted)
    assert claimed.count(None) == 3


def test_idle_workers_claim_in_one_query_each_its_own_job(queue: Queue) -> None:
    queue.submit("a", "b", affinity="one")
    queue.submit("c", affinity="two")
    idle = [
        {"worker": f"w{n}", "lease": f"{queue.kind}-{n}", "affinity": affinity}
        for n, affinity in enumerate(("two", None, "one", None))
    ]
    found = queue.claim_all(*idle)
    assert {row.worker: row.id for row in found} == {
        "w0": queue.name("c"), "w1": queue.name("a"), "w2": queue.name("b"),
    }  # fmt: skip
    assert [queue.node(each)["lease"] for each in "abc"] == [f"{queue.kind}-{n}" for n in (1, 2, 0)]
    assert {row.lease for row in queue.orphans(worker="w1")} == {f"{queue.kind}-1"}


def test_a_worker_claims_only_kinds_it_knows(queue: Queue) -> None:
    queue.submit("a")
    told = {
        "lease_ms": 1,
        "event": EVENT,
        "rows": [{"worker": "w", "lease": "x", "affinity": None}],
    }
    assert queue.db.write(rows.ClaimJobRow, "jobs/claim", kinds=["another", "kinds"], **told) == []
    assert queue.claim() is not None


def test_a_lease_lasts_as_long_as_it_is_renewed(queue: Queue) -> None:
    queue.submit("a")
    # Longer than a busy machine may take for one turn of the loop, shorter than all of them.
    held = queue.claimed("one", lease_ms=3000)
    for _ in range(6):
        time.sleep(0.6)
        assert queue.renew(held).valid
        assert queue.orphans() == []
    time.sleep(3.2)
    (orphan,) = queue.orphans()
    assert (orphan.lease, orphan.expired) == ("one", True)
    # Renewed between the look and the release: nothing happens. Late is better than never.
    assert queue.renew(held).valid
    assert queue.release(held, crashed=True, lease_until=orphan.lease_until) == []
    time.sleep(3.2)
    (orphan,) = queue.orphans()
    (row,) = queue.release(held, crashed=True, lease_until=orphan.lease_until)
    assert row.status == "queued"
    assert not queue.renew(held).valid


def test_a_lease_that_ends_later_than_any_could_is_an_orphan_too(queue: Queue) -> None:
    """The server's clock stepped back by an hour; a worker that lives renews its lease."""
    queue.submit("a")
    held = queue.claimed("one")
    assert queue.orphans() == []
    queue.set("a", lease_until=queue.node("a")["lease_until"] + 3_600_000)
    (orphan,) = queue.orphans()
    assert not orphan.expired
    assert queue.renew(held).valid
    assert queue.orphans() == []
    assert queue.release(held, crashed=False, lease_until=orphan.lease_until) == []


def test_a_job_that_crashes_its_worker_three_times_fails(queue: Queue) -> None:
    queue.submit("a")
    for attempt in (1, 2, 3):
        held = queue.claimed(f"lease{attempt}")
        assert queue.job("a").attempts == attempt
        (row,) = queue.release(held, crashed=True)
        assert row.status == ("queued" if attempt < 3 else "failed")
    job = queue.job("a")
    assert (job.status, job.attempts, job.error, job.remedy) == ("failed", 3, "exited", "again")
    assert queue.submit("a")[0].outcome == "queued"  # submitted again it starts anew
    assert (queue.job("a").attempts, queue.node("a")["crashes"]) == (0, 0)


def test_ends_that_are_no_crash_use_up_no_attempt(queue: Queue) -> None:
    queue.submit("a")
    for _ in range(4):
        assert queue.release(queue.claimed("one"), crashed=False)[0].status == "queued"
    assert queue.job("a").attempts == 0


def test_a_job_whose_lease_expires_again_and_again_fails_in_the_end(queue: Queue) -> None:
    """It may be what kills its worker and the dispatcher together; an innocent one ends before."""
    queue.submit("a")
    for attempt in range(1, 13):
        held = queue.claimed(f"lease{attempt}", lease_ms=-1000)
        (orphan,) = queue.orphans()
        (row,) = queue.release(held, crashed=False, lease_until=orphan.lease_until)
        assert row.status == ("queued" if attempt < 12 else "failed")
        assert queue.node("a")["crashes"] == attempt / 4
    job = queue.job("a")
    assert (job.status, job.attempts, job.error) == ("failed", 1, "exited")


def test_a_lease_that_ends_too_late_counts_nothing_when_it_is_released(queue: Queue) -> None:
    """The server's clock stepped back: nobody has died."""
    queue.submit("a")
    held = queue.claimed("one")
    queue.set("a", lease_until=(until := queue.node("a")["lease_until"] + 3_600_000))
    (orphan,) = queue.orphans()
    assert not orphan.expired
    assert queue.release(held, crashed=False, lease_until=until)[0].status == "queued"
    assert (queue.node("a")["crashes"], queue.job("a").attempts) == (0, 0)


def test_all_leases_of_a_worker_are_found_before_they_expire(queue: Queue) -> None:
    queue.submit("a", "b", "c")
    queue.claimed("one", worker="dead")
    queue.claimed("two", worker="alive")
    assert [row.lease for row in queue.orphans(worker="dead")] == ["one"]
    assert queue.orphans() == []


def test_crashes_are_counted_anew_after_each_stored_part(queue: Queue) -> None:
    queue.submit("a")
    queue.set("a", total=3)
    for part in ("p1", "p2"):
        for _ in range(2):
            assert queue.release(queue.claimed("x"), crashed=True)[0].status == "queued"
        held = queue.claimed("y")
        assert queue.db.write(rows.JobPartRow, "jobs/part", **held, part=part, event=EVENT)
        assert queue.release(held, crashed=False)[0].status == "queued"
    job = queue.claim()
    assert job is not None
    assert (job.parts, job.attempts) == (("p1", "p2"), 5)
    assert queue.job("a").progress == 0.0


def test_news_that_arrives_late_lowers_no_progress(queue: Queue) -> None:
    queue.submit("a")
    queue.set("a", total=4)
    held = queue.claimed("x")
    assert queue.renew(held, stage="one", progress=0.125).valid
    assert queue.job("a").progress == 0.125
    assert queue.db.write(rows.JobPartRow, "jobs/part", **held, part="p1", event=EVENT)
    assert queue.renew(held, stage="one", progress=0.2).valid
    assert queue.job("a").progress == 0.25


def test_a_part_that_is_found_again_is_no_progress(queue: Queue) -> None:
    queue.submit("a")
    for attempt in (1, 2, 3):
        held = queue.claimed(f"lease{attempt}")
        assert (
            queue.db.write(rows.JobPartRow, "jobs/part", **held, part="p1", event=EVENT)[0].done
            == 1
        )
        (row,) = queue.release(held, crashed=True)
    assert row.status == "failed"


def test_a_queued_job_is_cancelled_at_once_and_a_running_one_by_its_worker(queue: Queue) -> None:
    queue.submit("a", "b")

    def cancel(*ids: str) -> list[tuple[str, str]]:
        told = {"remedy": "again", "event": EVENTS["cancelled"]}
        asked = [queue.name(name) for name in ids]
        found = queue.db.write(
            rows.CancelJobsRow, "jobs/cancel", ids=asked, kind=queue.kind, **told
        )
        return [(row.id, row.status) for row in found]

    held = queue.claimed("one", worker="slow")
    assert sorted(cancel("a", "b", "none")) == [
        (queue.name("a"), "running"), (queue.name("b"), "cancelled"),
    ]  # fmt: skip
    assert queue.db.write(rows.CancelJobsRow, "jobs/cancel",
    ids=[queue.name("a")], kind="other", remedy="",
                          event="") == []  # fmt: skip
    renewed = queue.renew(held)
    assert (renewed.valid, renewed.cancel) == (True, True)
    assert queue.db.write(bool, "jobs/stage", **held, stage="x", progress=0.5, event=EVENT)[0]
    (told,) = queue.db.write(
        rows.FinishJobRow, "jobs/finish", **held, status="succeeded", at=AT, event=EVENT
    )
    assert not told.finished  # too late to succeed
    assert queue.release(held, crashed=True)[0].status == "cancelled"
    assert queue.job("a").error == "cancelled"
    assert cancel("a") == [(queue.name("a"), "cancelled")]  # again: nothing changes
    assert queue.claim() is None


def test_cancelled_while_a_worker_claims_it_is_cancelled_or_running(queue: Queue) -> None:
    """Both at the same moment, thirty times: never cancelled for one and claimed for the other."""
    told = set()
    with ThreadPoolExecutor(2) as pool:
        for number in range(30):
            name = queue.submit(f"{number}")[0].id
            both = threading.Barrier(2)

            def cancelled(name: str | None = name, both: threading.Barrier = both) -> str:
                both.wait()
                (row,) = queue.db.write(
                    rows.CancelJobsRow,
                    "jobs/cancel",
                    ids=[name],
                    kind=queue.kind,
                    remedy="",
                    event=EVENT,
                )
                return row.status

            def claimed(both: threading.Barrier = both) -> bool:
                both.wait()
                return queue.claim() is not None

            asked = pool.submit(cancelled), pool.submit(claimed)
            told.add((asked[0].result(), asked[1].result()))
            queue.db.write(int, "jobs/delete", id=name)
    assert told <= {("cancelled", False), ("running", True)}, told


def test_the_same_submission_is_the_same_job_and_a_full_queue_takes_nothing(queue: Queue) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: queue.submit("a")[0], range(16)))
    assert [row.outcome for row in made].count("created") == 1
    (row,) = queue.submit("b", key="k", body="one")
    assert row.outcome == "created"
    assert queue.submit("b", key="k", body="one")[0].outcome == "known"
    assert queue.submit("c", key="k", body="two")[0].outcome == "conflict"
    full = queue.submit("a", "d", limit=row.waiting + 1)
    assert [each.outcome for each in full] == ["known", "full"]
    assert queue.db.read(rows.JobRow, "jobs/get", id=queue.name("d"), kind=queue.kind) == []
    held = queue.claimed("one")
    queue.db.write(rows.FinishJobRow, "jobs/finish", **held, status="succeeded", at=AT, event=EVENT)
    assert queue.submit("a")[0].outcome == "known"
    assert queue.submit("a", again=True)[0].outcome == "queued"


def test_times_in_the_queue_never_decrease_though_the_clock_steps_back(queue: Queue) -> None:
    queue.submit("a")
    ahead = queue.node("a")["queued_ms"] + 50_000
    (was,) = queue.cypher("MATCH (q:Queue {id: 'jobs'}) RETURN q.queued_ms AS ms")
    try:
        queue.cypher("MATCH (q:Queue {id: 'jobs'}) SET q.queued_ms = $ms", ms=ahead)
        queue.submit("b")
        assert queue.node("b")["queued_ms"] == ahead
    finally:
        queue.cypher("MATCH (q:Queue {id: 'jobs'}) SET q.queued_ms = $ms", **was)


def test_a_command_holds_a_lease_too_and_fails_when_it_expires(queue: Queue) -> None:
    queue.submit("a")
    queue.cypher("MATCH (j:Job {id: $id}) SET j.request = null, j.status = 'failed'",
                 id=queue.name("a"))  # fmt: skip
    begin = {"id": queue.name("a"), "stage": "probe pre", "progress": 0.1, "event": EVENT}
    (mine,) = queue.db.write(
        rows.BeginJobRow, "jobs/begin", **begin, lease="mine", lease_ms=LEASE_MS
    )
    assert mine.begun
    (other,) = queue.db.write(
        rows.BeginJobRow, "jobs/begin", **begin, lease="other", lease_ms=LEASE_MS
    )
    assert not other.begun  # one works on it at a time
    held = {"lease": "mine", "attempt": mine.attempt}
    assert queue.renew(held).valid
    queue.cypher("MATCH (j:Job {id: $id}) SET j.lease_until = timestamp() - 1", id=queue.name("a"))
    assert [row.lease for row in queue.orphans()] == ["mine"]
    assert queue.release(held, crashed=False)[0].status == "failed"
    # An expired lease that nobody has released yet goes to the next command.
    assert queue.db.write(rows.BeginJobRow, "jobs/begin", **begin, lease="mine", lease_ms=0)[
        0
    ].begun
    time.sleep(0.01)
    assert queue.db.write(
        rows.BeginJobRow, "jobs/begin", **begin, lease="other", lease_ms=LEASE_MS
    )[0].begun
    assert (
        queue.db.write(rows.HoldLeaseRow, "jobs/hold", lease="mine", attempt=mine.attempt + 1) == []
    )


def test_a_job_whose_final_id_another_process_works_on_is_busy(queue: Queue) -> None:
    queue.submit("a", "b")
    first = queue.claimed("one")
    final = queue.name("final")
    (row,) = queue.db.write(rows.SettleIdRow, "jobs/settle_id", **first, final=final, model="m")
    assert (row.id, row.busy, row.do_it) == (final, False, True)
    second = queue.claimed("two")
    (row,) = queue.db.write(rows.SettleIdRow, "jobs/settle_id", **second, final=final, model="m")
    assert (row.id, row.busy) == (queue.name("b"), True)
    assert queue.db.write(rows.HoldLeaseRow, "jobs/hold", **second)[0].id == queue.name("b")
    queue.db.write(
        rows.FinishJobRow, "jobs/finish", **first, status="succeeded", at=AT, event=EVENT
    )
    (row,) = queue.db.write(rows.SettleIdRow, "jobs/settle_id", **second, final=final, model="m")
    assert (row.id, row.busy, row.do_it) == (final, False, False)
    assert (
        queue.db.write(rows.HoldLeaseRow, "jobs/hold", **second) == []
    )  # nothing of it is left to do
    assert set(queue.job("b").posted_as) == {queue.name("a"), queue.name("b")}


def test_workers_are_listed_with_what_they_do_until_they_are_silent(queue: Queue) -> None:
    queue.submit("a")
    worker = f"{queue.kind}-w"
    held = queue.claimed("one", worker=worker)
    about = {"device": "cpu", "host": "here", "pid": 7}
    queue.renew(held, worker=worker, about=about, stage="s", progress=0.5)
    (shown,) = [row for row in queue.db.read(rows.WorkerRow, "jobs/workers") if row.id == worker]
    assert (shown.kind, shown.job, shown.pid) == (queue.kind, queue.name("a"), 7)
    assert 0 <= shown.silent_s < 30
    assert (queue.job("a").stage, queue.job("a").progress) == ("s", 0.5)
    queue.db.write(int, "jobs/forget_workers", silent_ms=30_000)  # not this one
    assert queue.db.write(int, "jobs/forget_workers", id=worker, silent_ms=30_000)[0] == 1
