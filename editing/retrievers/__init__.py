"""Retrievers: similarity of demonstrations to a new fact; one file each, found by name.

A retriever is a module (or object) with `similarities(query, texts, *, seed) -> list[float]`, one
number per text, higher for more similar. Another package adds one by an entry point of the group
`thinkeval.retrievers`. Importing this package imports no torch.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from ..errors import HparamsError

GROUP = "thinkeval.retrievers"
"""Entry point group of retrievers in other packages."""


def names() -> tuple[str, ...]:
    """All retrievers, sorted. Built-in ones take precedence over entry points of the same name."""
    return tuple(sorted({*_built_in(), *_entry_points()}))


def get(name: str) -> Any:
    """The retriever with the given name.

    Raises:
        HparamsError: there is no such retriever, or the target of its entry point cannot be
            imported or is not a retriever.
    """
    if name in _built_in():
        return importlib.import_module(f"{__name__}.{name}")
    point = _entry_points().get(name)
    if point is None:
        close = difflib.get_close_matches(name, names(), n=1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        raise HparamsError(
            f"there is no retriever '{name}'{hint}", remedy=f"There are {', '.join(names())}."
        )
    try:
        found = point.load()
    except Exception as error:  # importing another package may raise any exception
        raise _broken(point, f"cannot be imported ({error!r})") from error
    if not hasattr(found, "similarities"):
        raise _broken(point, "has no similarities")
    return found


def _built_in() -> set[str]:
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return {name for name in found if not name.startswith("_")}


def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _broken(point: EntryPoint, problem: str) -> HparamsError:
    return HparamsError(
        f"the retriever '{point.name}' of the entry point '{point.value}' {problem}",
        remedy="Repair or uninstall the package that declares it.",
    )
