"""Leaves pandas and pyarrow out of the Neo4j driver, in our own programs.

The driver imports both where they are installed, to accept their types as parameters. None of ours
are, and it takes half a second of each command. In other programs, such as a notebook, the driver
is imported as it is: users may send it tables.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_LIBRARIES = ("pandas", "pyarrow")
_left_out: list[str] = []


def leave_out_tables() -> None:
    """To be called before the driver is imported, by a program that sends it no tables."""
    _left_out[:] = _LIBRARIES


@contextmanager
def tables_left_out() -> Iterator[None]:
    """Imports of the libraries that are left out fail within the block, unless they are loaded."""
    hidden = [name for name in _left_out if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
