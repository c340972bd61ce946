"""Output of the commands: tables, JSON and text, and progress on standard error."""

from __future__ import annotations

import codecs
import io
import json
import logging
import os
import sys
import textwrap
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import typer
from pydantic import BaseModel
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.measure import Measurement, measure_renderables
from rich.panel import Panel
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table as RichTable
from rich.text import Text

from ..base.errors import UsageError
from ..reports.formats import (
    PARQUET,
    Column,
    Table,
    defined,
    indexed,
    parquet,
    render,
    require_known,
)

# A terminal gets boxed tables that fit its width: optional columns are omitted, with a note,
# until the texts of the others are readable; then texts become narrower; no identifier and no
# word of ordinary length is broken. Where standard output is not a terminal, tables are plain
# lines, one a row and of any length; with COLUMNS in the environment they are fitted to that
# width.

ESCAPES = "thinkeval-escapes"
"""Name of the way to encode what an encoding lacks, see `print_unencodable`."""

UNLIMITED = 1_000_000
"""Width of plain output: no line is wrapped."""

READABLE = 20
"""Optional columns are omitted before texts become narrower; longer words may be broken."""

MODEL = "model"
"""Header of the column that stays where rows are of several models: others are omitted first."""

TABLE, JSON = "table", "json"
"""Formats: for the terminal, and of the whole result."""


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


LOG = logging.getLogger("thinkeval.cli")
"""Has all that commands say on standard error; they print it themselves."""
LOG.propagate = False
LOG.addHandler(logging.NullHandler())


class _Said:
    """The choice of what commands print on standard error.

    Attributes:
        quiet: True for errors only.
    """

    quiet = False


def set_up_logs(*, verbose: bool = False, quiet: bool = False, file: Path | None = None) -> None:
    """Print the logs of ThinkEval on standard error, and append them to a file with times.

    Raises:
        UsageError: both `verbose` and `quiet`, or a file that cannot be written.
    """
    if verbose and quiet:
        raise UsageError("--verbose and --quiet exclude each other.", remedy="Give one of them.")
    _Said.quiet = quiet
    handlers: list[logging.Handler] = []
    if verbose:
        shown = logging.StreamHandler()
        shown.addFilter(lambda said: said.name != LOG.name or said.levelno < logging.INFO)
        shown.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        handlers.append(shown)
    if file is not None:
        try:
            handlers.append(logging.FileHandler(file, encoding="utf-8"))
        except OSError as error:
            raise not_written(file, error) from error
        handlers[-1].setFormatter(
            logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
        )
    for logger in (logging.getLogger("thinkeval"), LOG):
        for each in list(logger.handlers):
            logger.removeHandler(each)
            each.close()
        for each in [*handlers, logging.NullHandler()] if logger is LOG else handlers:
            logger.addHandler(each)
        logger.setLevel(logging.DEBUG if handlers else logging.NOTSET)


def notice(text: str) -> None:
    """Print a line on standard error, unless only errors are wanted."""
    LOG.info(text)
    if not _Said.quiet:
        typer.echo(text, err=True)


def emit_json(value: Any, output: Path | None = None) -> None:
    """Print a value as JSON on standard output, or write it to the file."""
    emit_text(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n", output)


def emit_values(
    title: str, values: Mapping[str, object] | Iterable[tuple[str, object]], *, note: str = ""
) -> None:
    """Print named values as a table of two columns."""
    pairs = list(values.items() if isinstance(values, Mapping) else values)
    emit_table(Table("values", title, indexed("what", "value"), pairs, note))


def emit_table(table: Table[Any]) -> None:
    """Print a table: numbers aligned right, texts left; the note below it."""
    out = console()
    if not table.rows:
        _print_line(out, f"{table.title}: {table.note or 'none'}")
        return
    _print_line(out, table.title, "table.title")
    (_print_plain if out.soft_wrap else _print_boxed)(out, table)
    if table.note:
        _print_line(out, table.note, "dim")


def emit_rows(
    table: Table[Any],
    *,
    value: Any = None,
    json: bool = False,
    format: str | None = None,
    output: Path | None = None,
) -> None:
    """Print a table, or write it in a format to standard output or to the file.

    Args:
        value: printed as JSON; the rows if it is None.
        json: as `--json`: short for the format `json`.
        format: `table`, `json` or one of `reports.formats.FORMATS`.

    Raises:
        UsageError: a table is to be written to a file, or two formats are given.
    """
    format = chosen_format(format, json, output)
    if format == JSON:
        emit_json([plain(row) for row in table.rows] if value is None else value, output)
    elif format == TABLE:
        emit_table(table)
    elif format == PARQUET and output is not None:
        write_bytes(output, parquet(table), parents=True)
    else:
        emit_text(render(table, format), output)


def plain(row: Any) -> Any:
    """Return a row as JSON has it: of a dataclass or model its fields, of a mapping its values."""
    if is_dataclass(row) and not isinstance(row, type):
        return asdict(row)
    if isinstance(row, BaseModel):
        return row.model_dump(mode="json")
    return {k: defined(v) for k, v in row.items()} if isinstance(row, Mapping) else row


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


def report_format(format: str | None, json: bool, output: Path | None) -> str:
    """Return the format of a report: by default a table in a terminal, Markdown elsewhere."""
    default = TABLE if output is None and console().is_terminal else "markdown"
    return chosen_format(format, json, output, default)


def chosen_format(
    format: str | None, json: bool, output: Path | None = None, default: str = TABLE
) -> str:
    """Return the format of `--format`, for which `--json` is short.

    Raises:
        UsageError: two formats, an unknown one, a table in a file, or a binary file in a terminal.
    """
    if json and format not in (None, TABLE, JSON):
        raise UsageError(
            f"--json and --format {format} exclude each other.", remedy="Give one of them."
        )
    format = JSON if json else format or default
    if format != TABLE:
        require_known(format, printed=output is None)
    elif output is not None:
        raise UsageError("-o writes a format, not a table.", remedy="Add --json or --format csv.")
    return format


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
        raise not_written(path, error) from error
    notice(f"Wrote {path}")
    return path


def not_written(path: Path, error: OSError) -> UsageError:
    """The error of a file that cannot be written."""
    return UsageError(
        f"{path} cannot be written: {error.strerror or error}.",
        remedy="Give a path in a folder that you may write to.",
    )


def _print_boxed(out: Console, table: Table[Any]) -> None:
    """Print the columns that fit the terminal, and name the others.

    Optional columns are omitted until texts have a readable width, those of one level together;
    then texts become as narrow as their longest word, and at last further columns are omitted.
    """
    laid = {column: column.cells(table.rows) for column in table.columns}
    model = {c for c in laid if c.header.lower() == MODEL and len(set(laid[c][0])) > 1}
    levels = sorted({c.optional for c in laid if c not in model} - {0}, reverse=True)
    kept = [[c for c in laid if c in model or c.optional < level] for level in levels]
    kept = [list(laid), *filter(None, kept)]
    spare = [c for c in kept[-1] if not c.whole and c not in model]
    fewer = [[c for c in kept[-1] if c not in spare[n:]] for n in range(len(spare), -1, -1)]
    tries = [(kept[0], UNLIMITED), *((c, READABLE) for c in kept), *((c, 0) for c in fewer if c)]
    for shown, text in tries:
        boxed, width = _boxed(out, {column: laid[column] for column in shown}, text)
        if width <= out.width:
            break
    # Where an identifier is wider than the terminal, a line is longer, but not broken.
    Console(width=max(out.width, width)).print(boxed)
    omitted = [column for column in laid if column not in shown]
    for column in omitted:
        if column.header.lower() == MODEL:  # only where all rows have the same one
            _print_line(out, f"All rows: {MODEL} {laid[column][0][0]}.", "dim")
    if omitted:
        names = ", ".join(column.header for column in omitted)
        _print_line(out, f"Omitted for lack of width: {names} (--json has all).", "dim")


def _boxed(
    out: Console, shown: Mapping[Column[Any], tuple[list[str], bool]], text: int
) -> tuple[RichTable, int]:
    """Return a table whose texts are at least so wide, or a word, and the width that it needs.

    Identifiers and numbers are never broken; of numbers, the header may be.
    """
    firm = [numeric or column.whole for column, (_, numeric) in shown.items()]
    spans = [_measured(out, [column.header, *cells]) for column, (cells, _) in shown.items()]
    words = [span.minimum for span, fixed in zip(spans, firm, strict=True) if not fixed]
    text = max(text, min(READABLE, max(words, default=0)))
    boxed = RichTable()
    for (column, (cells, numeric)), span, fixed in zip(shown.items(), spans, firm, strict=True):
        least = max(_measured(out, cells).maximum, _measured(out, [column.header]).minimum)
        boxed.add_column(
            escape(column.header), justify="right" if numeric else "left", overflow="fold",
            width=least if fixed and text < UNLIMITED else min(span.maximum, text),
        )  # fmt: skip
    for row in zip(*(cells for cells, _ in shown.values()), strict=True):
        boxed.add_row(*map(escape, row))
    width = Measurement.get(out, out.options.update(width=UNLIMITED), boxed).maximum
    for column, fixed in zip(boxed.columns, firm, strict=True):
        column.width = column.width if fixed else None
    return boxed, width


def _measured(out: Console, texts: Sequence[str]) -> Measurement:
    """Return the width of the longest word and of the longest line."""
    return measure_renderables(out, out.options.update(width=UNLIMITED), [*map(Text, texts)])


def _print_plain(out: Console, table: Table[Any]) -> None:
    """Print a line a row, however long."""
    plain = RichTable(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    laid = [column.cells(table.rows) for column in table.columns]
    for column, (_, numeric) in zip(table.columns, laid, strict=True):
        plain.add_column(escape(column.header), justify="right" if numeric else "left")
    for row in zip(*(cells for cells, _ in laid), strict=True):
        plain.add_row(*(escape(" ".join(text.split())) for text in row))
    with out.capture() as printed:
        out.print(plain, no_wrap=True)
    for line in printed.get().splitlines():
        typer.echo(line.rstrip())


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


# Progress of long work, shown as one bar a stage on standard error.
#
# Everything below the service reports through a plain callable `(done, total, stage)`; only this
# file knows its appearance. Without a terminal nothing is drawn, so logs stay clean; a command
# that takes minutes writes lines instead.

OVERALL = ("edits", "states")
"""The stages that count the others; their bars stay in sight."""
SILENT_S = 3.0
"""Seconds without a line after which progress is one."""


class ProgressBars:
    """A context manager that is itself the callback: `with ProgressBars() as show: work(show)`.

    Args:
        lines: True to write lines where nothing is drawn.
    """

    def __init__(self, *, quiet: bool = False, lines: bool = False) -> None:
        quiet = quiet or _Said.quiet
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            transient=True,
            disable=quiet or not Console(stderr=True).is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._quiet = quiet
        self._lines = lines and not quiet and self._bars.disable
        self._began = self._written = time.monotonic()

    def __enter__(self) -> ProgressBars:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def note(self, text: str) -> None:
        """Print a sentence above the bars, on the standard error."""
        LOG.info(text)
        if not self._quiet:
            self._bars.stop()
            Console(stderr=True).print(text, style="dim", highlight=False, soft_wrap=True)
            self._bars.start()

    def line(self, text: str) -> None:
        """Write a line with the elapsed time on the standard error, where no bar is drawn."""
        LOG.info(text)
        if self._lines:
            self._written = time.monotonic()
            typer.echo(f"{self._written - self._began:6.1f} s  {text}", err=True)

    def __call__(self, done: int, total: int, stage: str) -> None:
        """Show that `done` of `total` steps of `stage` are finished."""
        if stage not in OVERALL and time.monotonic() - self._written > SILENT_S:
            self.line(f"  {stage}: {done} of {total}" if total > 1 else f"  {stage}")
        # Stages may carry a detail after a colon ("training: loss 0.3"): one bar, changing text.
        key = stage.split(":", 1)[0]
        if key not in self._tasks:
            LOG.debug("%s", f"{stage} (0 of {total})" if total > 1 else stage)
            for other, task in self._tasks.items():
                self._bars.update(task, visible=other in OVERALL)
            self._tasks[key] = self._bars.add_task(stage, total=total or None)
        self._bars.update(
            self._tasks[key], completed=done, total=total or None, description=stage, visible=True
        )
