"""Interruption of long loops by the caller, between two steps.

A loop of many steps calls `check()` once each; a worker that shall stop its job raises there, from
ordinary code, so that `finally` blocks take every change off the model, as for any error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_check: ContextVar[Callable[[], None] | None] = ContextVar("interruption", default=None)


def check() -> None:
    """Raise if the work shall stop."""
    asked = _check.get()
    if asked is not None:
        asked()


@contextmanager
def checked(asked: Callable[[], None]) -> Iterator[None]:
    """Let `check` call this within the block, in this thread, after that of a block around it."""
    outer = _check.get()

    def both() -> None:
        if outer is not None:
            outer()
        asked()

    before = _check.set(both)
    try:
        yield
    finally:
        _check.reset(before)
