"""Tables of texts in any usual separator and encoding, and lists of flat JSON records.

The separator is the one by which the header has the expected columns, else the most columns. The
encoding is UTF-8 or UTF-16, by its mark or its bytes; other bytes are taken for Windows-1252, which
is a guess that `Table.layout` names.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import SchemaError, UnreadableFileError
from ..texts import quoted
from .json_stream import items
from .json_values import DECODER, JsonValueError, first_repeated
from .sources import Place, readable

SEPARATED = frozenset({".csv", ".tsv", ".tab", ".txt"})
"""Endings of files of separated values."""
RECORDS = frozenset({".json", ".jsonl", ".ndjson"})
"""Endings of files of JSON records."""
HEAD = 65536
"""Bytes that are read to recognise a file."""

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_ENCODINGS = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "cp1252": "Windows-1252"}
_NAMED = re.compile(r"sep=(.)\r?$", re.M)
"""The first line by which Excel names the separator of a file."""
_LISTS = "data|records|rows|items|facts|triples|examples"
"""Keys under which an object has a list of facts."""
_BEFORE_RECORD = re.compile(rf'\s*(?:\{{\s*"(?:{_LISTS})"\s*:\s*\[|\[)?\s*')

Fits = Callable[[Sequence[str]], bool]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table, with its place: the last line of a row, counted from 1, or a record."""

    where: str
    cells: dict[str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a header, as it was read.

    Attributes:
        layout: separator and encoding, in words.
        guessed: a word beyond ASCII, if the encoding is a guess.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    layout: str
    guessed: str | None = None


def columns_of(path: Path, fits: Fits) -> tuple[str, ...]:
    """The columns of a table, or keys of the first record, from the file's beginning; else ()."""
    kind = path.suffix.lower()
    if path.is_dir() or kind not in SEPARATED | RECORDS:
        return ()
    with path.open("rb") as file:
        start = file.read(HEAD)
    text = start.decode(_encoding(start), errors="replace")
    if kind in RECORDS:
        return _keys(text)
    mark = _separator(text, fits)
    header = text.splitlines()[1 if _NAMED.match(text) else 0 :][:1]
    return tuple(filter(None, _cells(header[0] if header else "", mark)))


def read_table(path: Path, fits: Fits) -> Table:
    """Read the table or the records in the file.

    Every row of a table must have as many cells as the header; empty ones at its end do not count.

    Args:
        fits: True for the columns that are expected; it decides between separators.

    Raises:
        UnreadableFileError: the file is missing, empty, or not a table.
        SchemaError: a column has no name or another's, or a row is of another length.
    """
    if path.suffix.lower() in RECORDS:
        return _read_records(path)
    with readable(path):
        content = path.read_bytes()
        encoding = _encoding(content)
        text = content.decode(encoding)
    if not text.strip():
        raise UnreadableFileError(f"{path}: the file is empty")
    mark = _separator(text, fits)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    rows: list[Row] = []
    try:
        if _NAMED.match(text):
            next(reader)
        columns = _header(path, next(reader))
        for cells in reader:
            if any(cell.strip() for cell in cells):
                where = f"line {reader.line_num}"
                values = _fitted(path, where, cells, len(columns))
                named = zip(columns, values, strict=True)
                rows.append(Row(where, {column: cell for column, cell in named if column}))
    except csv.Error as error:
        raise UnreadableFileError(f"{path}: line {reader.line_num}: {error}") from error
    guessed = re.search(r"\w*[^\x00-\x7f]\w*", text) if encoding == "cp1252" else None
    layout = f"{_SEPARATORS.get(mark, quoted(mark))}, {_ENCODINGS.get(encoding, 'UTF-16')}"
    return Table(tuple(filter(None, columns)), tuple(rows), layout, guessed and guessed[0])


def _encoding(content: bytes) -> str:
    """The codec of a file or of its beginning."""
    if content.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in content[:2]:
        return "utf-16-be" if content[:1] == b"\0" else "utf-16-le"
    try:
        # A letter that is cut off at the end is no error here.
        codecs.getincrementaldecoder("utf-8")().decode(content)
    except UnicodeDecodeError as error:
        # After letters of UTF-8 a wrong byte is damage, and no other encoding.
        if content[: error.start].isascii() and not set(content) & set(b"\x81\x8d\x8f\x90\x9d"):
            return "cp1252"
    return "utf-8"


def _separator(text: str, fits: Fits) -> str:
    if (named := _NAMED.match(text)) is not None:
        return named[1]
    header = text.partition("\n")[0].rstrip("\r")
    cells = {mark: _cells(header, mark) for mark in _SEPARATORS}
    return max(_SEPARATORS, key=lambda mark: (fits(cells[mark]), len(cells[mark])))


def _cells(header: str, mark: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([header], delimiter=mark), [])]
    except csv.Error:
        return []


def _header(path: Path, cells: Sequence[str]) -> list[str]:
    """The names of the columns; the first may be empty: pandas writes its index so."""
    columns = [name.strip() for name in cells]
    while columns and not columns[-1]:
        columns.pop()
    if "" in columns[1:]:
        raise SchemaError(path, "line 1", f"column {columns.index('', 1) + 1} has no name")
    if (repeated := first_repeated(columns)) is not None:
        raise SchemaError(path, "line 1", f"two columns are called {quoted(repeated)}")
    return columns


def _fitted(path: Path, where: str, cells: list[str], n: int) -> list[str]:
    while len(cells) > n and not cells[-1].strip():
        cells.pop()
    if len(cells) != n:
        raise SchemaError(path, where, f"{len(cells)} cells where the header has {n}")
    return [cell.strip() for cell in cells]


def _keys(text: str) -> tuple[str, ...]:
    start = _BEFORE_RECORD.match(text)
    try:
        record, _ = DECODER.raw_decode(text, start.end() if start else 0)
    except (ValueError, JsonValueError, RecursionError):
        return ()
    return tuple(record) if isinstance(record, dict) else ()


def _read_records(path: Path) -> Table:
    rows: list[Row] = []
    for item in items(path):
        place = Place(path, f"record {item.index}")
        if item.problem is not None:
            raise place.error(item.problem)
        rows.append(Row(place.where, dict(_flat(place.mapping(item.value)))))
    columns = dict.fromkeys(column for row in rows for column in row.cells)
    return Table(tuple(columns), tuple(rows), "JSON records, UTF-8")


def _flat(record: dict[str, Any]) -> list[tuple[str, str]]:
    """The texts and numbers of a record; those of a list are numbered, as columns are."""
    found: list[tuple[str, str]] = []
    for key, value in record.items():
        listed = value if isinstance(value, list) else [value]
        for i, each in enumerate(listed, 1):
            if isinstance(each, str | int | float) and not isinstance(each, bool):
                found.append((f"{key}{i}" if listed is value else key, str(each).strip()))
    return found
