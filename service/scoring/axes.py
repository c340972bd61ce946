"""Axes of a sweep: a request option or a method's hyperparameter that is given several values.

`append_loss=none,app` and `rome.v_lr=0.1,0.5` are axes; a method's cells are the product of those
that it has. How facts are probed and chains are counted is no axis: all rows of a table share it.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import ValidationError

from ..errors import UsageError
from ..schemas import EditOptions, MeasuredOptions
from . import append
from .request import method_override

SWEPT = frozenset(
    ("model", "method", "seed", "organism_seed", "strength", "overrides", "revision", "covariance")
)
"""Options that a sweep has beside its axes."""
OPTIONS = tuple(
    sorted(EditOptions.model_fields.keys() - MeasuredOptions.model_fields.keys() - SWEPT)
)
"""The request options that can be an axis."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An option of the request, or the hyperparameter `key` of a method, with its values."""

    key: str
    values: tuple[object, ...]
    method: str | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of every axis.

    Attributes:
        options: fields of the request.
        overrides: hyperparameters.
        varied: the values of axes that have several.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    overrides: Mapping[str, object] = field(default_factory=dict)
    varied: Mapping[str, object] = field(default_factory=dict)

    def label(self, leave_out: Container[str] = ()) -> str:
        """Return what tells it from the other settings of its method, such as `v_lr=0.5`."""
        return ", ".join(f"{k}={v}" for k, v in self.varied.items() if k not in leave_out)


def read(texts: Sequence[str]) -> tuple[Axis, ...]:
    """Return the axes of `NAME=VALUE,VALUE` texts.

    Args:
        texts: NAME is an option of `OPTIONS` or METHOD.key; values are YAML.

    Raises:
        UsageError: another form, an unknown option, a value that the option does not have.
        UnknownMethodError: no such method.
    """
    axes = [_axis(text) for text in texts]
    names = [(axis.method, axis.key) for axis in axes]
    for axis in axes:
        if names.count((axis.method, axis.key)) > 1:
            raise UsageError(
                f"--axis {axis.key} is given twice.", remedy="Write all its values into one."
            )
    return tuple(axes)


def _axis(text: str) -> Axis:
    name, sep, written = text.partition("=")
    key = name.strip().removeprefix("--").replace("-", "_")
    if not sep or not key or not written.strip():
        raise UsageError(
            f"--axis {text!r} is not NAME=VALUE,VALUE.", remedy="For example --axis alpha=0,0.5."
        )
    if "." in key:
        method, key, values = method_override(f"{name.strip()}=[{written}]")
        return Axis(key, _distinct(cast("list[object]", values)), method)
    if key not in OPTIONS:
        raise UsageError(
            f"{name.strip()!r} is no axis.",
            remedy=f"Use METHOD.key=VALUE,VALUE for a hyperparameter, or one of:"
            f" {', '.join(OPTIONS)}.",
        )
    return Axis(key, _distinct(_value(key, each.strip()) for each in written.split(",")))


def _value(key: str, text: str) -> object:
    """Return the value of a request option that a text means."""
    try:
        return getattr(EditOptions.model_validate({key: text}), key)
    except ValidationError as error:
        raise UsageError(
            f"--axis {key}: {text!r}: {error.errors()[0]['msg']}.", remedy="Give another value."
        ) from error


def _distinct(values: Iterable[object]) -> tuple[object, ...]:
    found: list[object] = []
    for value in values:
        if value not in found:
            found.append(value)
    return tuple(found)


def settings(axes: Sequence[Axis], method: str) -> list[Setting]:
    """Return the product of the axes that a method has, the last one's values changing fastest.

    A method whose loss cannot hold the other answers as `append_loss` says has no such setting.
    """
    own = [axis for axis in axes if axis.method in (None, method)]
    found = []
    for values in itertools.product(*(axis.values for axis in own)):
        pairs = list(zip(own, values, strict=True))
        options: dict[str, Any] = {a.key: value for a, value in pairs if a.method is None}
        if append.takes_loss(method, options.get("append_loss", "none")):
            overrides = {a.key: value for a, value in pairs if a.method}
            varied = {a.key: value for a, value in pairs if len(a.values) > 1}
            found.append(Setting(options, overrides, varied))
    return found
