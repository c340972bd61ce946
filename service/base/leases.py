"""Leases: the right of one process to work on a job, and their renewal."""

from __future__ import annotations

import json
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from ...cypher import rows
from ...cypher.errors import GraphError
from .errors import JobInterrupt, LeaseLostError, describe, is_interrupt

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx


# Leases: the right of one process to work on a job, checked in every write about it.
#
# A claim writes a random token, a number and an expiry in the server's time onto the job's node.
# The expiry is renewed while its holder lives (`renew`); when it passes, the job is taken
# from its worker (`service.experiments.recovery`). Every write about the job carries token and
# number, and its transaction refuses them once they belong to another, so a process that was
# stopped and resumes overwrites nothing: it gets a LeaseLostError.

T = TypeVar("T")

KEPT = "What is stored stays. Submit it again."
"""Remedy for a job that was cancelled."""


class Writer(Protocol):
    """Runs a write query: `Database.write`, or `Tx.run` within a transaction."""

    def __call__(self, row_type: type[Any], name: str, /, **params: Any) -> list[Any]:
        """The rows of the query."""
        ...


@dataclass(slots=True)
class Lease:
    """The lease of a job.

    Attributes:
        token: random, new with each claim.
        attempt: number of the claim.
        ended: True if the job was finished or given back under it; it is not renewed then.
    """

    token: str
    attempt: int
    ended: bool = False

    @property
    def params(self) -> dict[str, Any]:
        """The parameters by which a query is fenced."""
        return {"lease": self.token, "attempt": self.attempt}

    def assert_owned(self, write: Writer) -> str:
        """Fence a transaction: the job is locked until its end. The job's id.

        Raises:
            LeaseLostError: the lease belongs to another; the transaction must be rolled back.
            JobInterrupt: the job shall be cancelled.
        """
        row = self.required(write(rows.HoldLeaseRow, "jobs/hold", **self.params))
        self._stop_if(row.cancel)
        return row.id

    def stage(self, write: Writer, name: str, progress: float) -> None:
        """Record that the job has entered a stage.

        Raises:
            LeaseLostError, JobInterrupt: as `hold`.
        """
        told = event("running", name, progress)
        found = write(bool, "jobs/stage", **self.params, stage=name, progress=progress, event=told)
        self._stop_if(self.required(found))

    def part(self, write: Writer, part: str, name: str, progress: float) -> None:
        """Record that a part of the job is stored.

        Raises:
            LeaseLostError, JobInterrupt: as `hold`.
        """
        told = event("running", name, progress)
        found = write(rows.JobPartRow, "jobs/part", **self.params, part=part, event=told)
        self._stop_if(self.required(found).cancel)

    def succeed(self, write: Writer) -> None:
        """Finish the job; `ended` is set by the caller, once its transaction is committed.

        Raises:
            LeaseLostError, JobInterrupt: as `hold`.
        """
        told = event("succeeded", "done", 1.0)
        found = write(
            rows.FinishJobRow,
            "jobs/finish",
            **self.params,
            status="succeeded",
            at=now(),
            event=told,
        )
        self._stop_if(not self.required(found).finished)

    def succeed_with(self, db: Database, result: str) -> None:
        """Finish the job, and record which stored result it made or found.

        Raises:
            LeaseLostError, JobInterrupt: as `hold`.
        """

        def finish(tx: Tx) -> None:
            self.required(tx.run(str, "jobs/set_result", **self.params, result=result))
            self.succeed(tx.run)

        db.atomically(finish)
        self.ended = True

    def fail(self, write: Writer, error: BaseException, stage: str | None = None) -> str:
        """Finish the job without a result; a KeyboardInterrupt cancels it. The job's id.

        Raises:
            LeaseLostError: the lease belongs to another.
        """
        failed = error if isinstance(error, Exception) and not is_interrupt(error) else None
        problem = describe(failed) if failed else None
        status = "failed" if problem else "cancelled"
        found = write(
            rows.FinishJobRow,
            "jobs/finish",
            **self.params,
            status=status,
            stage=stage,
            error=problem.detail if problem else "interrupted",
            remedy=problem.remedy if problem else "Score it again; nothing was stored.",
            at=now(),
            event=event(status, status),
        )
        row = self.required(found)
        self.ended = True
        return row.id

    def required(self, found: list[T]) -> T:
        """The row of a fenced write.

        Raises:
            LeaseLostError: there is none, because the lease belongs to another.
        """
        if not found:
            self.ended = True
            raise LeaseLostError()
        return found[0]

    def _stop_if(self, cancel: bool) -> None:
        if cancel:
            raise JobInterrupt(cancelled=True)


def new_token() -> str:
    """A random token of a lease, or id of a worker or service."""
    return uuid.uuid4().hex


def this_process(device: str) -> dict[str, Any]:
    """Return the listed data of a worker, for information only."""
    return {"device": device, "host": socket.gethostname(), "pid": os.getpid()}


def now() -> str:
    """The time as records have it: ISO 8601 with zone."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def event(status: str, stage: str, progress: float = 0.0) -> str:
    """An event of a job, as JSON; stored with the job, in order."""
    told = {"status": status, "stage": stage, "progress": progress, "at": now()}
    return json.dumps(told)


def release(
    db: Database, lease: Lease, *, crashed: bool = False, lease_until: int | None = None
) -> rows.ReleaseJobRow | None:
    """Take a job from its worker: it is queued again, or ends; None where the lease is not valid.

    Args:
        crashed: True if the worker alone died: after MAX_CRASHES of these the job fails.
        lease_until: only if the lease still ends then, that is, was not renewed meanwhile; if that
            time has passed, it counts as EXPIRED of a crash.
    """
    found = db.write(
        rows.ReleaseJobRow,
        "jobs/release",
        **lease.params,
        lease_until=lease_until,
        crashed=crashed,
        max_crashes=MAX_CRASHES,
        expired=EXPIRED,
        error=CRASHED,
        remedy=REMEDY,
        cancelled=KEPT,
        at=now(),
        events={status: event(status, "released") for status in ("queued", "failed", "cancelled")},
    )
    lease.ended = True
    return found[0] if found else None


MAX_CRASHES = 3
"""After how many deaths of its worker a job fails; stored parts set the count back."""

EXPIRED = 0.25
"""Fraction of a crash that an expired lease counts, as no dispatcher was left to see the worker
die: a job that kills its dispatcher too fails after twelve of these. A power of two, so that sums
are exact."""

CRASHED = "The worker process exited unexpectedly (killed or crashed)."
REMEDY = (
    "What is stored stays; submit it again. The log of the worker or the system may name the"
    " reason: if memory ran out, choose a smaller model or dtype."
)


QUIET_S = 10.0
"""Longest time between two renewals of a lease."""


class State(NamedTuple):
    """The progress of a job: its stage in words, and a number from 0 to 1."""

    stage: str | None = None
    progress: float | None = None


@dataclass(frozen=True, slots=True)
class Renewal:
    """The news of one process: its lease (None: idle), and the state of the job.

    Attributes:
        worker: id by which it is listed with the properties of `about`; None for a command.
    """

    lease: Lease | None
    state: State | None = None
    worker: str | None = None
    about: Mapping[str, Any] = field(default_factory=dict)


def renew(db: Database, news: Sequence[Renewal]) -> list[rows.RenewalRow]:
    """Renew leases in one query, record the states of their jobs, and list their workers.

    The server commits it, so a process that is stopped meanwhile keeps no job locked.

    Raises:
        GraphError: nothing may have been renewed.
    """
    if not news:
        return []
    sent = []
    for each in news:
        held = each.lease if each.lease and not each.lease.ended else None
        state = each.state or State()
        params = held.params if held else {"lease": None, "attempt": None}
        named = {"worker": each.worker, "about": dict(each.about)}
        sent.append(params | named | state._asdict())
    return db.write_implicitly(rows.RenewalRow, "jobs/renew", rows=sent)


@contextmanager
def kept(database: Callable[[], Database | None], lease: Lease, lease_s: float) -> Iterator[None]:
    """Renew the lease of a command in a thread of its own while the block runs.

    The command notices at its next stage that the lease is lost, or the job cancelled.

    Args:
        database: the open database; None while there is none.
        lease_s: length of the lease.
    """
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(min(QUIET_S, lease_s / 6)):
            db = database()
            with suppress(GraphError):  # the main thread notices by itself
                if db is not None and not lease.ended:
                    renew(db, [Renewal(lease)])

    thread = threading.Thread(target=run, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
