"""The executor: runs claimed jobs one after the other, and keeps the model loaded in between.

It neither claims nor renews: the dispatcher does. It records the end of each job that it ran, under
the lease that it was given. A job stops where it reports progress, or between two steps of a long
loop (`editing.interruption`): there the thread that runs it looks at the flags of `interrupt` and
`stop`.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from ...cypher.errors import GraphError, ServerUnavailableError
from ...editing import interruption
from ..base.errors import (
    KNOWN_ERRORS,
    JobInterrupt,
    LeaseLostError,
    TimeLimitInterrupt,
    UsageError,
    describe,
)
from ..base.leases import Lease, State
from ..experiments import queue, recovery
from ..scoring.runtime import Runtime
from .engine import Outcome

if TYPE_CHECKING:
    from ...cypher import rows
    from ..base.settings import Settings
    from ..experiments.job import Job
    from ..experiments.recovery import Kinds

log = logging.getLogger("thinkeval.worker")

Make: TypeAlias = "Callable[[], Executor]"
"""Makes an executor in its process: can be imported there."""

STARTING = "starting"
"""The first stage of a job of any kind, from its claim to the first that its kind names."""


class Executor:
    """One executor; who uses it closes its `runtime`.

    Args:
        kinds: the kinds of job it runs.

    Attributes:
        on_stage: called as a job enters a stage, in the thread that runs it.
        stopping: it shall run no further job.
        asked_at: when the job under way was asked to stop, by the monotonic clock; None if not.
    """

    def __init__(self, settings: Settings, kinds: Kinds) -> None:
        self.settings, self.kinds = settings, kinds
        self.on_stage: Callable[[], None] = lambda: None
        self.stopping = False
        self.asked_at: float | None = None
        self._job: Job | None = None
        self._affinity: str | None = None
        self._ends = math.inf
        self.runtime = Runtime(settings, self._progress)
        self.runtime.entered = self._entered

    def run(self, row: rows.ClaimJobRow, lease: Lease) -> tuple[Outcome, Any]:
        """Run a job and record its end; return how it ended, with a result if it returned one.

        It is `away` if the database did not answer.
        """
        (kind,) = [kind for kind in self.kinds if row.kind == kind.KIND]
        if self._affinity not in (None, row.affinity):
            self.runtime.forget_models()
        self._affinity = row.affinity
        self.runtime.trim()
        started = time.monotonic()
        self._limit = "edit_limit_s" if row.kind == queue.EDIT else "job_limit_s"
        self._ends = started + (getattr(self.settings, self._limit) or math.inf)
        self._job = job = kind(row, lease)
        log.info("%s %s: begun", row.kind, row.id)
        try:
            with interruption.checked(self._check):
                result = self._run(job)
        except GraphError as error:
            log.warning("the database is away: %s", error.detail)
            self.runtime.forget_database()  # the next job connects anew, or starts an embedded one
            return "away", None
        finally:
            self._job, self.asked_at = None, None
        log.info("ended after %.1f s", time.monotonic() - started)
        return "ended", result

    def state(self) -> State | None:
        """Return the state of the job under way; None while there is none."""
        job = self._job
        return None if job is None else job.progress.state

    def interrupt(self, lease: Lease, *, lost: bool) -> None:
        """Ask the job of a lease to stop; may be called from any thread.

        Args:
            lost: the job belongs to another; else it is cancelled.
        """
        job = self._job
        if job is None or job.progress.lease.token != lease.token:
            return  # another one runs, or none
        if lost:
            job.progress.lost = True
        else:
            job.progress.cancelled = True
        self.asked_at = self.asked_at or time.monotonic()

    def stop(self) -> None:
        """Queue the job under way again, and run no other; flags only, so a signal may call it."""
        self.stopping = True
        self.asked_at = self.asked_at or time.monotonic()

    def release(self) -> None:
        """Queue the job under way again without waiting for its thread."""
        job, database = self._job, self.runtime.open_database
        with suppress(Exception):  # the process exits: a lease that is left expires
            if job is not None and database is not None and not job.progress.lease.ended:
                recovery.release(database, self.kinds, job.progress.lease)

    def _run(self, job: Job) -> Any:
        try:
            self._check()
            return job.run(self.runtime)
        except TimeLimitInterrupt:
            self._ends = math.inf  # the failure is recorded without a limit
            self._failed(job, self._too_long())
        except JobInterrupt as stop:
            log.info("the job stops: %s", stop)
            if not job.progress.lease.ended:
                recovery.release(self.runtime.db, self.kinds, job.progress.lease)
        except LeaseLostError as error:
            log.warning("the job is not ours any more: %s", error.detail)
        except ServerUnavailableError:
            raise
        except Exception as error:
            self._failed(job, error)
        return None

    def _too_long(self) -> UsageError:
        return UsageError(
            f"The {self._limit.partition('_')[0]} was stopped: it took longer than"
            f" {getattr(self.settings, self._limit):g} s, the time limit of this service.",
            remedy="Submit it with fewer steps or samples, or ask the operator to raise"
            f" THINKEVAL_{self._limit.upper()}.",
        )

    def _failed(self, job: Job, error: Exception) -> None:
        if isinstance(error, KNOWN_ERRORS):
            log.warning("the job failed: %s", describe(error).detail)
        else:
            log.error("the job failed", exc_info=error)
            self.runtime.forget_models()  # the state it left the model in is unknown
        shown = job.progress.shown
        with suppress(LeaseLostError):
            ended = job.progress.lease.fail(self.runtime.db.write, error, shown and shown[0])
            recovery.drop(self.runtime.db, self.kinds, job.KIND, ended)

    def _progress(self, done: int, total: int, stage: str) -> None:
        """Called between two batches, and while a database is started."""
        if self._job is not None:
            self._job.progress.update(done, total, stage)
        self._check()

    def _entered(self, stage: str, progress: float) -> None:
        """Called as an edit enters a stage."""
        if self._job is not None:
            self._job.progress.enter(stage, progress)
            self.on_stage()
            self._check()

    def _check(self) -> None:
        """Stop here if the job, or the executor, shall stop."""
        job = self._job
        if job is not None and job.progress.lost:
            raise LeaseLostError()
        cancelled = job is not None and job.progress.cancelled
        if cancelled or self.stopping:
            raise JobInterrupt(cancelled=cancelled)
        if time.monotonic() > self._ends:
            raise TimeLimitInterrupt()
