"""The dispatcher and an executor with a kind of job that no query and no other file knows."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest

from support.serving import settings_of, until
from support.thread_engine import dispatching
from thinkeval.cypher import rows
from thinkeval.cypher.errors import GraphError
from thinkeval.cypher.run import Database
from thinkeval.editing import interruption
from thinkeval.service.base.leases import Lease
from thinkeval.service.base.settings import Settings
from thinkeval.service.engines.dispatcher import Dispatcher
from thinkeval.service.experiments import queue, submit
from thinkeval.service.experiments.job import JobProgress
from thinkeval.service.scoring.runtime import Runtime


class Counting:
    """A job of three parts, which does what its test says."""

    KIND: ClassVar[str] = f"counting-{uuid.uuid4().hex[:8]}"
    act: ClassVar[Callable[[Counting, Runtime], None]]
    dropped: ClassVar[list[str]] = []

    def __init__(self, row: rows.ClaimJobRow, lease: Lease) -> None:
        self.id, self.parts, self.lease = row.id, row.parts, lease
        self.progress = JobProgress(lease)

    def run(self, runtime: Runtime) -> None:
        type(self).act(self, runtime)

    @staticmethod
    def drop(db: Database, job: str) -> None:
        Counting.dropped.append(job)

    def count(self, runtime: Runtime) -> None:
        for number in range(3):
            runtime.progress(number, 3, "counting")
            self.lease.part(runtime.db.write, f"{number}", "counting", number / 3)
        self.lease.succeed(runtime.db.write)
        self.lease.ended = True


def until_interrupted(self: Counting, runtime: Runtime) -> None:
    """A long loop that looks whether it shall stop."""
    while True:
        time.sleep(0.01)
        interruption.check()


def once(act: Callable[[Counting, Runtime], None]) -> Callable[[Counting, Runtime], None]:
    """The act of one job; those after it count."""

    def first(self: Counting, runtime: Runtime) -> None:
        Counting.act = Counting.count
        act(self, runtime)

    return first


@pytest.fixture
def settings(server: dict[str, str]) -> Settings:
    return settings_of(server, lease_s=3)


@pytest.fixture
def worker(db: Database, settings: Settings) -> Iterator[Dispatcher]:
    """A dispatcher with one executor, each in a thread of this process."""
    Counting.dropped.clear()
    Counting.act = Counting.count
    with dispatching(db, settings, Counting) as made:
        yield made
    for row in db.read(rows.PageJobRow, "jobs/page", kind=Counting.KIND, limit=1000):
        db.write(int, "jobs/delete", id=row.id)


def submitted(db: Database, kind: str = Counting.KIND) -> str:
    job = {"id": uuid.uuid4().hex, "request": "{}", "affinity": "a", "total": 3}
    (one,) = submit.enqueue(db.write, Settings(), kind, [job])
    return one.edit


def job_of(db: Database, job: str, kind: str = Counting.KIND) -> rows.JobRow:
    found = queue.find(db, kind, job)
    assert found is not None
    return found


def ended(db: Database, job: str, kind: str = Counting.KIND) -> rows.JobRow:
    until(lambda: job_of(db, job, kind).status in ("succeeded", "failed", "cancelled"), 60)
    return job_of(db, job, kind)


def test_a_third_kind_is_a_class_and_no_query(db: Database, worker: Dispatcher) -> None:
    done = ended(db, submitted(db))
    assert (done.status, done.parts, done.attempts) == ("succeeded", ("0", "1", "2"), 1)
    assert done.progress == 1.0
    until(lambda: [each for each in db.read(rows.WorkerRow, "jobs/workers") if each.pid], 20)
    assert Counting.dropped == []


def test_an_error_is_recorded_and_the_worker_takes_the_next(
    db: Database, worker: Dispatcher
) -> None:
    def fail(self: Counting, runtime: Runtime) -> None:
        raise ValueError("no luck")

    Counting.act = once(fail)
    first = submitted(db)
    failed = ended(db, first)
    assert (failed.status, failed.error, failed.attempts) == ("failed", "no luck", 1)
    assert Counting.dropped == [first]
    assert ended(db, submitted(db)).status == "succeeded"


@pytest.mark.parametrize(("kind", "limit"), [("edit", "edit"), ("job", "job"), ("job", "edit")])
def test_a_job_that_exceeds_its_time_limit_fails(
    db: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch, kind: str, limit: str
) -> None:
    """And only one of that limit: other kinds of job, and the next one, are not stopped."""
    limited = kind == limit

    def long(self: Counting, runtime: Runtime) -> None:
        """A loop of an optimisation that never ends, and does not stop for usual errors."""
        until_s = time.monotonic() + (60 if limited else 1.0)
        while time.monotonic() < until_s:
            time.sleep(0.01)
            with suppress(Exception):
                interruption.check()
        self.count(runtime)

    if kind == "edit":
        monkeypatch.setattr(queue, "EDIT", Counting.KIND)
    Counting.dropped.clear()
    Counting.act = once(long)
    with dispatching(db, settings.model_copy(update={f"{limit}_limit_s": 0.5}), Counting):
        first = submitted(db)
        found = ended(db, first)
        assert ended(db, submitted(db)).status == "succeeded"
    if limited:
        assert (found.status, Counting.dropped) == ("failed", [first])
        assert f"The {kind} was stopped: it took longer than 0.5 s" in (found.error or "")
        assert f"THINKEVAL_{kind.upper()}_LIMIT_S" in (found.remedy or "")
    else:
        assert found.status == "succeeded"
    for row in db.read(rows.PageJobRow, "jobs/page", kind=Counting.KIND, limit=1000):
        db.write(int, "jobs/delete", id=row.id)


def test_cancelling_stops_the_next_step_of_a_loop(db: Database, worker: Dispatcher) -> None:
    Counting.act = once(until_interrupted)
    job = submitted(db)
    until(lambda: job_of(db, job).status == "running")
    began = time.monotonic()
    queue.cancel_all(db, [job], Counting.KIND)
    worker.wake()
    assert ended(db, job).status == "cancelled"
    assert time.monotonic() - began < 20
    assert ended(db, submitted(db)).status == "succeeded"  # the same worker


def test_a_worker_that_stops_releases_its_job_at_once(db: Database, worker: Dispatcher) -> None:
    Counting.act = until_interrupted
    job = submitted(db)
    until(lambda: job_of(db, job).status == "running")
    worker.close()
    until(lambda: job_of(db, job).status == "queued", 20)
    assert job_of(db, job).attempts == 0
    assert [
        row.id for row in db.read(rows.WorkerRow, "jobs/workers") if row.pid == os.getpid()
    ] == []


def test_a_job_that_another_took_over_is_left_alone(db: Database, worker: Dispatcher) -> None:
    """Its lease is taken while it runs: it stops, records nothing, and the worker is fit."""
    stopped = threading.Event()

    def loop(self: Counting, runtime: Runtime) -> None:
        try:
            until_interrupted(self, runtime)
        finally:
            stopped.set()

    Counting.act = once(loop)
    job = submitted(db)
    until(lambda: job_of(db, job).status == "running")
    token = uuid.uuid4().hex
    (name,) = [row.id for row in db.read(rows.WorkerRow, "jobs/workers") if row.job == job]
    (orphan,) = db.read(rows.OrphanRow, "jobs/orphans", worker=name)
    taken = {"crashed": False, "error": "", "remedy": "", "cancelled": ""}
    events = dict.fromkeys(("queued", "failed", "cancelled"), "{}")
    for _ in range(
        10
    ):  # job, then queue: the worker locks them the other way, a deadlock is retried
        with suppress(GraphError), db.transaction() as tx:
            tx.run(rows.ReleaseJobRow, "jobs/release",
                   lease=orphan.lease, attempt=orphan.attempt, at="x",
                   events=events, **taken)  # fmt: skip
            tx.run(rows.ClaimJobRow, "jobs/claim",
                   kinds=[Counting.KIND], lease_ms=60_000, event="{}",
                   rows=[{"worker": "other", "lease": token, "affinity": None}])  # fmt: skip
            break
    assert stopped.wait(20)
    assert job_of(db, job).status == "running"
    assert [row.id for row in db.read(rows.OrphanRow, "jobs/orphans", worker="other")] == [job]
    assert ended(db, submitted(db)).status == "succeeded"
    assert job_of(db, job).status == "running"


STUCK = """
    import time
    from thinkeval.cypher.run import Database
    from thinkeval.service.base.settings import Settings
    from thinkeval.service.engines.connection import Connection
    from thinkeval.service.engines.dispatcher import Dispatcher
    from thinkeval.service.engines.executor import Executor
    from thinkeval.service.engines.local import LocalEngine
    from thinkeval.service.experiments.job import JobProgress

    class Stuck:
        KIND = "stuck"

        def __init__(self, row, lease):
            self.progress = JobProgress(lease)

        def run(self, runtime):
            while True:
                time.sleep(1)  # it looks at nothing

        @staticmethod
        def drop(db, job):
            pass

    def make():
        return Executor(Settings(), (Stuck,))

    if __name__ == "__main__":
        connection = Connection(Settings())
        connection.start()
        engine = LocalEngine(make)
        Dispatcher(Settings(), (Stuck,), engine, 1, connection.waited).run()
"""


def test_an_executor_whose_job_does_not_stop_is_killed_after_the_grace_period(
    db: Database, server: dict[str, str], tmp_path: Path
) -> None:
    job = submitted(db, "stuck")
    env = os.environ | server | {"THINKEVAL_STOP_GRACE_S": "1", "THINKEVAL_LEASE_S": "6"}
    program = tmp_path / "stuck.py"
    program.write_text(textwrap.dedent(STUCK), encoding="utf-8")
    process = subprocess.Popen([sys.executable, str(program)], env=env, cwd=tmp_path)
    try:
        until(lambda: job_of(db, job, "stuck").status == "running", 120)
        queue.cancel_all(db, [job], "stuck")
        assert ended(db, job, "stuck").status == "cancelled"
        assert process.poll() is None  # another executor takes its place
    finally:
        process.kill()
        process.wait()
        db.write(int, "jobs/delete", id=job)
