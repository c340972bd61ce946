"""`thinkeval` with workers that stay in the stages that a test names.

A script: `support.serving` starts it in place of the program. The environment variable `HOLD` names
a file with one stage a line; a worker that enters one of them stays as long as the file says so.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from thinkeval.service import worker
from thinkeval.service.cli import main
from thinkeval.service.engines.executor import STARTING, Executor
from thinkeval.service.experiments.job import Job
from thinkeval.service.scoring.runtime import Runtime

HOLD = "HELD_STAGES"


class HoldingExecutor(Executor):
    """An executor that waits before a job, and wherever the job reports its progress."""

    def _run(self, job: Job) -> Any:
        run, enter, update = job.run, job.progress.enter, job.progress.update

        def held_run(runtime: Runtime) -> Any:
            self._hold(STARTING)
            return run(runtime)

        def held_enter(stage: str, reached: float, upto: float | None = None) -> None:
            enter(stage, reached, upto)
            self._hold(stage)

        def held_update(done: int, total: int, stage: str) -> None:
            update(done, total, stage)
            self._hold(stage)

        job.run = held_run
        job.progress.enter, job.progress.update = held_enter, held_update
        return super()._run(job)

    def _hold(self, stage: str) -> None:
        while stage in _named():
            self._check()
            time.sleep(0.02)


def _named() -> list[str]:
    try:
        return Path(os.environ[HOLD]).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []


_make = worker.make_executor


def make_executor(threads: int | None) -> Executor:
    """Make an executor; stands for `thinkeval.service.worker.make_executor`."""
    worker.Executor = HoldingExecutor
    return _make(threads)


if __name__ == "__main__":
    worker.make_executor = make_executor
    main.main()
