"""A change of the prompt as plain data, so that it can be saved and made again.

A change that is a dataclass of texts, numbers, lists and other such dataclasses is written as the
name of its class with its values. A function cannot be written.
"""

from __future__ import annotations

import dataclasses
import importlib
from importlib.metadata import entry_points
from typing import Any

from thinkeval.editing.errors import DeltaError

CLASS, VALUES = "class", "values"
PACKAGE = "thinkeval."
ROOMS = TRUSTED = ("editing", "loaders")
"""Packages whose classes a file may name; beside them the modules of methods from outside.

A file names them without `thinkeval.`, as the files of version 0.1 do.
"""
MOVED = {"editing.demonstrations": "editing.in_context.demonstrations"}
"""Modules by the name that files of version 0.1 know them by."""


def to_plain(change: Any) -> dict[str, Any]:
    """The change as JSON takes it.

    Raises:
        DeltaError: it is no dataclass, or holds something that is not plain data.
    """
    if not dataclasses.is_dataclass(change) or isinstance(change, type):
        raise DeltaError(
            f"the prompt change ({type(change).__name__}) is not plain data and cannot be saved",
            remedy="Let the method return a dataclass of texts, numbers and tuples.",
        )
    plain = _plain(change, type(change).__name__)
    if from_plain(plain) != change:
        raise DeltaError(
            f"the prompt change ({type(change).__name__}) is not the same after saving",
            remedy="Let its class compare by its values and hold tuples, not lists.",
        )
    return plain


def from_plain(plain: Any) -> Any:
    """What `to_plain` was given.

    Raises:
        DeltaError: the class is not there any more, is not of a method, or refuses the values.
    """
    if isinstance(plain, list):
        return tuple(from_plain(item) for item in plain)
    if not isinstance(plain, dict):
        return plain
    if set(plain) != {CLASS, VALUES}:
        return {key: from_plain(value) for key, value in plain.items()}
    kind = _class(str(plain[CLASS]))
    values = {key: from_plain(value) for key, value in plain[VALUES].items()}
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise DeltaError(f"the saved prompt change does not fit {plain[CLASS]}: {error}") from error


def _plain(value: Any, where: str) -> Any:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, where) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, f"{where}.{key}") for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [item.name for item in dataclasses.fields(value) if item.init]
        kind = type(value)
        return {
            CLASS: f"{kind.__module__.removeprefix(PACKAGE)}:{kind.__qualname__}",
            VALUES: {name: _plain(getattr(value, name), f"{where}.{name}") for name in names},
        }
    raise DeltaError(
        f"the prompt change holds a {type(value).__name__} ({where}), which cannot be saved",
        remedy="Let the method return a dataclass of texts, numbers and tuples.",
    )


def _class(name: str) -> type:
    module, _, qualified = name.partition(":")
    module = MOVED.get(module, module)
    # A file from elsewhere must not be able to call whatever it likes.
    outside = {point.module for point in entry_points(group="thinkeval.methods")}
    root = module.partition(".")[0]
    if root not in TRUSTED and module not in outside:
        raise DeltaError(f"the saved prompt change names {name}, which is of no editing method")
    try:
        found = getattr(
            importlib.import_module(f"{PACKAGE}{module}" if root in ROOMS else module), qualified
        )
    except (ImportError, AttributeError) as error:
        raise DeltaError(f"the saved prompt change needs {name}, which is not there") from error
    if not isinstance(found, type) or not dataclasses.is_dataclass(found):
        raise DeltaError(f"the saved prompt change names {name}, which is no dataclass")
    return found
