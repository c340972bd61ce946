"""Streaming reader of records in JSON: one at a time, so that memory does not grow with the file.

The records are one list, JSON lines (objects one after the other), or the only list of one object,
as in `{"data": [...]}`. CounterFact has 45 MB and its snippets a gigabyte; with a limit only the
beginning is read. A value that cannot be used is reported for its item; a syntax error is an error
of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from ..errors import LoaderError, SchemaError, UnreadableFileError
from .json_values import DECODER, SKIPPER, JsonValueError
from .sources import readable

CHUNK = 1 << 20
"""Characters of the first read; doubled while an item is larger."""

HEAD = 1 << 16
"""Characters from which a format is recognised."""

_BLANK = " \t\r\n"
_TO_THE_LIST = re.compile(
    r'\{(\s*"[^"]*"\s*:\s*("[^"]*"|[\w.+-]+)\s*,)*\s*"[^"]*"\s*:\s*\[\s*[{\]]'
)
"""The beginning of an object up to its list of objects; plain values may come before it."""


@dataclass(frozen=True, slots=True)
class Item:
    """One record of the file.

    Attributes:
        index: counted from 0.
        value: the JSON value; None if there is a problem.
        problem: why it cannot be used although it is JSON (a repeated key, an endless number).
    """

    index: int
    value: Any
    problem: str | None = None


def head(path: Path) -> str:
    """The beginning of a file of records, by which its format is recognised; empty for others."""
    if path.is_dir() or path.suffix.lower() not in {".json", ".jsonl"}:
        return ""
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        return stream.read(HEAD)


def items(path: Path, limit: int | None = None) -> Iterator[Item]:
    """The first `limit` records of a file, or all.

    Raises:
        UnreadableFileError: the file is missing, empty, not UTF-8, cut off, or not valid JSON.
        SchemaError: the file is neither a list, JSON lines, nor an object with one list.
    """
    with readable(path), path.open(encoding="utf-8-sig") as stream:
        yield from islice(_Reader(path, stream).records(), limit)


def first_keys(path: Path) -> set[str]:
    """The keys of the first record, by which a format is recognised; empty for other files."""
    if not head(path):
        return set()
    try:
        found = next(items(path, 1), None)
    except LoaderError:
        return set()
    return set(found.value) if found is not None and isinstance(found.value, dict) else set()


class _Reader:
    """A window of the text that moves over the records."""

    def __init__(self, path: Path, stream: TextIO) -> None:
        self._path, self._stream = path, stream
        self._text, self._at, self._ended = "", 0, False
        self._chunk = CHUNK
        self._index = 0
        self._last = "}"

    def records(self) -> Iterator[Item]:
        first = self._peek()
        if not first:
            raise UnreadableFileError(f"{self._path}: the file is empty")
        if first == "[":
            self._last = "]"
            yield from self._list()
        elif first == "{" and self._has_list():
            yield from self._members()
        elif first == "{":
            while mark := self._peek():
                if mark != "{":
                    raise self._broken("expected one object a line")
                yield self._item()
        else:
            raise SchemaError(self._path, "top level", "expected a list of records")

    def _has_list(self) -> bool:
        """Decide if the first object holds the list of records, or is a record itself.

        An object that ends in the window is a record if another one follows, or if it has anything
        but one list of objects and plain values.
        """
        try:
            value, end = SKIPPER.raw_decode(self._text, self._at)
        except (json.JSONDecodeError, RecursionError):
            return _TO_THE_LIST.match(self._text, self._at) is not None
        if self._text[end:].strip(_BLANK):
            return False
        if self._more():
            return self._has_list()
        nested = [each for each in value.values() if isinstance(each, dict | list)]
        return (
            len(nested) == 1
            and isinstance(nested[0], list)
            and all(isinstance(each, dict) for each in nested[0])
        )

    def _list(self) -> Iterator[Item]:
        self._at += 1
        if self._peek() == "]":
            self._at += 1
            return
        while True:
            yield self._item()
            mark = self._peek()
            self._at += 1
            if mark == "]":
                return
            if mark != ",":
                raise self._broken("expected ',' or ']'" if mark else "")

    def _members(self) -> Iterator[Item]:
        """The records of the only list of an object, whose other values are left out."""
        found = False
        while self._peek() != "}":
            self._at += 1
            self._value()
            if self._peek() != ":":
                raise self._broken("expected ':' after a key")
            self._at += 1
            if self._peek() != "[":
                self._value()
            elif found:
                raise SchemaError(
                    self._path, "top level", "has several lists, where one of records is expected"
                )
            else:
                found = True
                yield from self._list()
            if (mark := self._peek()) not in {",", "}"}:
                raise self._broken("expected ',' or '}'" if mark else "")

    def _peek(self) -> str:
        """The next character that is not white space, without consuming it; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANK:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _more(self) -> bool:
        """Read more text and drop the consumed part; False at the end of the file."""
        if self._ended:
            return False
        found = self._stream.read(self._chunk)
        self._ended = len(found) < self._chunk
        self._text, self._at = self._text[self._at :] + found, 0
        return bool(found)

    def _item(self) -> Item:
        value, problem = self._value()
        self._index += 1
        return Item(self._index - 1, value, problem)

    def _value(self) -> tuple[Any, str | None]:
        """The next value, and the problem of one that cannot be used."""
        self._peek()
        self._chunk = CHUNK
        while True:
            try:
                value, problem, end = self._decode()
            except json.JSONDecodeError as error:
                if self._more():
                    self._chunk *= 2
                    continue
                raise self._broken(error.msg, error.pos) from error
            except RecursionError as error:
                raise self._broken("nested too deeply") from error
            # A number may continue after the end of the window.
            if end < len(self._text) or not self._more():
                self._at = end
                return value, problem

    def _decode(self) -> tuple[Any, str | None, int]:
        try:
            value, end = DECODER.raw_decode(self._text, self._at)
        except JsonValueError as error:
            _, end = SKIPPER.raw_decode(self._text, self._at)
            return None, str(error), end
        return value, None, end

    def _broken(self, problem: str, at: int = 0) -> UnreadableFileError:
        rest = self._text.rstrip()
        cut = not problem or (self._ended and (at >= len(rest) or not rest.endswith(self._last)))
        what = "the file seems cut off" if cut else "not valid JSON"
        return UnreadableFileError(
            f"{self._path}: record {self._index}: {what}" + (f" ({problem})" if problem else "")
        )
