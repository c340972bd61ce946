"""The protocol of leases as a state machine: several dispatchers, in virtual time, in any order.

The queries are the real ones on a real server. An executor does one step of its job at a time, when
the machine says so, and may die, be stopped, or lose the database in between; what it wrote before
may arrive afterwards. Time passes by moving the ends of all leases that have not expired back: one
that has is not written any more, as recovery waits until it has seen it unchanged.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from support.fake_engine import Clock
from support.job_queries import Queue
from support.job_queries import admin as admin
from support.job_queries import queue as queue
from thinkeval.cypher import rows
from thinkeval.cypher.errors import ServerUnavailableError
from thinkeval.service.base import leases
from thinkeval.service.base.errors import JobInterrupt, LeaseLostError
from thinkeval.service.base.leases import EXPIRED, MAX_CRASHES, Lease, Renewal, State
from thinkeval.service.base.settings import Settings
from thinkeval.service.engines import dispatcher as dispatching
from thinkeval.service.engines.dispatcher import Dispatcher
from thinkeval.service.engines.engine import Heard, Report
from thinkeval.service.experiments import queue as jobs
from thinkeval.service.experiments import recovery

T = TypeVar("T")

LEASE_S = Settings().lease_s
N_JOBS = 4
ENDED = ("succeeded", "failed", "cancelled")
ANY = st.integers(0, 11)


@dataclass(slots=True)
class Working:
    """An executor with its job; `silent` since it was stopped, by the machine's clock."""

    name: str
    job: str
    lease: Lease
    begun: bool = False
    cancelled: bool = False
    lost: bool = False
    silent: float | None = None


@dataclass
class Hands:
    """An engine whose executors do what the machine's rules do with them."""

    queue: Queue
    clock: Clock
    killed: Callable[[Working], None]
    idle: set[str] = field(default_factory=set)
    working: dict[str, Working] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)

    room = 2

    def start(self, name: str) -> None:
        self.idle.add(name)

    def ready(self) -> list[str]:
        return sorted(self.idle)

    def run(self, name: str, job: rows.ClaimJobRow, lease: Lease) -> None:
        self.idle.remove(name)
        self.working[name] = Working(name, job.id, Lease(lease.token, lease.attempt))

    def wait(self, timeout_s: float) -> list[Report]:
        self.clock.now += 0.5
        told, self.reports = self.reports, []
        return told

    def heard(self, name: str) -> Heard:
        job = self.working.get(name)
        at = self.clock.now if job is None or job.silent is None else job.silent
        begun = job is not None and job.begun
        return Heard(at, begun, State("working", 0.5) if begun else None, {"pid": 1})

    def cancel(self, name: str, lease: Lease, *, lost: bool) -> None:
        job = self.working.get(name)
        if job is not None and job.lease.token == lease.token:
            job.lost, job.cancelled = lost, not lost

    def kill(self, name: str) -> None:
        if name in self.working:
            self.die(name)

    def wake(self) -> None:
        pass

    def die(self, name: str) -> None:
        """The process of an executor is gone."""
        job = self.working.pop(name)
        self.reports.append(Report(name, "died", begun=job.begun))
        self.killed(job)

    def close(self) -> None:
        """The end of their pipe: each gives its job back, unless it is stopped."""
        for job in self.working.values():
            if job.silent is None:
                recovery.release(self.queue.db, (), job.lease)
        self.working.clear()


class Line:
    """The database as one dispatcher has it: away, or without the answer of its next claim."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.away = self.deaf = False

    def __call__(self) -> Any:
        if self.away:
            raise ServerUnavailableError("away")
        return self

    def write(self, row_type: type[Any], name: str, /, **params: Any) -> list[Any]:
        found = self.queue.db.write(row_type, name, **params)
        if name == "jobs/claim" and self.deaf:
            self.deaf = False
            raise ServerUnavailableError("the answer was lost")
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.queue.db, name)


class Protocol(RuleBasedStateMachine):
    """Jobs, dispatchers with executors, and processes that are dead or cut off and write late.

    Attributes:
        accepted: submissions of each job that were accepted; each of them has to end once.
        deaths: executors that died with the job under way, since it was last accepted or got
            further.
        expired: leases of it that passed without being renewed, since then.
    """

    queue: Queue
    clock: Clock

    def __init__(self) -> None:
        super().__init__()
        self.queue.clean()
        self.dispatchers: list[Dispatcher] = []
        self.late: list[Working] = []
        self.accepted: Counter[str] = Counter()
        self.deaths: Counter[str] = Counter()
        self.expired: defaultdict[str, set[str]] = defaultdict(set)
        self.failed_itself: set[str] = set()
        self.asked: set[str] = set()
        self.add_dispatcher()
        for n in range(N_JOBS):
            self.submit(n, again=False)
        self.turn(0, wake=True)

    # What is there.

    def one(self, found: list[T], n: int) -> T:
        return found[n % len(found)]

    def engines(self) -> list[Hands]:
        return [each.engine for each in self.dispatchers]  # type: ignore[misc]

    def at_work(self, *, able: bool = False) -> list[tuple[Hands, Working]]:
        """Executors with a job; those that are not stopped."""
        return [
            (hands, job)
            for hands in self.engines()
            for job in hands.working.values()
            if not (able and job.silent is not None)
        ]

    def died(self, job: Working) -> None:
        self.late.append(job)
        self.deaths[job.job] += job.begun and not job.cancelled

    def forgiven(self, job: str) -> None:
        self.deaths[job] = 0
        self.expired[job].clear()

    def node(self, job: str) -> dict[str, Any] | None:
        found = self.queue.cypher("MATCH (j:Job {id: $id}) RETURN properties(j) AS p", id=job)
        return found[0]["p"] if found else None

    def nodes(self) -> list[dict[str, Any]]:
        found = self.queue.cypher(
            "MATCH (j:Job {kind: $kind}) RETURN properties(j) AS p", kind=self.queue.kind
        )
        return [each["p"] for each in found]

    def fenced(self, job: Working, write: Callable[[], object]) -> bool:
        """Write under a lease: refused, without a trace, unless it is the job's. False: refused."""
        before = self.node(job.job)
        owns = before is not None and before.get("lease") == job.lease.token
        try:
            write()
        except LeaseLostError:
            assert not owns, (before, job)
            assert self.node(job.job) == before
            return False
        except JobInterrupt:
            assert owns
            assert before is not None
            assert before["cancel"]
            job.cancelled = True
            return True
        assert owns, (before, job)
        return True

    # Users.

    @rule(n=ANY, again=st.booleans())
    def submit(self, n: int, again: bool) -> None:
        name = self.queue.name(f"j{n % N_JOBS}")
        (row,) = self.queue.submit(name, again=again, event=leases.event("queued", "waiting"))
        if row.outcome in ("created", "queued"):
            self.accepted[name] += 1
            self.forgiven(name)
            self.failed_itself.discard(name)
            self.asked.discard(name)

    @rule(n=ANY, delete=st.booleans())
    def cancel_or_delete(self, n: int, delete: bool) -> None:
        """As the service does: what has ended can be deleted."""
        name = self.queue.name(f"j{n % N_JOBS}")
        before = self.node(name)
        if before is None:
            return
        if before["status"] not in ENDED:
            jobs.cancel_all(self.queue.db, [name], self.queue.kind)
            self.asked.add(name)
        elif delete:
            self.queue.db.write(int, "jobs/delete", id=name)
            self.accepted[name] = 0

    # Dispatchers.

    @precondition(lambda self: len(self.dispatchers) < 3)
    @rule()
    def add_dispatcher(self) -> None:
        hands = Hands(self.queue, self.clock, self.died)
        kind = type("Kind", (), {"KIND": self.queue.kind, "drop": staticmethod(lambda *_: None)})
        line = Line(self.queue)
        made = Dispatcher(Settings(), (kind,), hands, 2, line)
        self.dispatchers.append(made)

    @precondition(lambda self: self.dispatchers)
    @rule(n=ANY, wake=st.booleans())
    def turn(self, n: int, wake: bool) -> None:
        made = self.one(self.dispatchers, n)
        if wake:
            made.wake()
        made.turn()

    @precondition(lambda self: self.dispatchers)
    @rule(n=ANY, all_of_it=st.booleans())
    def lose_the_database(self, n: int, all_of_it: bool) -> None:
        """All of it until it is back, or the answer of the next claim."""
        line: Line = self.one(self.dispatchers, n)._database  # type: ignore[assignment]
        if all_of_it:
            line.away = not line.away
        else:
            line.deaf = True

    @precondition(lambda self: self.dispatchers)
    @rule(n=ANY, executors_too=st.booleans())
    def kill_dispatcher(self, n: int, executors_too: bool) -> None:
        """Its executors die with it, or see the end of their pipe; a stopped one sees nothing."""
        made = self.one(self.dispatchers, n)
        self.dispatchers.remove(made)
        hands: Hands = made.engine  # type: ignore[assignment]
        held = list(hands.working.values())
        self.late += [job for job in held if executors_too or job.silent is not None]
        if not executors_too:
            hands.close()

    @precondition(lambda self: self.dispatchers)
    @rule(n=ANY)
    def close_dispatcher(self, n: int) -> None:
        made = self.one(self.dispatchers, n)
        self.dispatchers.remove(made)
        hands: Hands = made.engine  # type: ignore[assignment]
        self.late += [job for job in hands.working.values() if job.silent is not None]
        made._ending.set()
        made.run()

    @rule(seconds=st.sampled_from([2.0, LEASE_S / 5, LEASE_S / 3, 1.5 * LEASE_S]))
    def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds
        expired = self.queue.cypher(
            "MATCH (j:Job {kind: $kind}) WHERE j.lease_until >= timestamp()"
            " SET j.lease_until = j.lease_until - $ms WITH j WHERE j.lease_until < timestamp()"
            " RETURN j.id AS id, j.lease AS lease",
            kind=self.queue.kind,
            ms=round(1000 * seconds),
        )
        for row in expired:
            self.expired[row["id"]].add(row["lease"])

    # Executors.

    def ended(self, hands: Hands, job: Working, outcome: str = "ended") -> None:
        del hands.working[job.name]
        hands.idle.add(job.name)
        hands.reports.append(Report(job.name, outcome))  # type: ignore[arg-type]

    def stops(self, hands: Hands, job: Working) -> bool:
        """It looks at its flags, as an executor does between two steps."""
        if job.lost:
            self.ended(hands, job)
        elif job.cancelled:
            recovery.release(self.queue.db, (), job.lease)
            self.ended(hands, job)
        return job.lost or job.cancelled

    @precondition(lambda self: self.at_work(able=True))
    @rule(n=ANY, part=st.one_of(st.none(), st.integers(0, 2)))
    def step(self, n: int, part: int | None) -> None:
        hands, job = self.one(self.at_work(able=True), n)
        job.begun = True
        if self.stops(hands, job):
            return
        write, known = self.queue.db.write, self.node(job.job)
        if part is None:
            held = self.fenced(job, lambda: job.lease.stage(write, "working", 0.5))
        else:
            held = self.fenced(job, lambda: job.lease.part(write, f"{part}", "working", 0.5))
            if held and known is not None and f"{part}" not in known["parts"]:
                self.forgiven(job.job)
        if not held:
            self.ended(hands, job)

    @precondition(lambda self: self.at_work(able=True))
    @rule(n=ANY, well=st.booleans())
    def end(self, n: int, well: bool) -> None:
        hands, job = self.one(self.at_work(able=True), n)
        if self.stops(hands, job):
            return
        self.finish(job, well)
        if not job.cancelled:
            self.ended(hands, job)
        else:
            self.stops(hands, job)

    def finish(self, job: Working, well: bool) -> None:
        write = self.queue.db.write
        if well:
            self.fenced(job, lambda: job.lease.succeed(write))
        elif self.fenced(job, lambda: job.lease.fail(write, ValueError("no luck"))):
            self.failed_itself.add(job.job)

    @precondition(lambda self: self.at_work(able=True))
    @rule(n=ANY)
    def is_away(self, n: int) -> None:
        hands, job = self.one(self.at_work(able=True), n)
        self.late.append(job)
        self.ended(hands, job, "away")

    @precondition(lambda self: self.at_work())
    @rule(n=ANY)
    def die(self, n: int) -> None:
        hands, job = self.one(self.at_work(), n)
        hands.die(job.name)

    @precondition(lambda self: self.at_work())
    @rule(n=ANY)
    def stop_or_resume(self, n: int) -> None:
        _, job = self.one(self.at_work(), n)
        job.silent = self.clock.now if job.silent is None else None

    @precondition(lambda self: self.late)
    @rule(n=ANY, how=st.sampled_from(["stage", "part", "succeed", "fail", "renew", "release"]))
    def write_late(self, n: int, how: str) -> None:
        """Send a write of a dead executor, or of one that resumes without its dispatcher."""
        job = self.one(self.late, n)
        db = self.queue.db
        before = self.node(job.job)
        owns = before is not None and before.get("lease") == job.lease.token
        match how:
            case "stage":
                self.fenced(job, lambda: job.lease.stage(db.write, "late", 0.9))
            case "part":
                if self.fenced(job, lambda: job.lease.part(db.write, "late", "late", 0.9)):
                    self.forgiven(job.job)
            case "succeed" | "fail":
                self.finish(job, how == "succeed")
            case "renew":
                lease = Lease(job.lease.token, job.lease.attempt)
                (told,) = leases.renew(db, [Renewal(lease, State("late", 0.9))])
                assert told.valid == owns
            case "release":
                assert (leases.release(db, job.lease) is not None) == owns
        if not owns:
            assert self.node(job.job) == before
        job.lease.ended = False

    # Invariants.

    @invariant()
    def promises_are_kept(self) -> None:
        found = self.nodes()
        self.each_submission_ends_at_most_once(found)
        self.only_the_guilty_fail(found)

    def each_submission_ends_at_most_once(self, found: list[dict[str, Any]]) -> None:
        for node in found:
            name, ends = node["id"], self.ends(node)
            due = self.accepted[name] - (node["status"] not in ENDED)
            assert ends == due, (node, self.accepted)
            running = node["status"] == "running"
            assert running == (node.get("lease") is not None) == (node.get("worker") is not None)

    @staticmethod
    def ends(node: dict[str, Any]) -> int:
        return sum(json.loads(each)["status"] in ENDED for each in node["events"])

    def only_the_guilty_fail(self, found: list[dict[str, Any]]) -> None:
        for node in found:
            name = node["id"]
            guilt = self.deaths[name] + EXPIRED * len(self.expired[name])
            assert 0 <= node["crashes"] <= guilt, (node, self.deaths, self.expired)
            assert node["crashes"] < MAX_CRASHES or node["status"] in ENDED
            if node["status"] == "failed" and name not in self.failed_itself:
                assert node["crashes"] >= MAX_CRASHES, node
            if node["status"] == "cancelled":
                assert name in self.asked, node

    def teardown(self) -> None:
        """A dispatcher that is well ends all that was accepted, whoever had it."""
        for made in self.dispatchers:
            made.engine.close()
        self.dispatchers.clear()
        self.add_dispatcher()
        (made,) = self.dispatchers
        for _ in range(40):
            if all(node["status"] in ENDED for node in self.nodes()):
                break
            self.pass_time(LEASE_S / 3)
            made.wake()
            made.turn()
            for _ in range(len(self.at_work())):
                self.end(0, well=True)
            self.promises_are_kept()
        for node in self.nodes():
            assert node["status"] in ENDED, node
            assert self.ends(node) == self.accepted[node["id"]]
        assert not [name for name in self.accepted if self.accepted[name] and not self.node(name)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(dispatching, "monotonic", made)
    monkeypatch.setattr(dispatching, "RETRY_S", (0.0,))
    monkeypatch.setattr(recovery, "time", SimpleNamespace(monotonic=made))
    return made


def test_leases_keep_their_promises_in_any_order(queue: Queue, clock: Clock) -> None:
    machine = type("OnThisServer", (Protocol,), {"queue": queue, "clock": clock})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=25, phases=[Phase.generate], stateful_step_count=30, deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip
