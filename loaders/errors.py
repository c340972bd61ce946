"""Errors of the loaders, with one base class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .texts import fitted


class LoaderError(Exception):
    """A file could not be read in its format.

    Attributes:
        detail: the problem with its place (file, record, field); shortened if it is long.
        remedy: an action that may fix the problem.
    """

    remedy = "Check the file against the format described in `thinkeval import --help`."

    def __init__(self, detail: str, *, remedy: str | None = None) -> None:
        self.detail = fitted(detail)
        super().__init__(self.detail)
        if remedy is not None:
            self.remedy = remedy

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by its attributes: the classes differ in the arguments that they take."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[LoaderError], args: tuple[Any, ...], state: dict[str, Any]) -> LoaderError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class UnreadableFileError(LoaderError):
    """The file is missing, is not text, or is cut off in the middle."""

    remedy = "Check the path, and fetch or export the file again."


class SchemaError(LoaderError):
    """A record lacks a field, or a field has the wrong type.

    Attributes:
        code: of a finding about a label (`label_audit.py`); empty for others.
    """

    def __init__(
        self,
        path: Path | str,
        where: str,
        problem: str,
        *,
        remedy: str | None = None,
        code: str = "",
    ) -> None:
        super().__init__(f"{path}: {where}: {problem}", remedy=remedy)
        self.path, self.where, self.problem, self.code = path, where, problem, code


class RuleError(LoaderError):
    """An If-Then rule is not valid."""

    remedy = (
        "Write it as two premises over three variables that share one of them, and a conclusion"
        " that relates the other two; or as one premise and a conclusion over the same two"
        " variables. `thinkeval graph rules add --help` shows the format."
    )


class UnknownFormatError(LoaderError):
    """No loader recognises the file."""

    remedy = (
        "Name the format: `--format`, over REST the field `format`; `thinkeval import --help`"
        " lists them."
    )
