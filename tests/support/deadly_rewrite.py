"""An executor of a sweep that a job of one rewrite kills."""

from __future__ import annotations

import os
import signal
from typing import Any

from thinkeval.service.base.settings import Settings
from thinkeval.service.engines.executor import Executor
from thinkeval.service.engines.pool import make_executor
from thinkeval.service.experiments.recovery import Kinds


class Deadly:
    """Makes such executors, in any process.

    Args:
        rewrite: id of the rewrite.
    """

    def __init__(self, rewrite: str) -> None:
        self.rewrite = rewrite

    def __call__(self, kinds: Kinds, settings: Settings, threads: int) -> Executor:
        made = make_executor(kinds, settings, threads)
        run = made.run

        def fatal(row: Any, lease: Any) -> Any:
            if row.cells[0].rewrite.id == self.rewrite:
                os.kill(os.getpid(), signal.SIGKILL)
            return run(row, lease)

        made.run = fatal  # type: ignore[method-assign]
        return made
