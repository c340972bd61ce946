"""Base class of all hyperparameters: published key names, strict validation, digest.

Each method's file defines its own `HyperParams(Schema)`; unknown keys, missing required keys and
values of a wrong type are errors. Imports no torch.
"""

from __future__ import annotations

import difflib
import json
import math
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self

from ...loaders.reading.sources import small_text
from ...loaders.records import digest
from ..errors import HparamsError

Bounds = Mapping[str, tuple[float, float]]


@cache
def _hints(kind: type) -> dict[str, Any]:
    """The types of a class's fields; they are texts that Python would evaluate for each object."""
    return typing.get_type_hints(kind)


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Base of every method's `HyperParams`. Fields without a default are required.

    Raises (on construction):
        HparamsError: a value has a wrong type or is out of range.
    """

    BOUNDS: ClassVar[Bounds] = {}
    """{key: (least, largest)} of the numbers, and of the numbers in lists; a class adds its own."""

    ALTERNATIVES: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Groups of keys of which exactly one is given: a value as published, and rules for it."""

    def __post_init__(self) -> None:
        hints = _hints(type(self))
        for item in fields(self):
            value = _fitted(getattr(self, item.name), hints[item.name], item.name)
            object.__setattr__(self, item.name, value)
        for keys in self.ALTERNATIVES:
            given = [key for key in keys if getattr(self, key) is not None]
            require(len(given) == 1, f"give exactly one of {', '.join(map(repr, keys))}")
        self.check()
        for item in fields(self):
            self._require_within(item.name, getattr(self, item.name))

    def check(self) -> None:
        """Check ranges; extended by the methods' classes."""

    @classmethod
    def bounds(cls) -> dict[str, tuple[float, float]]:
        """{key: (least, largest)} of this class and its bases."""
        found: dict[str, tuple[float, float]] = {}
        for base in reversed(cls.__mro__):
            found |= base.__dict__.get("BOUNDS", {})
        return found

    @classmethod
    def _require_within(cls, key: str, value: Any) -> None:
        bounds = cls.bounds().get(key)
        if bounds is None:
            return
        for each in _numbers(value):
            within = bounds[0] <= each <= bounds[1]
            require(within, f"'{key}' is {each!r}; it must be from {ranged(bounds)}")

    @classmethod
    def require_valid(cls, values: Mapping[str, Any], *, source: str) -> None:
        """Check single keys, by themselves: known, of the right type, within their bounds.

        Raises:
            HparamsError: names the key, its value and what is allowed.
        """
        cls._require_known(values, source)
        hints = _hints(cls)
        try:
            for key, value in values.items():
                cls._require_within(key, _fitted(value, hints[key], key))
        except HparamsError as error:
            raise HparamsError(f"{source}: {error.detail}", remedy=error.remedy) from error

    @classmethod
    def _require_known(cls, values: Mapping[str, Any], source: str) -> None:
        known = [item.name for item in fields(cls)]
        for key in values:
            if key not in known:
                close = difflib.get_close_matches(key, known, n=1)
                hint = f"; did you mean '{close[0]}'?" if close else ""
                raise HparamsError(f"{source}: unknown key '{key}'{hint}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, source: str = "hparams") -> Self:
        """Hyperparameters from published key names.

        Raises:
            HparamsError: unknown key (with the nearest known one), missing key, wrong type.
        """
        known = {item.name: item for item in fields(cls)}
        cls._require_known(values, source)
        absent = [
            name
            for name, item in known.items()
            if name not in values and item.default is MISSING and item.default_factory is MISSING
        ]
        if absent:
            raise HparamsError(f"{source}: missing key {', '.join(map(repr, absent))}")
        try:
            return cls(**values)
        except HparamsError as error:
            raise HparamsError(f"{source}: {error.detail}", remedy=error.remedy) from error

    @classmethod
    def from_json(cls, path: str | Path) -> Self:
        """Hyperparameters from a JSON file of published key names.

        Raises:
            HparamsError: no such file, not JSON, or any error of `from_dict`.
        """
        return cls.from_dict(read_json(Path(path)), source=str(path))

    def as_dict(self) -> dict[str, Any]:
        """{key: value}, JSON-compatible."""
        return asdict(self)

    @property
    def digest(self) -> str:
        """Digest of all values; part of every edit's record."""
        return digest([type(self).__module__, self.as_dict()])


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        HparamsError: the file does not exist, or does not contain a JSON object.
    """
    try:
        values = json.loads(small_text(path))
    except OSError as error:
        raise HparamsError(f"{path} could not be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise HparamsError(f"{path} is not JSON ({error})") from error
    if not isinstance(values, dict):
        raise HparamsError(f"{path} contains no JSON object")
    return values


def _numbers(value: Any) -> Iterator[float]:
    """Yield a number, or the numbers of nested lists."""
    if isinstance(value, tuple | list):
        for each in value:
            yield from _numbers(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def ranged(bounds: tuple[float, float]) -> str:
    """Bounds as words: `1 to 10,000`."""
    return " to ".join(f"{each:,}" if isinstance(each, int) else f"{each:g}" for each in bounds)


def require(condition: bool, detail: str) -> None:
    """Raise `HparamsError(detail)` unless the condition holds."""
    if not condition:
        raise HparamsError(detail)


def _fitted(value: Any, hint: Any, where: str) -> Any:
    """The value if it fits the annotation (an int is accepted as a float); raises otherwise."""
    options = typing.get_args(hint) if _is_union(hint) else (hint,)
    for option in options:
        fits, out = _try(value, option)
        if fits:
            return out
    wanted = " or ".join(_describe(option) for option in options)
    raise HparamsError(f"'{where}' is {value!r} ({type(value).__name__}); it must be {wanted}")


def _try(value: Any, option: Any) -> tuple[bool, Any]:
    origin = typing.get_origin(option)
    if origin is tuple:
        item = typing.get_args(option)[0]
        if not isinstance(value, (list, tuple)):
            return False, value
        parts = [_try(part, item) for part in value]
        return all(fits for fits, _ in parts), tuple(part for _, part in parts)
    if origin is typing.Literal:
        return any(value is x or value == x for x in typing.get_args(option)), value
    if option is float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return (number and math.isfinite(value)), float(value) if number else value
    if option is int:
        return isinstance(value, int) and not isinstance(value, bool), value
    if option is type(None):
        return value is None, value
    return isinstance(value, option), value


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _describe(option: Any) -> str:
    if typing.get_origin(option) is tuple:
        return f"a list of {_describe(typing.get_args(option)[0])}"
    if typing.get_origin(option) is typing.Literal:
        return " or ".join(repr(x) for x in typing.get_args(option))
    names: dict[type, str] = {
        float: "a number",
        int: "a whole number",
        str: "a string",
        bool: "true or false",
        dict: "an object of keys",
    }
    return names.get(option, "null" if option is type(None) else str(option))
