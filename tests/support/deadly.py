"""Executors of a command's tasks that one task kills, each time or once."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkeval.service.base.settings import Settings
from thinkeval.service.engines.executor import Executor
from thinkeval.service.engines.pool import make_executor


@dataclass(frozen=True)
class Deadly:
    """Makes such executors, in any process; stands for `pool.make_executor`.

    Attributes:
        task: place of the task, as text.
        mark: a file that is made as it kills, and keeps it from killing again; None: it kills each.
    """

    task: str
    mark: Path | None = None

    def __call__(self, settings: Settings, threads: int) -> Executor:
        made = make_executor(settings, threads)
        run = made.run

        def fatal(row: Any, lease: Any) -> Any:
            if row.id == self.task and not (self.mark and self.mark.exists()):
                if self.mark is not None:
                    self.mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return run(row, lease)

        made.run = fatal  # type: ignore[method-assign]
        return made
