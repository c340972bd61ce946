"""Graphs that ship with the package, in the format of `loaders/graph_yaml.py`."""

from __future__ import annotations

import difflib
from importlib import resources
from pathlib import Path

from ..errors import UnreadableFileError


def names() -> tuple[str, ...]:
    """Names of the bundled graphs."""
    files = resources.files(__name__).iterdir()
    return tuple(sorted(f.name.removesuffix(".yaml") for f in files if f.name.endswith(".yaml")))


def path(name: str) -> Path:
    """Path of a bundled graph (the package is always installed unpacked).

    Raises:
        UnreadableFileError: there is no graph of that name.
    """
    if name not in names():
        near = difflib.get_close_matches(name, names(), n=1)
        meant = f"Did you mean '{near[0]}'? " if near else ""
        raise UnreadableFileError(
            f"no graph '{name}' ships with the package",
            remedy=f"{meant}There are: {', '.join(names())}.",
        )
    return Path(str(resources.files(__name__) / f"{name}.yaml"))
