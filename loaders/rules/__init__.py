"""Rules that ship with the package, in the format of `loaders/rules_yaml.py`.

A file has the name of the graph of `loaders/graphs` that its rules are about.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def names() -> tuple[str, ...]:
    """Names of the graphs with bundled rules."""
    files = resources.files(__name__).iterdir()
    return tuple(sorted(f.name.removesuffix(".yaml") for f in files if f.name.endswith(".yaml")))


def path(name: str) -> Path | None:
    """Path of the rules of a bundled graph; None if it has none."""
    return Path(str(resources.files(__name__) / f"{name}.yaml")) if name in names() else None
