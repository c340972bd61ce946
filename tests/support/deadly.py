"""Executors of a command's jobs that one job kills, each time or once."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkeval.service.base.settings import Settings
from thinkeval.service.engines.executor import Executor
from thinkeval.service.engines.pool import make_executor
from thinkeval.service.experiments.recovery import Kinds


@dataclass(frozen=True)
class Deadly:
    """Makes such executors, in any process; stands for `pool.make_executor`.

    Attributes:
        job: id of the job.
        mark: a file that is made as it kills, and keeps it from killing again; None: it kills each.
    """

    job: str
    mark: Path | None = None

    def __call__(self, kinds: Kinds, settings: Settings, threads: int) -> Executor:
        made = make_executor(kinds, settings, threads)
        run = made.run

        def fatal(row: Any, lease: Any) -> Any:
            if row.id == self.job and not (self.mark and self.mark.exists()):
                if self.mark is not None:
                    self.mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return run(row, lease)

        made.run = fatal  # type: ignore[method-assign]
        return made
