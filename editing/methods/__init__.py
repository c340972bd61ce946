"""The editing methods: one file each, found by its name; other packages add theirs.

A method is a module (or object) with the attributes `NAME`, `PAPER`, `KIND`, `HyperParams` and
`execute(model, tokenizer, requests, hparams, covariance, *, context_templates=None, targets=None,
state=None, seed=0) -> EditEffect`, and where it needs statistics, `covariance_layers(hparams)`.
A package outside adds one by an entry point of the group `thinkeval.methods` that names such a
module.

`names` and `info` read the files without importing them: the methods import torch, and a list of
methods should not cost seconds.
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

from thinkeval.editing.errors import UnknownMethodError

GROUP = "thinkeval.methods"
"""Entry point group of methods in other packages."""

REQUIRED = ("NAME", "PAPER", "KIND", "HyperParams", "execute")
"""What a method must have."""

_PARSING = threading.Lock()


@dataclass(frozen=True, slots=True)
class MethodInfo:
    """What a list of methods shows.

    Attributes:
        name: the key.
        paper: who published it, where.
        kind: `weights`, `prompt` or `control`.
        doc: the first paragraph of the file's docstring, on one line.
        origin: `built in`, or the entry point's target.
    """

    name: str
    paper: str
    kind: str
    doc: str
    origin: str


def names() -> tuple[str, ...]:
    """All methods, sorted. A built-in method wins over an entry point of the same name."""
    return tuple(sorted({*_built_in(), *_entry_points()}))


def get(name: str) -> Any:
    """The method of that name; imports its file, and with it torch.

    Raises:
        UnknownMethodError: there is none (the nearest name is in the message), or what an entry
            point names cannot be imported or is no method.
    """
    if name in _built_in():
        return importlib.import_module(f"{__name__}.{name}")
    point = _entry_points().get(name) or _unknown(name)
    try:
        method = point.load()
    except Exception as error:  # anything may go wrong in another package's import
        raise _broken(point, f"cannot be imported ({error!r})") from error
    absent = [attribute for attribute in REQUIRED if not hasattr(method, attribute)]
    if absent:
        raise _broken(point, f"has no {', '.join(absent)}")
    return method


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


def covariance_layers(method: Any, hparams: Any) -> tuple[int, ...]:
    """The layers whose covariance the method needs with these hyperparameters; () for none."""
    ask = getattr(method, "covariance_layers", None)
    return tuple(ask(hparams)) if ask else ()


def _built_in() -> dict[str, Path]:
    folder = Path(__file__).parent
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
    """As `_read_header`; each file is read once."""
    # Python 3.11's parser raises SystemError when two threads parse at the same moment, as the
    # threads of a service do.
    with _PARSING:
        return _read_header(path)


@cache
def _read_header(path: Path) -> tuple[dict[str, str], str]:
    """The string constants at the top level of a file, and its docstring's first paragraph."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            value = node.value.value
            if isinstance(value, str):
                constants.update({t.id: value for t in node.targets if isinstance(t, ast.Name)})
    paragraph = (ast.get_docstring(tree) or "").split("\n\n")[0]
    return constants, " ".join(paragraph.split())
