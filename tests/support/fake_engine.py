"""An engine in virtual time: its executors do as a test's script says, and record in the database.

Nothing sleeps: `wait` moves the clock. A job is done once its executor has been asked for news as
often as its script says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.base import leases
from thinkeval.service.base.leases import Lease, State
from thinkeval.service.engines.engine import Heard, Report

AWAY = "away"
DEATH = "death"
DONE = "done"
LATE = "late"
"""The executor dies, and what it wrote before arrives afterwards."""
REFUSED = "refused"
"""The executor dies before it has taken up its job."""


class Clock:
    """A monotonic clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass(slots=True)
class _Running:
    row: rows.ClaimJobRow
    lease: Lease
    act: str
    cancelled: bool = False
    lost: bool = False


@dataclass
class FakeEngine:
    """Executors that exist in a test only.

    Args:
        script: what the next job does on its executor: DONE, DEATH, LATE, REFUSED, or AWAY.

    Attributes:
        done: jobs that an executor recorded as succeeded, in order.
    """

    db: Database
    clock: Clock
    script: Callable[[str], str]
    done: list[str] = field(default_factory=list)
    _idle: set[str] = field(default_factory=set)
    _running: dict[str, _Running] = field(default_factory=dict)
    _late: list[_Running] = field(default_factory=list)

    def start(self, name: str) -> None:
        """Start an executor: it is ready at once."""
        self._idle.add(name)

    room = 1

    def ready(self) -> list[str]:
        """The executors that can be given a job."""
        return sorted(self._idle)

    def run(self, name: str, job: rows.ClaimJobRow, lease: Lease) -> None:
        """Give a ready executor a job."""
        self._idle.remove(name)
        self._running[name] = _Running(job, Lease(lease.token, lease.attempt), self.script(job.id))

    def wait(self, timeout_s: float) -> list[Report]:
        """All jobs that run end, each as its script says; the clock moves by half a second."""
        self.clock.now += 0.5
        late, self._late = self._late, []
        for each in late:
            self._succeed(each)
        return [self._ended(name) for name in list(self._running)]

    def _ended(self, name: str) -> Report:
        job = self._running.pop(name)
        match job.act:
            case "death" | "late" | "refused":
                self._late += [job] if job.act == LATE else []
                return Report(name, "died", begun=job.act != REFUSED)
            case "away":
                self._idle.add(name)
                return Report(name, "away")
        self._idle.add(name)
        self._succeed(job)
        return Report(name, "ended")

    def _succeed(self, job: _Running) -> None:
        if job.lost:
            return
        if job.cancelled:
            leases.release(self.db, job.lease)
            return
        found = self.db.write(
            rows.FinishJobRow, "jobs/finish",
            **job.lease.params, status="succeeded", at=leases.now(), event="{}",
        )  # fmt: skip
        self.done += [job.row.id for row in found if row.finished]
        if found and not found[0].finished:
            leases.release(self.db, job.lease)

    def heard(self, name: str) -> Heard:
        """An executor of this engine always answers."""
        return Heard(self.clock.now, begun=True, state=State("working", 0.5), about={"pid": 1})

    def cancel(self, name: str, lease: Lease, *, lost: bool) -> None:
        """Note that an executor is asked to stop."""
        job = self._running.get(name)
        if job is not None and job.lease.token == lease.token:
            job.lost, job.cancelled = lost, not lost

    def kill(self, name: str) -> None:
        """Let an executor die."""
        self._running[name].act = DEATH

    def wake(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """Forget the executors; their jobs are left to the dispatcher."""
        self._idle.clear()
        self._running.clear()
