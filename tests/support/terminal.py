"""A terminal that tests read: a pseudo-terminal whose other end is a screen of `pyte`."""

from __future__ import annotations

import contextlib
import os
import pty
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pyte
import pytest

ROWS = 40


@contextmanager
def on_terminal(width: int) -> Iterator[list[str]]:
    """Standard output and error on a terminal; the list has its lines after the block.

    Lines that were scrolled away are among them; those that were erased or overwritten are not.
    """
    screen = pyte.HistoryScreen(width, ROWS, history=10_000, ratio=1)
    shown = pyte.ByteStream(screen)
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (ROWS, width))

    def read() -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(ours, 65536):
                shown.feed(part)

    reader = Thread(target=read)
    reader.start()
    lines: list[str] = []
    try:
        with (
            open(os.dup(theirs), "w", encoding="utf-8", newline="") as out,
            open(os.dup(theirs), "w", encoding="utf-8", newline="") as err,
            pytest.MonkeyPatch.context() as patch,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            for name, value in (("TERM", "xterm-256color"), ("COLUMNS", width), ("LINES", ROWS)):
                patch.setenv(name, str(value))
            yield lines
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)
    scrolled = ["".join(row[x].data for x in range(width)) for row in screen.history.top]
    lines += [line.rstrip() for line in (*scrolled, *screen.display)]
