"""Output of the commands: tables, JSON and text, on standard output or into a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from thinkeval.service.errors import UsageError
from thinkeval.service.formatting import cell


def console() -> Console:
    """Standard output, at least 140 columns wide where it is not a terminal."""
    plain = Console()
    return plain if plain.is_terminal else Console(width=max(plain.width, 140))


def emit_json(value: Any, output: Path | None = None) -> None:
    """Print a value as JSON on standard output, or write it to the file."""
    emit_text(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n", output)


def emit_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, note: str = ""
) -> None:
    """Print a table; numbers are set right, texts left."""
    table = Table(title=escape(title), title_justify="left")
    body = [list(row) for row in rows]
    if not body:
        console().print(f"{title}: {note or 'none'}")
        return
    for i, column in enumerate(columns):
        numeric = any(isinstance(row[i], int | float) for row in body)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in body:
        table.add_row(*(escape(cell(value)) for value in row))
    out = console()
    out.print(table)
    if note:
        out.print(note, style="dim", highlight=False, markup=False)


def require_json(output: Path | None, json: bool) -> None:
    """Refuse an output file for a table."""
    if output is not None and not json:
        raise UsageError("-o writes --json, which is not given.", remedy="Add it.")


def emit_text(text: str, output: Path | None) -> None:
    """Write a text to the file, or to standard output where there is none."""
    if output is None:
        typer.echo(text.rstrip("\n"))
    else:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"{output} cannot be written: {error.strerror or error}.",
                remedy="Give -o a file in a folder that is there and yours to write.",
            ) from error
        typer.echo(f"Wrote {output}", err=True)
