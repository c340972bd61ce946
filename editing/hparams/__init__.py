"""Hyperparameter files: `<method>/<model>.json`, with the key names of the papers' code.

A file of EasyEdit or of AlphaEdit's code is read as it is (`published.py`).

`names.json` maps models to files, by hub name or by their `config.json`. To add a model, add a file
per method and a line in `names.json`. Importing this package imports no torch.
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from .. import registry
from ..errors import HparamsError
from . import published
from .published import method_of
from .schema import Schema, ranged, read_json, require
from .yaml_file import read_yaml

__all__ = [
    "FILES",
    "Entry",
    "Schema",
    "available",
    "described",
    "entries",
    "file_for",
    "from_values",
    "load",
    "method_of",
    "missing",
    "read",
    "read_json",
    "require",
    "stored",
    "unused",
    "without_file",
]

FILES = (".json", ".yaml", ".yml")
"""Endings of files of hyperparameters."""


def load(method: str, model: str | Path, overrides: Mapping[str, Any] | None = None) -> Schema:
    """The hyperparameters of a method for a model.

    `service.scoring.hyperparameters.chosen` also finds those of a model without a file.

    Args:
        method: a name of `editing.registry.names()`.
        model: a hub name, a folder with `config.json`, or a `.json` or `.yaml` file of
            hyperparameters.
        overrides: keys that replace the file's. A method without files (an external method, a
            control) uses its defaults.

    Returns:
        The method's own `HyperParams`.

    Raises:
        UnknownMethodError: no such method.
        HparamsError: no file for the model, or a key that is unknown, missing or of a wrong type.
    """
    values, source = stored(method, model)
    return from_values(method, values, overrides, source=source)


def stored(method: str, model: str | Path) -> tuple[dict[str, Any], str]:
    """The keys and values of the file that `load` reads, and its name.

    Raises:
        UnknownMethodError, HparamsError: as `load`.
    """
    path = Path(model).expanduser()
    if path.suffix in FILES:
        return read(path), str(path)
    if not available(method):
        return {}, f"defaults of '{method}'"
    name = file_for(method, model)
    found = files(__name__) / method / f"{name}.json"
    return json.loads(found.read_text(encoding="utf-8")), f"{method}/{name}.json"


def read(path: Path) -> dict[str, Any]:
    """The keys and values of a `.json` or `.yaml` file.

    Raises:
        HparamsError: it cannot be read.
    """
    return read_json(path) if path.suffix == ".json" else read_yaml(path)


def from_values(
    method: str, values: Mapping[str, Any], overrides: Mapping[str, Any] | None, *, source: str
) -> Schema:
    """A method's `HyperParams` from values, of which some are replaced.

    Args:
        source: names the values in an error.

    Raises:
        HparamsError: a key is unknown, missing or of a wrong type.
    """
    kind, given = registry.hyperparams(method), overrides or {}
    values = published.kept(method, values, keys_of(kind), source=source)
    replaced = {key for keys in kind.ALTERNATIVES if set(keys) & set(given) for key in keys}
    kept = {key: value for key, value in values.items() if key not in replaced}
    return kind.from_dict({**kept, **given}, source=source)


def unused(method: str, values: Mapping[str, Any], *, source: str) -> str | None:
    """Return the keys of a file that have no meaning here, with the reasons; None if none has."""
    return published.notice(values, keys_of(registry.hyperparams(method)), source=source)


def keys_of(kind: type[Schema]) -> set[str]:
    """The keys of a class of hyperparameters."""
    return {item.name for item in fields(kind)}


@dataclass(frozen=True, slots=True)
class Entry:
    """One hyperparameter, for people.

    Attributes:
        type: its annotation, such as `float`.
        default: such as `default 0.05`, `required`, or `one of v_lr, v_step`.
        meaning: its entry under `Attributes:` of the class or of a base; "" without one.
    """

    type: str
    default: str
    meaning: str


def entries(method: str) -> dict[str, Entry]:
    """The hyperparameters of a method by key, in order."""
    kind = registry.hyperparams(method)
    meanings = _meanings(kind)
    found = {}
    for item in fields(kind):
        default = "required" if item.default is MISSING else f"default {item.default!r}"
        if item.default_factory is not MISSING:
            default = f"default {item.default_factory()!r}"
        for keys in kind.ALTERNATIVES:
            if item.name in keys:
                default = f"one of {', '.join(keys)}"
        if (bounds := kind.bounds().get(item.name)) is not None:
            default += f", {ranged(bounds)}"
        found[item.name] = Entry(str(item.type), default, meanings.get(item.name, ""))
    return found


def described(method: str) -> str:
    """The hyperparameters of a method, one line per key."""
    lines = ["Hyperparameters:"]
    for key, entry in entries(method).items():
        lines.append(f"  {key} ({entry.default}){': ' + entry.meaning if entry.meaning else ''}")
    return "\n".join(lines)


def file_for(method: str, model: str | Path) -> str:
    """The name of the model's file of a method, without `.json`.

    Raises:
        HparamsError: the model is not in `names.json`, or the method has no file for it.
    """
    name = short_name(model)
    if name is None or name not in available(method):
        raise missing([method], model)
    return name


def without_file(methods: Iterable[str], model: str | Path) -> list[str]:
    """Those of the methods that need a file of hyperparameters and have none for the model."""
    name = short_name(model)
    needed = {method: available(method) for method in methods}
    return [method for method, have in needed.items() if have and name not in have]


def missing(methods: Sequence[str], model: str | Path) -> HparamsError:
    """The error for methods without hyperparameters for a model: one for all of them."""
    have = sorted({name for method in methods for name in available(method)})
    close = difflib.get_close_matches(Path(model).name.lower(), have, n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    first, *others = methods
    name = f"{first}.yaml" if others else "FILE.yaml"
    more = f" (likewise for {', '.join(others)})" if others else ""
    passed = "Pass each method's own file with --hparams." if others else "Pass it with --hparams."
    return HparamsError(
        f"there are no hyperparameters of {', '.join(repr(each) for each in methods)} for the "
        f"model '{model}'; there are for {', '.join(have) or 'no model'}.{hint}",
        remedy=f"`thinkeval model hparams suggest {model} -m {first} -o {name}` writes a starting "
        f"point{more}; or write a file with the keys of `thinkeval model methods {first}`."
        f" {passed}",
    )


def available(method: str) -> tuple[str, ...]:
    """Models for which the method has a file, sorted."""
    folder = files(__name__) / method
    if not folder.is_dir():
        return ()
    return tuple(sorted(p.name[:-5] for p in folder.iterdir() if p.name.endswith(".json")))


def short_name(model: str | Path) -> str | None:
    """The model's name in `names.json`; None if it is not listed."""
    table = json.loads((files(__name__) / "names.json").read_text(encoding="utf-8"))
    name = _name_by_config(Path(model).expanduser(), table["config"])
    if name is not None:
        return name
    wanted = {str(model).lower(), Path(model).name.lower()}
    for short, names in table["models"].items():
        if wanted & {short, *(name.lower() for name in names)}:
            return short
    return None


def _name_by_config(folder: Path, keys: Mapping[str, Mapping[str, str]]) -> str | None:
    config = folder / "config.json"
    if not config.is_file():
        return None
    values = read_json(config)
    for key, by_type in keys.items():
        if values.get(key):
            return by_type.get(str(values.get("model_type")))
    return None


def _meanings(kind: type) -> dict[str, str]:
    """{key: its entry under `Attributes:`}; entries of a class override those of its bases."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        doc = inspect.cleandoc(base.__dict__.get("__doc__") or "")
        _, _, attributes = doc.partition("Attributes:\n")
        for entry in re.split(r"\n(?=    \S)", attributes):
            keys, colon, text = entry.strip().partition(": ")
            if colon:
                words = " ".join(text.split())
                found |= {key.strip(): words for key in keys.split(",")}
    return found
