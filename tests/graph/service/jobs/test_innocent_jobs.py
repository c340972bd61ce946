"""Deaths, losses and cancels in any order: every job ends once, and none fails without guilt."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.fake_engine import AWAY, DEATH, DONE, LATE, REFUSED, Clock, FakeEngine
from support.job_queries import Queue
from support.job_queries import admin as admin
from support.job_queries import queue as queue
from support.serving import until
from thinkeval.service.base.leases import MAX_CRASHES
from thinkeval.service.base.settings import Settings
from thinkeval.service.engines import dispatcher as dispatching
from thinkeval.service.engines.dispatcher import Dispatcher
from thinkeval.service.engines.engine import Heard
from thinkeval.service.experiments import queue as jobs

N_JOBS = 5
ACTS = st.sampled_from([DONE, DONE, DEATH, LATE, REFUSED, AWAY])


def kind_of(queue: Queue) -> type[Any]:
    """A class of jobs of this queue's kind, of which a dispatcher reads the name."""
    return type("Kind", (), {"KIND": queue.kind, "drop": staticmethod(lambda db, job: None)})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(dispatching, "monotonic", made)
    monkeypatch.setattr(dispatching, "RETRY_S", (0.0,))
    return made


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    acts=st.lists(st.lists(ACTS, max_size=6), min_size=N_JOBS, max_size=N_JOBS),
    cancels=st.sets(st.integers(0, N_JOBS - 1), max_size=2),
    executors=st.integers(1, 3),
)
def test_every_job_ends_once_and_none_fails_that_killed_nobody(
    queue: Queue, clock: Clock, acts: list[list[str]], cancels: set[int], executors: int
) -> None:
    """The acts of each job in turn; those after them succeed."""
    queue.clean()
    names = [f"j{n}" for n in range(N_JOBS)]
    queue.submit(*names)
    left = {queue.name(name): list(todo) for name, todo in zip(names, acts, strict=True)}
    killed: Counter[str] = Counter()
    seen: dict[str, list[str]] = defaultdict(list)

    def script(job: str) -> str:
        act = left[job].pop(0) if left[job] else DONE
        seen[job].append(act)
        killed[job] += act in (DEATH, LATE)
        return act

    engine = FakeEngine(queue.db, clock, script)
    made = Dispatcher(Settings(), (kind_of(queue),), engine, executors, lambda: queue.db)
    for turn in range(200):
        made.turn()
        made.wake()
        clock.now += 60  # who died is replaced
        if turn == 2:
            ids = [queue.name(names[n]) for n in sorted(cancels)]
            jobs.cancel_all(queue.db, ids, queue.kind)
        if all(queue.job(name).status not in ("queued", "running") for name in names):
            break
    made.close()
    for n, name in enumerate(names):
        job = queue.job(name)
        full = queue.name(name)
        if job.status == "failed":
            assert killed[full] >= MAX_CRASHES, seen[full]
        elif job.status == "cancelled":
            assert n in cancels
        else:
            assert job.status == "succeeded", (job, seen[full])
            assert engine.done.count(full) == 1, seen[full]
        assert killed[full] <= MAX_CRASHES
    assert (
        queue.cypher(
            "MATCH (j:Job {kind: $kind}) WHERE j.lease IS NOT NULL RETURN j.id", kind=queue.kind
        )
        == []
    )


@pytest.mark.parametrize("executors", [16, 100])
def test_executors_cost_the_database_few_queries(
    queue: Queue, clock: Clock, executors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """16 idle ones at most two a second, 100 busy ones at most four."""
    busy = executors == 100
    counted: list[str] = []
    db = queue.db
    for method in ("read", "write", "write_implicitly"):

        def count(run: Any, *args: Any, **params: Any) -> Any:
            counted.append(args[1])
            return run(*args, **params)

        monkeypatch.setattr(db, method, partial(count, getattr(db, method)))
    engine = FakeEngine(db, clock, lambda job: DONE)
    if busy:
        monkeypatch.setattr(engine, "_ended", None)
        queue.submit(*(f"j{n}" for n in range(executors)))

        def wait(timeout_s: float) -> list[Any]:
            clock.now += 0.5
            return []

        monkeypatch.setattr(engine, "wait", wait)
    made = Dispatcher(Settings(), (kind_of(queue),), engine, executors, lambda: db)
    made.turn()
    counted.clear()
    began = clock.now
    while clock.now - began < 60:
        made.turn()
    assert len(counted) / (clock.now - began) <= (4 if busy else 2), Counter(counted)
    if busy:
        assert Counter(counted)["jobs/renew"] >= 6


def test_an_engine_that_fails_for_a_turn_stops_nothing(
    queue: Queue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.submit("a")
    engine = FakeEngine(queue.db, clock, lambda job: DONE)
    wait, failed = engine.wait, list[str]()

    def fail_once(timeout_s: float) -> list[Any]:
        if not failed:
            failed.append("once")
            raise RuntimeError("the head of the cluster is gone")
        return wait(timeout_s)

    monkeypatch.setattr(engine, "wait", fail_once)
    made = Dispatcher(Settings(), (kind_of(queue),), engine, 1, lambda: queue.db)
    made.start()
    until(lambda: queue.job("a").status == "succeeded")
    made.close()
    assert failed == ["once"]


def test_a_dispatcher_that_was_stopped_with_its_executors_kills_none(
    queue: Queue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that slept: an executor has as long to speak again as before."""
    queue.submit("a")
    engine = FakeEngine(queue.db, clock, lambda job: DONE)
    heard = Heard(clock.now)
    passes = [0.5, 1000.0, 0.5]
    killed: list[str] = []

    def wait(timeout_s: float) -> list[Any]:
        clock.now += passes.pop(0)
        return []

    monkeypatch.setattr(engine, "wait", wait)
    monkeypatch.setattr(engine, "heard", lambda name: heard)
    monkeypatch.setattr(engine, "kill", killed.append)
    made = Dispatcher(Settings(), (kind_of(queue),), engine, 1, lambda: queue.db)
    for _ in range(3):
        made.turn()
    assert killed == []
    passes += [Settings().lease_s / 5] * 6
    for _ in range(6):  # it listens, and hears nothing for as long as a lease lasts
        made.turn()
    assert killed
