"""Frequency of Python's garbage collector in the program and in its workers."""

from __future__ import annotations

import atexit
import gc
import logging
import multiprocessing
import os
import sys

THRESHOLDS = (20_000, 20, 20)
"""Python's own are (700, 10, 10). Importing torch and transformers makes some million objects that
live as long as the process, and each run looks at them: a tenth of the processor time of a start
(4.8 against 4.3 s for importing transformers' GPT-2)."""


def collect_seldom() -> None:
    """Run the collector less often from now on, in this process; objects in cycles live longer."""
    gc.set_threshold(*THRESHOLDS)


class LastExit:
    """The end of the program, without the collection that Python ends a process with.

    With torch imported that takes a second after everything is done, before a shell prompts again.
    A function registered at exit after this object was made runs as usual.

    Attributes:
        code: the exit code; while it is None, the process ends as Python ends it.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        atexit.register(self._leave)

    def _leave(self) -> None:
        if self.code is None or "torch" not in sys.modules or multiprocessing.active_children():
            return
        logging.shutdown()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:  # Python reports it
            return
        os._exit(self.code)
