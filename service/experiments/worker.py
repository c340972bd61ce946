"""The worker: claims jobs from the queue, runs them, keeps the model loaded in between.

A process by itself, so that the service answers while a model computes, and so that killing it
harms nothing: the record of a job is in the database, and a dead worker's job is queued again
(`service.experiments.recovery`). Any number of workers may share a queue, on any machines.

    claim → run → claim ...    in the main thread, in the order of submission
    heartbeat                  in `service.base.leases`: renews the lease, learns of cancelling

A job stops where it reports progress, or between two steps of a long loop (`editing.interruption`):
there the main thread looks at the flags that signals and heartbeats set. A job that does not get
there within the grace period ends the process.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from contextlib import suppress
from types import FrameType

from ...cypher import rows
from ...cypher.errors import GraphError, ServerUnavailableError
from ...editing import interruption
from ..base.errors import KNOWN_ERRORS, JobInterrupt, LeaseLostError, describe
from ..base.leases import Heartbeat, Lease, State, event, new_token, this_process
from ..base.settings import Settings
from ..scoring.runtime import Runtime
from . import recovery
from .job import Job
from .recovery import Kinds, Recovery

log = logging.getLogger("thinkeval.worker")

IDLE_S = 2.0
"""Interval at which an idle worker polls for work submitted elsewhere."""
RETRY_S = (0.5, 1.0, 2.0, 5.0)
"""Pauses before the database is tried again; the last one is repeated."""
STARTING = "starting"
"""The first stage of a job of any kind, from its claim to the first that its kind names."""
STUCK = 3
"""Exit code of a worker whose job did not stop within the grace period."""


class Worker:
    """One worker; `run` returns when it shall stop.

    Args:
        kinds: the kinds of job it runs.
        id: given by the service that supervises it; random else.
        service: id of that service.

    Attributes:
        wake: set when there may be something to do.
    """

    def __init__(
        self, settings: Settings, kinds: Kinds, *, id: str | None = None, service: str | None = None
    ) -> None:
        self.settings, self.kinds, self.service = settings, kinds, service
        self.id = id or new_token()
        self.wake = threading.Event()
        self.stopping = False
        self._stop_since: float | None = None
        self._job: Job | None = None
        self._affinity: str | None = None
        self._failures = 0
        self._recovered_at = 0.0
        self._recovery = Recovery(kinds, settings.lease_s)
        self.runtime = Runtime(settings, self._progress)
        self.runtime.entered = self._entered
        about = this_process(settings.device)
        self.heartbeat = Heartbeat(
            lambda: self.runtime.open_database,
            self._state,
            self._heard,
            lease_s=settings.lease_s,
            worker={"worker": self.id, "about": about},
            tick=self._tick,
        )

    def run(self) -> None:
        """Work until it shall stop; the job under way is then queued again."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)
        log.info("worker %s is ready", self.id)
        with self.runtime:
            with self.heartbeat, interruption.checked(self._check):
                while not self.stopping:
                    self._step()
            database = self.runtime.open_database
            if database is not None:
                with suppress(GraphError):
                    database.write(int, "jobs/forget_workers", id=self.id, silent_ms=10**9)
        log.info("worker %s has exited", self.id)

    def stop(self) -> None:
        """Exit soon; may be called from any thread, not from a signal's handler."""
        self.stopping = True
        self.wake.set()

    def look(self) -> None:
        """Look at once for work, or for cancelling; may be called from any thread."""
        self.wake.set()
        self.heartbeat.wake()

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        self.stopping = True  # a flag and nothing else: the main thread may hold any lock now

    def _step(self) -> None:
        try:
            busy = self._turn()
            self._failures = 0
        except JobInterrupt:
            return  # between two jobs
        except GraphError as error:
            self._pause(error)
            return
        if not busy:
            self.wake.wait(IDLE_S)
            self.wake.clear()

    def _turn(self) -> bool:
        """Run the next job; return False if there is none."""
        db = self.runtime.db
        if self._failures:
            # The database was away: a claim or a release may or may not have reached it.
            recovery.recover_worker(db, self.kinds, self.id, crashed=False)
        if time.monotonic() - self._recovered_at > self.settings.lease_s / 6:
            self._recovered_at = time.monotonic()
            self._recovery.run(db)
        job = self._claim()
        if job is None:
            return False
        self._run(job)
        return True

    def _claim(self) -> Job | None:
        token = new_token()
        found = self.runtime.db.write(
            rows.ClaimJobRow,
            "jobs/claim",
            kinds=[kind.KIND for kind in self.kinds],
            lease=token,
            lease_ms=self.settings.lease_ms,
            worker=self.id,
            service=self.service,
            affinity=self._affinity,
            event=event("running", STARTING),
        )
        if not found:
            return None
        (row,) = found
        (kind,) = [kind for kind in self.kinds if row.kind == kind.KIND]
        if self._affinity not in (None, row.affinity):
            self.runtime.forget_models()
        self._affinity = row.affinity
        self.runtime.trim()
        log.info("%s %s: begun", row.kind, row.id)
        return kind(row, Lease(token, row.attempt))

    def _run(self, job: Job) -> None:
        started = time.monotonic()
        self._job = job
        try:
            job.run(self.runtime)
        except JobInterrupt as stop:
            log.info("the job stops: %s", stop)
            self._release(job)
        except LeaseLostError as error:
            log.warning("the job is not ours any more: %s", error.detail)
        except ServerUnavailableError:
            raise
        except Exception as error:
            self._failed(job, error)
        else:
            log.info("done in %.1f s", time.monotonic() - started)
        finally:
            self._job, self._stop_since = None, None

    def _release(self, job: Job) -> None:
        if not job.progress.lease.ended:
            recovery.release(self.runtime.db, self.kinds, job.progress.lease)

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

    def _pause(self, error: GraphError) -> None:
        """The database is away: connect anew, which starts an embedded one, after a while."""
        pause = RETRY_S[min(self._failures, len(RETRY_S) - 1)]
        self._failures += 1
        log.warning("the database is away, trying again in %s s: %s", pause, error.detail)
        with self.heartbeat.paused():
            self.runtime.forget_database()
        self.wake.wait(pause)
        self.wake.clear()

    def _progress(self, done: int, total: int, stage: str) -> None:
        """Called between two batches, and while a database is started."""
        if self._job is not None:
            self._job.progress.update(done, total, stage)
        self._check()

    def _entered(self, stage: str, progress: float) -> None:
        """Called as an edit enters a stage."""
        if self._job is not None:
            self._job.progress.enter(stage, progress)
            self._check()

    def _check(self) -> None:
        """Stop here if the job, or the worker, shall stop."""
        job = self._job
        if job is not None and job.progress.lost:
            raise LeaseLostError()
        cancelled = job is not None and job.progress.cancelled
        if cancelled or self.stopping:
            raise JobInterrupt(cancelled=cancelled)

    def _state(self) -> State:
        job = self._job
        return State() if job is None else job.progress.state

    def _heard(self, lease: Lease, lost: bool, cancel: bool) -> None:
        """Called by the heartbeat."""
        job = self._job
        if job is not None and job.progress.lease is lease:
            job.progress.lost, job.progress.cancelled = lost, cancel or job.progress.cancelled

    def _tick(self) -> None:
        """Called by the heartbeat's thread a few times a second: end a job that does not stop."""
        if self.stopping:
            self.wake.set()
        job = self._job
        if job is None or not (self.stopping or job.progress.cancelled or job.progress.lost):
            self._stop_since = None
            return
        self._stop_since = self._stop_since or time.monotonic()
        if time.monotonic() - self._stop_since > self.settings.stop_grace_s:
            log.error("the job has not stopped after %s s: exiting", self.settings.stop_grace_s)
            database = self.runtime.open_database
            with suppress(Exception):
                if database is not None and not job.progress.lease.ended:
                    recovery.release(database, self.kinds, job.progress.lease)
            logging.shutdown()
            os._exit(STUCK)
