"""Output of the commands: tables, JSON and text, on standard output or into a file.

A terminal gets boxed tables that fit its width: optional columns are omitted, with a note, until
the texts of the others are readable; then texts become narrower; no identifier and no word of
ordinary length is broken. Where standard output is not a terminal, tables are plain lines, one a
row and of any length; with COLUMNS in the environment they are fitted to that width.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from ..errors import UsageError
from ..reports.formats import Column, indexed, render

Row = TypeVar("Row")

ESCAPES = "thinkeval-escapes"
"""Name of the way to encode what an encoding lacks, see `print_unencodable`."""

UNLIMITED = 10_000
"""Width of plain output: no line is wrapped."""

LONG_WORD = 24
"""Longer words may be broken in a table's column of texts."""

READABLE = 20
"""Optional columns are omitted before a column of texts becomes narrower."""

MODEL = "model"
"""Header of the column that stays where rows are of several models: others are omitted first."""

FRAME = 3
"""Characters that a column's frame takes beside its cells; the table's edge takes one more."""


def print_unencodable() -> None:
    r"""Have both streams print an escape (`\u2264`) for a character that their encoding lacks.

    The escape is JSON's, so that JSON stays JSON.
    """

    def escaped(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        return json.dumps(error.object[error.start : error.end])[1:-1], error.end

    codecs.register_error(ESCAPES, escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors=ESCAPES)


def console() -> Console:
    """Standard output; without a terminal and without COLUMNS no line is wrapped."""
    out = Console()
    return out if not _plain(out) else Console(width=UNLIMITED, soft_wrap=True)


def _plain(out: Console) -> bool:
    return not out.is_terminal and not os.environ.get("COLUMNS", "").isdigit()


def emit_json(value: Any, output: Path | None = None) -> None:
    """Print a value as JSON on standard output, or write it to the file."""
    emit_text(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n", output)


def emit_values(
    title: str, values: Mapping[str, object] | Iterable[tuple[str, object]], *, note: str = ""
) -> None:
    """Print named values as a table of two columns."""
    pairs = list(values.items() if isinstance(values, Mapping) else values)
    emit_table(title, indexed("what", "value"), pairs, note=note)


def emit_table(
    title: str, columns: Sequence[Column[Row]], rows: Iterable[Row], *, note: str = ""
) -> None:
    """Print a table: numbers aligned right, texts left; the note below it."""
    out, body = console(), list(rows)
    if not body:
        _print_line(out, f"{title}: {note or 'none'}")
        return
    laid = [_Laid.of(column, body) for column in columns]
    _print_line(out, title, "table.title")
    if out.soft_wrap:
        _print_plain(out, laid)
    else:
        shown, omitted = _fitted(laid, out.width)
        _print_boxed(out, shown)
        for each in omitted:
            if each.header.lower() == MODEL:  # only where all rows have the same one
                _print_line(out, f"All rows: {each.header.lower()} {each.cells[0]}.", "dim")
        if omitted:
            names = ", ".join(each.header for each in omitted)
            _print_line(out, f"Omitted for lack of width: {names} (--json has all).", "dim")
    if note:
        _print_line(out, note, "dim")


def emit_rows(
    title: str,
    columns: Sequence[Column[Row]],
    rows: Sequence[Row],
    format: str,
    output: Path | None,
    *,
    value: Any,
    json: bool = False,
    note: str = "",
) -> None:
    """Print rows as a table or in a text format, or write the format to the file.

    Args:
        format: `table`, `json` or one of `reports.formats.FORMATS`.
        value: printed as JSON, for `--json` and `--format json`.

    Raises:
        UsageError: a table is to be written to a file, or two formats are given.
    """
    if json and format not in ("table", "json"):
        raise UsageError(
            f"--json and --format {format} exclude each other.", remedy="Give one of them."
        )
    if json or format == "json":
        emit_json(value, output)
    elif format != "table":
        emit_text(render(columns, rows, format), output)
    elif output is not None:
        raise UsageError("-o writes a format, not a table.", remedy="Add --format csv.")
    else:
        emit_table(title, columns, rows, note=note)


def emit_panel(title: str, body: Sequence[RenderableType], *, note: str | None = None) -> None:
    """Print blocks in a frame with a title; without a terminal, the lines without the frame."""
    out = console()
    if out.soft_wrap:
        out.print(title, *body, *([note] if note else []), sep="\n", highlight=False)
    else:
        out.print(Panel(Group(*body), title=title, title_align="left", subtitle=note))


def more_below(n: int, shown: int) -> str:
    """Return the note of a table that shows the first rows of n; "" where it has all."""
    return f"and {n - shown} more: --json has all" if n > shown else ""


def require_json(output: Path | None, json: bool) -> None:
    """Refuse an output file for a table."""
    if output is not None and not json:
        raise UsageError("-o writes --json, which is not given.", remedy="Add it.")


def chosen_format(format: str, json: bool) -> str:
    """The format of a report: `--json` is short for `--format json`.

    Raises:
        UsageError: another format is given as well.
    """
    if json and format not in ("markdown", "json"):
        raise UsageError(
            f"--json and --format {format} exclude each other.", remedy="Give one of them."
        )
    return "json" if json else format


def emit_text(text: str, output: Path | None) -> None:
    """Print a text on standard output, or write it to the file."""
    if output is None:
        typer.echo(text.rstrip("\n"))
    else:
        write_bytes(output, text.encode())


def write_bytes(path: Path, body: bytes, *, parents: bool = False) -> Path:
    """Write a file and report it on standard error.

    Args:
        parents: create the folder of the file.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror or error}.",
            remedy="Give a path in a folder that you may write to.",
        ) from error
    typer.echo(f"Wrote {path}", err=True)
    return path


@dataclass(frozen=True, slots=True)
class _Laid:
    """A column as text, with the widths between which it may be set."""

    header: str
    cells: tuple[str, ...]
    numeric: bool
    optional: int
    whole: bool
    narrowest: int
    widest: int
    kept: bool = False

    @property
    def readable(self) -> int:
        """A width at which a text takes few lines; of numbers, the narrowest."""
        return max(self.narrowest, 0 if self.numeric else min(self.widest, READABLE))

    @staticmethod
    def of(column: Column[Row], rows: Sequence[Row]) -> _Laid:
        values = [column.get(row) for row in rows]
        cells = tuple(column.format(value) for value in values)
        numeric = any(isinstance(value, int | float) for value in values)
        words = column.header.split() + [word for text in cells for word in text.split()]
        longest = max((cell_len(word) for word in words), default=1)
        lines = [line for text in cells for line in text.splitlines()]
        widest = max((cell_len(line) for line in [column.header, *lines]), default=1)
        inner = max((cell_len(line) for line in lines), default=1)
        narrowest = max(inner, longest) if column.whole or numeric else min(longest, LONG_WORD)
        if column.header.lower() == MODEL and len(set(cells)) > 1:
            narrow = min(longest, LONG_WORD)
            return _Laid(column.header, cells, numeric, 0, False, narrow, widest, kept=True)
        return _Laid(
            column.header, cells, numeric, column.optional, column.whole, narrowest, widest
        )


def _fitted(laid: Sequence[_Laid], width: int) -> tuple[list[_Laid], list[_Laid]]:
    """The columns that fit the width, and the omitted ones.

    Optional columns are omitted until the texts of the others have a readable width; those of one
    level together. Only then are the texts narrowed, and at last other columns omitted.
    """
    shown, omitted = list(laid), []

    def omit(left_out: list[_Laid]) -> None:
        for each in left_out:
            shown.remove(each)
        omitted[:] = [each for each in laid if each in omitted or each in left_out]

    while _width(each.readable for each in shown) > width:
        level = max(each.optional for each in shown)
        if not level or all(each.optional == level for each in shown):
            break
        omit([each for each in shown if each.optional == level])
    while _width(each.narrowest for each in shown) > width and len(shown) > 1:
        spare = [each for each in shown if not each.whole and not each.kept]
        if not spare:
            break
        omit(spare[-1:])
    return shown, omitted


def _width(columns: Iterable[int]) -> int:
    """The width of a boxed table with columns of these widths."""
    return 1 + sum(width + FRAME for width in columns)


def _print_boxed(out: Console, shown: Sequence[_Laid]) -> None:
    widths = [each.widest for each in shown]
    if _width(widths) > out.width:  # headers of numbers take several lines before texts do
        widths = [each.narrowest if each.numeric else each.widest for each in shown]
    while _width(widths) > out.width:
        wide = [(w, i) for i, w in enumerate(widths) if w > shown[i].narrowest]
        if not wide:
            break  # an identifier wider than the terminal: its line is longer, not broken
        widths[max(wide)[1]] -= 1
    table = Table()
    for each, width in zip(shown, widths, strict=True):
        table.add_column(
            escape(each.header), justify="right" if each.numeric else "left", overflow="fold",
            width=width,
        )  # fmt: skip
    for cells in zip(*(each.cells for each in shown), strict=True):
        table.add_row(*map(escape, cells))
    Console(width=max(out.width, _width(widths))).print(table)


def _print_plain(out: Console, laid: Sequence[_Laid]) -> None:
    lines = [[each.header for each in laid]]
    lines += [
        [" ".join(c.split()) for c in row] for row in zip(*(x.cells for x in laid), strict=True)
    ]
    widths = [max(cell_len(line[i]) for line in lines) for i in range(len(laid))]
    for line in lines:
        texts = [
            " " * (width - cell_len(text)) + text if each.numeric
            else text + " " * (width - cell_len(text))
            for each, text, width in zip(laid, line, widths, strict=True)
        ]  # fmt: skip
        _print_line(out, "  ".join(texts).rstrip())


def emit_note(text: str, style: str | None = None, *, indent: int = 0) -> None:
    """Print a paragraph; in a terminal its lines end between words, none of which is broken.

    Args:
        indent: of the first line; the others are indented twice as far.
    """
    _print_line(console(), text, style, indent)


def emit_command(text: str) -> None:
    """Print a command in a line of its own, never broken, so that it can be copied."""
    console().print(f"  {text}", highlight=False, markup=False, soft_wrap=True)


def _print_line(out: Console, text: str, style: str | None = None, indent: int = 0) -> None:
    """Print a paragraph; words that are longer than the terminal is wide are not broken."""
    first = " " * indent
    if out.soft_wrap:
        text = first + text
    else:
        text = textwrap.fill(
            text, out.width, initial_indent=first, subsequent_indent=2 * first,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
    out.print(text, style=style, highlight=False, markup=False, overflow="ignore", crop=False)
