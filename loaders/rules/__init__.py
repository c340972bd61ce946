"""Rules that ship with the package, in the format of `loaders/rules_yaml.py`.

A file is named after the graph of `loaders/graphs` that its rules speak of.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def names() -> tuple[str, ...]:
    """The graphs that rules ship for, by name."""
    files = resources.files(__name__).iterdir()
    return tuple(sorted(f.name.removesuffix(".yaml") for f in files if f.name.endswith(".yaml")))


def path(name: str) -> Path | None:
    """Where the rules of a bundled graph lie; None where none ship for it."""
    return Path(str(resources.files(__name__) / f"{name}.yaml")) if name in names() else None
