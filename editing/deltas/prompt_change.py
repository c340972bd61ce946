"""Serialisation of prompt changes as plain data.

A dataclass of strings, numbers, lists and other such dataclasses is written as its class name with
its values. A function cannot be serialised.
"""

from __future__ import annotations

import dataclasses
import importlib
from importlib.metadata import entry_points
from typing import Any

from ..errors import DeltaError

CLASS, VALUES = "class", "values"
TRUSTED = ("thinkeval.editing.", "thinkeval.loaders.")
"""Packages whose classes a file may name, in addition to the modules of external methods."""


def to_plain(change: Any) -> dict[str, Any]:
    """The change as JSON-compatible data.

    Raises:
        DeltaError: it is not a dataclass, or contains a value that is not plain data.
    """
    if not dataclasses.is_dataclass(change) or isinstance(change, type):
        raise DeltaError(
            f"the prompt change ({type(change).__name__}) is not plain data and cannot be saved",
            remedy="The method must return a dataclass of strings, numbers and tuples.",
        )
    plain = _plain(change, type(change).__name__)
    if from_plain(plain) != change:
        raise DeltaError(
            f"the prompt change ({type(change).__name__}) changes when it is saved and loaded",
            remedy="Its class must compare by value and contain tuples, not lists.",
        )
    return plain


def from_plain(plain: Any) -> Any:
    """The inverse of `to_plain`.

    Raises:
        DeltaError: the class does not exist, is not of a method, or rejects the values.
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
            CLASS: f"{kind.__module__}:{kind.__qualname__}",
            VALUES: {name: _plain(getattr(value, name), f"{where}.{name}") for name in names},
        }
    raise DeltaError(
        f"the prompt change contains a {type(value).__name__} ({where}), which cannot be saved",
        remedy="The method must return a dataclass of strings, numbers and tuples.",
    )


def _class(name: str) -> type:
    module, _, qualified = name.partition(":")
    # A file from an untrusted source must not be able to call arbitrary code.
    outside = {point.module for point in entry_points(group="thinkeval.methods")}
    if not module.startswith(TRUSTED) and module not in outside:
        raise DeltaError(f"the saved prompt change names {name}, which is of no editing method")
    try:
        found = getattr(importlib.import_module(module), qualified)
    except (ImportError, AttributeError) as error:
        raise DeltaError(f"the saved prompt change needs {name}, which does not exist") from error
    if not isinstance(found, type) or not dataclasses.is_dataclass(found):
        raise DeltaError(f"the saved prompt change names {name}, which is not a dataclass")
    return found
