"""The worker: takes work from the queue, does it, keeps the model loaded in between.

A process of its own, so that the service answers while a model computes, and so that killing it
harms nothing: the record of an edit or a job is in the database, and what a dead worker was at goes
back into the queue (`service.jobs.recovery`). Any number of workers may share a queue, on any
machines.

    claim → do → claim ...     in the main thread: edits (`service.jobs.edit_job`) and runs of the
                               protocol (`service.depedit.job`), by the order they were posted in
    beat                       in `service.jobs.heartbeat`: says how far it is, hears "stop"
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from types import FrameType

from thinkeval.cypher.errors import GraphError, ServerUnavailableError
from thinkeval.service import logs
from thinkeval.service.depedit import job
from thinkeval.service.errors import KNOWN_ERRORS, JobInterrupt, describe
from thinkeval.service.jobs import edit_job, recovery
from thinkeval.service.jobs.edit_job import Work
from thinkeval.service.jobs.heartbeat import Beat, Task
from thinkeval.service.process import this_process
from thinkeval.service.scoring.runtime import Runtime
from thinkeval.service.settings import Settings

log = logging.getLogger("thinkeval.worker")

IDLE_S = 2.0
"""How often an idle worker looks for work that nobody woke it for (posted on another machine)."""
RETRY_S = (0.5, 1.0, 2.0, 5.0)
"""Pauses before the database is tried again; the last one is repeated."""
NICENESS = 5
"""The service, the database and the user's own programs come first."""


class Worker:
    """One worker; `run` returns when it is told to stop.

    Attributes:
        wake: set when there may be something to do.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.owner = this_process()
        self.wake = threading.Event()
        self.stopping = False
        self.task: Task | None = None
        self._affinity: str | None = None
        self._failures = 0
        self.runtime = Runtime(settings, self._progress)
        self.runtime.interrupted = self._was_interrupted
        self.beat = Beat(self)

    def run(self) -> None:
        """Work until told to stop; what is under way then goes back into the queue."""
        self._listen()
        log.info("worker %s is ready", self.owner)
        with self.runtime, self.beat:
            while not self.stopping:
                try:
                    busy = self._turn()
                    self._failures = 0
                except JobInterrupt:
                    continue  # between two pieces of work: told to stop
                except GraphError as error:
                    self._pause(error)
                    continue
                if not busy:
                    self.wake.wait(IDLE_S)
                    self.wake.clear()
        log.info("worker %s has ended", self.owner)

    def stop(self) -> None:
        """End soon; may be called from any thread."""
        self.stopping = True
        self.wake.set()
        self.interrupt()

    def interrupt(self) -> None:
        """Make the main thread look whether it shall go on; may be called from any thread."""
        os.kill(os.getpid(), signal.SIGUSR1)

    def _listen(self) -> None:
        signal.signal(signal.SIGUSR1, self._look)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._told_to_end)

    def _told_to_end(self, number: int, frame: FrameType | None) -> None:
        self.stopping = True
        self.wake.set()
        self._look(number, frame)

    def _look(self, number: int, frame: FrameType | None) -> None:
        """Runs in the main thread between two steps; raises only while work is done."""
        task = self.task
        if task is not None and (task.cancelled or self.stopping) and task.may_be_interrupted():
            raise JobInterrupt(cancelled=task.cancelled)

    def _was_interrupted(self) -> bool:
        return self.task is not None and self.task.was_interrupted

    def _turn(self) -> bool:
        """Do the next work; False where there is none."""
        db = self.runtime.db
        # What is recorded as ours while we are at nothing is lost too: the database was away.
        recovery.recover(db, idle=self.owner)
        # A job says whether it is its turn or an edit's, so it is asked first.
        work: Work | None = job.claim(db, self.owner, self._affinity)
        work = work or edit_job.claim(db, self.owner, self._affinity)
        if work is None:
            return False
        if self._affinity not in (None, work.affinity):
            self.runtime.forget_models()
        self._affinity = work.affinity
        self.runtime.trim()
        self._work(work)
        return True

    def _work(self, work: Work) -> None:
        started = time.monotonic()
        log.info("%s: begun", work.name)
        self.runtime.reached = 0.0
        try:
            self.task = work.task
            work.do(self.runtime)
            self.task = None
        except JobInterrupt as told:
            self.task = None
            self._interrupted(work, told)
        except Exception as error:
            task, self.task = self.task, None
            if task is not None and task.was_interrupted:
                # Raised within the database's driver, say, it comes out as an error of the driver.
                self._interrupted(work, JobInterrupt(cancelled=task.cancelled))
            elif isinstance(error, ServerUnavailableError):
                raise
            else:
                self._failed(work, error)
        else:
            log.info("%s: done in %.1f s", work.name, time.monotonic() - started)

    def _failed(self, work: Work, error: Exception) -> None:
        if isinstance(error, KNOWN_ERRORS):
            log.warning("%s: failed: %s", work.name, describe(error).detail)
        else:
            log.error("%s: failed", work.name, exc_info=error)
            self.runtime.forget_models()  # nobody knows in what state it left the model
        work.failed(self.runtime.db, error)

    def _interrupted(self, work: Work, told: JobInterrupt) -> None:
        """The exception may have come anywhere, so nothing loaded is trusted afterwards."""
        log.info("%s: %s", work.name, told)
        with self.beat.paused():
            self.runtime.forget()
        work.release(self.runtime.db, self.owner)

    def _pause(self, error: GraphError) -> None:
        """The database is away: connect anew, which starts an embedded one, after a while."""
        pause = RETRY_S[min(self._failures, len(RETRY_S) - 1)]
        self._failures += 1
        log.warning("the database is away, trying again in %s s: %s", pause, error.detail)
        with self.beat.paused():
            self.runtime.forget_database()
        self.wake.wait(pause)
        self.wake.clear()

    def _progress(self, done: int, total: int, stage: str) -> None:
        """Called between two batches: what the signal could not stop, stops here."""
        task = self.task
        if task is None:
            return
        task.progress(done, total, stage, self.runtime.reached)
        if task.cancelled or self.stopping:
            task.interrupt()
            raise JobInterrupt(cancelled=task.cancelled)


def serve_parent(worker: Worker) -> None:
    """Listen to the service that started us: a line wakes, the end of the stream ends us.

    The stream ends however the service ended, so no worker outlives it.
    """

    def listen() -> None:
        for _ in sys.stdin:
            worker.wake.set()
        worker.stop()

    threading.Thread(target=listen, name="parent", daemon=True).start()


def main(settings: Settings | None = None, *, child: bool = False) -> None:
    """Run a worker in this process until it is told to stop."""
    logs.set_up()
    os.nice(NICENESS)
    worker = Worker(settings or Settings())
    if child:
        serve_parent(worker)
    worker.run()


if __name__ == "__main__":
    main(child="--child" in sys.argv)
