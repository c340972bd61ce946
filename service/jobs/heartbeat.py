"""The second thread of a worker: says that it lives and how far it is, and hears "stop".

Twice a second while an edit is scored, every five seconds otherwise.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.cypher.errors import GraphError

if TYPE_CHECKING:
    from thinkeval.service.jobs.worker import Worker

BUSY_S = 0.5
QUIET_S = 5.0
AGAIN_S = 5.0
"""After which an edit that shall stop, and did not, is interrupted once more."""

_NEXT = {0.0: 0.1, 0.1: 0.4, 0.4: 0.6, 0.6: 0.9, 0.9: 1.0}
"""How far an edit is when the stage that begins there ends."""


class Task:
    """The edit under way, or the job, as the two threads share it."""

    def __init__(self) -> None:
        self.cancelled = False
        self._interrupted_at: float | None = None
        self.told: tuple[str, float] | None = None

    @property
    def was_interrupted(self) -> bool:
        """Whether it was told to stop; what is raised afterwards may be a library's own error."""
        return self._interrupted_at is not None

    def may_be_interrupted(self) -> bool:
        """Whether to raise now: not while the exception raised a moment ago makes its way up.

        Python drops one that comes while an object is being deleted, so it is raised again.
        """
        now = time.monotonic()
        if self._interrupted_at is not None and now - self._interrupted_at < AGAIN_S:
            return False
        self.interrupt()
        return True

    def interrupt(self) -> None:
        """Note that it was told to stop just now."""
        self._interrupted_at = time.monotonic()

    def progress(self, done: int, total: int, stage: str, reached: float) -> None:
        """Note how far a stage of an edit is: words and a number from 0 to 1."""
        part = min(done / total, 1.0) if total > 0 else 0.0
        counted = f"{stage} ({done} of {total})" if total > 1 else stage
        self.told = (counted, reached + part * (_NEXT.get(reached, reached) - reached))


class Beat:
    """A context manager: the thread lives as long as the block."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._end = threading.Event()
        self._hands_off = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="beat", daemon=True)

    def __enter__(self) -> Beat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        with suppress(GraphError):
            self._worker.runtime.db.write(rows.ForgetWorkerRow, owner=self._worker.owner)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No beat while the block runs: the database is exchanged."""
        with self._hands_off:
            yield

    def _run(self) -> None:
        quiet, was_busy = QUIET_S, False
        while not self._end.wait(BUSY_S):
            task = self._worker.task
            quiet += BUSY_S
            # While an edit is scored we ask each time, as the answer may be "stop".
            if task is not None or was_busy or quiet >= QUIET_S:
                quiet, was_busy = 0.0, task is not None
                self._beat(task)

    def _beat(self, task: Task | None) -> None:
        worker = self._worker
        with self._hands_off:
            db = worker.runtime.open_database
            if db is None:
                return
            stage, progress = (task.told if task else None) or (None, None)
            try:
                # The edit may have got its final id meanwhile: it is ours alone, so ask by owner.
                heard = db.write(
                    rows.BeatRow,
                    owner=worker.owner,
                    device=worker.settings.device,
                    busy=task is not None,
                    stage=stage,
                    progress=progress,
                )
            except GraphError:
                return  # the main thread notices by itself
        if task is not None and (heard[0].cancel or worker.stopping):
            task.cancelled = heard[0].cancel
            worker.interrupt()
