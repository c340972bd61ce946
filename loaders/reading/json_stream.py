"""Streaming reader of a JSON list: one item at a time, so that memory does not grow with the file.

CounterFact has 45 MB and its snippets a gigabyte; with a limit only the beginning is read. A value
that cannot be used is reported for its item; a syntax error is an error of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from ..errors import SchemaError, UnreadableFileError
from .json_values import DECODER, SKIPPER, JsonValueError
from .sources import readable
from .unrecognised import layout_problem

CHUNK = 1 << 20
"""Characters of the first read; doubled while an item is larger."""

_BLANK = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the list.

    Attributes:
        index: counted from 0.
        value: the JSON value; None if there is a problem.
        problem: why it cannot be used although it is JSON (a repeated key, an endless number).
    """

    index: int
    value: Any
    problem: str | None = None


def items(path: Path, limit: int | None = None) -> Iterator[Item]:
    """The first `limit` items of the list in a file, or all.

    Raises:
        UnreadableFileError: the file is missing, empty, not UTF-8, cut off, or not valid JSON.
        SchemaError: the file is not a list.
    """
    with readable(path), path.open(encoding="utf-8-sig") as stream:
        yield from _Reader(path, stream).items(limit)


class _Reader:
    """A window of the text that moves over the items."""

    def __init__(self, path: Path, stream: TextIO) -> None:
        self._path, self._stream = path, stream
        self._text, self._at, self._ended = "", 0, False
        self._chunk = CHUNK

    def items(self, limit: int | None) -> Iterator[Item]:
        if not (first := self._peek()):
            raise UnreadableFileError(f"{self._path}: the file is empty")
        if first != "[":
            found = layout_problem(self._text[self._at :])
            problem = "expected a list of records" if found is None else f"it {found}"
            raise SchemaError(self._path, "top level", problem)
        self._at += 1
        if self._peek() == "]":
            return
        index = 0
        while limit is None or index < limit:
            yield self._item(index)
            index += 1
            if (mark := self._peek()) == "]":
                return
            if mark != ",":
                raise self._broken(index, "expected ',' or ']'" if mark else "")
            self._at += 1

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

    def _item(self, index: int) -> Item:
        self._peek()
        self._chunk = CHUNK
        while True:
            try:
                item, end = self._decode(index)
            except json.JSONDecodeError as error:
                if self._more():
                    self._chunk *= 2
                    continue
                raise self._broken(index, error.msg) from error
            except RecursionError as error:
                raise self._broken(index, "nested too deeply") from error
            # A number may continue after the end of the window.
            if end < len(self._text) or not self._more():
                self._at = end
                return item

    def _decode(self, index: int) -> tuple[Item, int]:
        try:
            value, end = DECODER.raw_decode(self._text, self._at)
        except JsonValueError as error:
            _, end = SKIPPER.raw_decode(self._text, self._at)
            return Item(index, None, str(error)), end
        return Item(index, value), end

    def _broken(self, index: int, problem: str) -> UnreadableFileError:
        cut = not problem or (self._ended and not self._rest_has_end())
        what = "the file seems cut off" if cut else "not valid JSON"
        return UnreadableFileError(
            f"{self._path}: record {index}: {what}" + (f" ({problem})" if problem else "")
        )

    def _rest_has_end(self) -> bool:
        return self._text.rstrip().endswith("]")
