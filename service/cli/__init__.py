"""The command line: one file a group of commands; `main` assembles them, `run` is the program."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType

from .codes import INTERRUPTED

INTERRUPTED_TEXT = (
    "Interrupted: the model is as it was, and no partial graph is stored. Run it again: what is"
    " stored is not done again."
)


def run() -> None:
    """Run the program; Ctrl-C ends it with one line and with 130, whenever it comes.

    Before the commands are imported, and after the end of the one that was asked for, there is
    nothing to undo: the process ends at once. In between, `main` and the command see to it.
    """
    _end_at_interrupts()
    try:
        from .main import main

        try:
            main()
        finally:
            with suppress(OSError, ValueError):
                sys.stdout.flush()
            _end_at_interrupts()
    except KeyboardInterrupt:  # between the lines of `main`, such as where it prints an error
        _end()


def _end_at_interrupts() -> None:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _end)


def _end(number: int = 0, frame: FrameType | None = None) -> None:
    """End the process without Python's own end, which prints a traceback where it is stopped."""
    with suppress(OSError):
        os.write(2, f"{INTERRUPTED_TEXT}\n".encode())
    os._exit(INTERRUPTED)
