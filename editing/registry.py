"""Registry of editing methods: built-in files by name, other packages by entry point.

`names` and `info` read a method's source without importing it: the methods import torch, and
listing them should not take seconds. `get` imports the method. `editing.methods` documents what a
method must define.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import threading
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from .errors import UnknownMethodError

GROUP = "thinkeval.methods"
"""Entry point group of methods in other packages."""

REQUIRED = ("NAME", "PAPER", "KIND", "HyperParams", "execute")
"""Attributes that every method must define."""

BUILT_IN = "thinkeval.editing.methods"
"""Package of the built-in methods, one file each."""

OF_BUILT_IN = "thinkeval.editing.hparams.of"
"""Package of their hyperparameters."""

_PARSING = threading.Lock()


@dataclass(frozen=True, slots=True)
class MethodInfo:
    """Summary of a method, as lists of methods show it.

    Attributes:
        name: registry key.
        paper: authors, title and venue.
        kind: `weights`, `prompt` or `control`.
        doc: first paragraph of the file's docstring, on one line.
        origin: `built in`, or the entry point's target.
    """

    name: str
    paper: str
    kind: str
    doc: str
    origin: str


def names() -> tuple[str, ...]:
    """All methods, sorted. A built-in method takes precedence over an entry point of its name."""
    return tuple(sorted({*_built_in(), *_entry_points()}))


def get(name: str) -> Any:
    """The method with the given name; imports its module, and with it torch.

    Raises:
        UnknownMethodError: there is no such method (the message suggests the nearest name), or the
            target of its entry point cannot be imported or is not a method.
    """
    if name in _built_in():
        return importlib.import_module(f"{BUILT_IN}.{name}")
    point = _entry_points().get(name) or _unknown(name)
    try:
        method = point.load()
    except Exception as error:  # importing another package may raise any exception
        raise _broken(point, f"cannot be imported ({error!r})") from error
    absent = [attribute for attribute in REQUIRED if not hasattr(method, attribute)]
    if absent:
        raise _broken(point, f"has no {', '.join(absent)}")
    return method


def hyperparams(name: str) -> Any:
    """The class of a method's hyperparameters; that of a built-in method is found without torch.

    Raises:
        UnknownMethodError: as `get`.
    """
    if name in _built_in() and importlib.util.find_spec(f"{OF_BUILT_IN}.{name}"):
        return importlib.import_module(f"{OF_BUILT_IN}.{name}").HyperParams
    return get(name).HyperParams


def is_built_in(name: str) -> bool:
    """Return True of a method of this package."""
    return name in _built_in()


def info(name: str) -> MethodInfo:
    """Name, paper, kind and summary of a method, read from its source without importing it.

    Raises:
        UnknownMethodError: there is no such method.
    """
    if name in _built_in():
        source, origin = _built_in()[name], "built in"
    else:
        point = _entry_points().get(name) or _unknown(name)
        source, origin = _source_of(point), point.value
    constants, doc = _header(source) if source else ({}, "")
    return MethodInfo(
        name=name,
        paper=constants.get("PAPER", ""),
        kind=constants.get("KIND", ""),
        doc=doc,
        origin=origin,
    )


def takes_objective(name: str) -> bool:
    """Return True if a method's `execute` takes an objective; built-in ones need no torch.

    Raises:
        UnknownMethodError: there is no such method.
    """
    return _declares(name, "TAKES_OBJECTIVE")


def trains_app(name: str) -> bool:
    """Return True if a method is trained with APP's margin (`app_alpha`); as `takes_objective`."""
    return _declares(name, "TRAINS_APP")


def writes_at_subject(name: str) -> bool:
    """Return True if an update is keyed by the subject's last token; as `takes_objective`.

    Such a method cannot edit facts of one key to different values in one batch.
    """
    return _declares(name, "WRITES_AT_SUBJECT")


def solves_with_covariance(name: str) -> bool:
    """Return True if a method's update has the inverse of C; as `takes_objective`."""
    return _declares(name, "SOLVES_WITH_COVARIANCE")


def forgets(name: str) -> bool:
    """Return True if a method makes a model forget target_true, and installs no other answer.

    As `takes_objective`.
    """
    return _declares(name, "FORGETS")


def _declares(name: str, constant: str) -> bool:
    """Return True if the method has this constant and its value is True."""
    if name in _built_in():
        return _header(_built_in()[name])[0].get(constant) == "True"
    return bool(getattr(get(name), constant, False))


def covariance_layers(method: Any, hparams: Any) -> tuple[int, ...]:
    """Layers whose covariance statistics the method needs with these hyperparameters; may be ()."""
    layers = getattr(method, "covariance_layers", None)
    return tuple(layers(hparams)) if layers else ()


def _built_in() -> dict[str, Path]:
    folder = Path(__file__).parent / "methods"
    return {path.stem: path for path in folder.glob("*.py") if not path.stem.startswith("_")}


def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _unknown(name: str) -> Any:
    close = difflib.get_close_matches(name, names(), n=1, cutoff=0.5)
    hint = f"; did you mean '{close[0]}'?" if close else f"; there are {', '.join(names())}"
    raise UnknownMethodError(f"there is no editing method '{name}'{hint}")


def _broken(point: EntryPoint, problem: str) -> UnknownMethodError:
    return UnknownMethodError(
        f"the method '{point.name}' of the entry point '{point.value}' {problem}",
        remedy="Repair or uninstall the package that declares it.",
    )


def _source_of(point: EntryPoint) -> Path | None:
    try:
        found = importlib.util.find_spec(point.module)
    except ImportError:
        return None
    return Path(found.origin) if found and found.origin and found.has_location else None


def _header(path: Path) -> tuple[dict[str, str], str]:
    """`_read_header` under a lock; each file is read once."""
    # Python 3.11's parser raises SystemError when two threads parse at the same time, which the
    # threads of a server do.
    with _PARSING:
        return _read_header(path)


@cache
def _read_header(path: Path) -> tuple[dict[str, str], str]:
    """Texts and truth values at the top level of a file, and its docstring's first paragraph."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            value = node.value.value
            if isinstance(value, str | bool):
                targets = [t.id for t in node.targets if isinstance(t, ast.Name)]
                constants.update(dict.fromkeys(targets, str(value)))
    paragraph = (ast.get_docstring(tree) or "").split("\n\n")[0]
    return constants, " ".join(paragraph.split())
