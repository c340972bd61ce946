"""Declarations of a request's field besides its type: flags and help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo


@dataclass(frozen=True, slots=True)
class Option:
    """The properties of a request's field that the REST schema lacks; part of its `Annotated`.

    Commands, their help and the "repeat this edit" commands are derived from the fields of the
    request and this.

    Attributes:
        flags: on the command line; () is the field's name with dashes.
        help: on the command line, where it accepts more than REST; None: the field's description.
        command: False where the command line has no such option.
        limited: the upper bound is a limit of the service; the command line has none.
        recorded: where a score's record has the value, as a dotted path; an option without is left
            out of the commands that repeat an edit.
    """

    flags: tuple[str, ...] = ()
    help: str | None = None
    command: bool = True
    limited: bool = False
    recorded: str | None = None


def option_of(field: FieldInfo) -> Option:
    """The `Option` of a field; the default one where none is declared."""
    return next((each for each in field.metadata if isinstance(each, Option)), Option())


def words_of(model: type[BaseModel], values: Mapping[str, Any]) -> list[str]:
    """Return the words of a command line that give a request's fields these values."""
    words: list[str] = []
    for name, value in values.items():
        on, _, off = flags_of(name, model.model_fields[name])[0].partition("/")
        words += [on if value else off] if isinstance(value, bool) else [on, str(value)]
    return words


def flags_of(name: str, field: FieldInfo) -> tuple[str, ...]:
    """The flags of a field on the command line, the long one first."""
    flag = name.replace("_", "-")
    off = f"/--no-{flag}" if field.default is True else ""
    return option_of(field).flags or (f"--{flag}{off}",)
