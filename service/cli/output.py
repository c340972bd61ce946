"""Output of the commands: tables, JSON and text, and progress on standard error."""

from __future__ import annotations

import codecs
import io
import json
import logging
import os
import re
import sys
import textwrap
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any

from pydantic import BaseModel
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
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
# until the texts of the others are readable; then texts become narrower, and at last rows are
# paragraphs; no identifier and no word is broken. Where standard output is not a terminal, tables
# are plain lines, one a row and of any length; with COLUMNS in the environment they are fitted to
# that width.

ESCAPES = "thinkeval-escapes"
"""Name of the way to encode what an encoding lacks, see `print_unencodable`."""

UNLIMITED = 1_000_000
"""Width of plain output: no line is wrapped."""

READABLE = 20
"""Optional columns are omitted before texts become narrower."""

MODEL = "model"
"""Header of the column that stays where rows are of several models: others are omitted first."""

TABLE, JSON = "table", "json"
"""Formats: for the terminal, and of the whole result."""


def print_unencodable() -> None:
    r"""Have both streams print an escape (`\u2264`) for a character that their encoding lacks.

    The escape is JSON's, so that JSON stays JSON. It replaces whatever Python chose: in the C
    locale that is a way which fails for every character that ASCII lacks.
    """

    def escaped(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        return json.dumps(error.object[error.start : error.end])[1:-1], error.end

    codecs.register_error(ESCAPES, escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ESCAPES)


def console(*, err: bool = False) -> Console:
    """Standard output or error; without a terminal and without COLUMNS no line is wrapped.

    All that commands print is printed by it or by `emit_text`: on streams that take the progress
    bars away first, in the encoding of the stream.
    """
    stream = sys.stderr if err else sys.stdout
    out = Console(file=stream, emoji=False)
    if not _plain(out):
        return out
    return Console(file=stream, emoji=False, width=UNLIMITED, soft_wrap=True)


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


class _Printed(logging.Handler):
    """Prints records as commands print notices: on the standard error of the moment."""

    def emit(self, record: logging.LogRecord) -> None:
        _print_line(console(err=True), self.format(record))


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
        shown = _Printed()
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
    """Print a paragraph on standard error, unless only errors are wanted."""
    LOG.info(text)
    if not _Said.quiet:
        _print_line(console(err=True), text)


def emit_error(text: str) -> None:
    """Print a paragraph on standard error, in a terminal without breaking words."""
    LOG.error(text)
    _print_line(console(err=True), text)


def emit_json(value: Any, output: Path | None = None) -> None:
    """Print a value as JSON on standard output, or write it to the file."""
    emit_text(json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n", output)


def emit_values(
    title: str, values: Mapping[str, object] | Iterable[tuple[str, object]], *, note: str = ""
) -> None:
    """Print named values as a table of two columns."""
    pairs = list(values.items() if isinstance(values, Mapping) else values)
    emit_table(Table("values", title, indexed("what", "value"), pairs, note))


def emit_table(table: Table[Any], *, protocol: bool = True) -> None:
    """Print a table: numbers aligned right, texts left; the note below it.

    Args:
        protocol: print the rules of its numbers too.
    """
    out = console()
    note = table.caption if protocol else table.note
    if not table.rows:
        _print_line(out, f"{table.title}: {table.note or 'none'}")
        return
    _print_line(out, table.title, "table.title")
    (_print_plain if out.soft_wrap else _print_boxed)(out, table)
    if note:
        _print_line(out, note, "dim")


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
    """Return the format of a report: by default a table, in a file Markdown."""
    return chosen_format(format, json, output, TABLE if output is None else "markdown")


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
    """Print a text as it is on standard output, or write it to the file."""
    if output is None:
        sys.stdout.write(text.rstrip("\n") + "\n")
        sys.stdout.flush()
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
    then texts become as narrow as their longest word. Where that does not fit, a row is a
    paragraph of all its columns.
    """
    laid = {column: column.cells(table.rows) for column in table.columns}
    model = {c for c in laid if c.header.lower() == MODEL and len(set(laid[c][0])) > 1}
    levels = sorted({c.optional for c in laid if c not in model} - {0}, reverse=True)
    kept = [[c for c in laid if c in model or c.optional < level] for level in levels]
    kept = [list(laid), *filter(None, kept)]
    tries = [(kept[0], UNLIMITED), *((c, READABLE) for c in kept), (kept[-1], 0)]
    for shown, text in tries:
        widths = _widths(out, {column: laid[column] for column in shown}, text)
        if widths is not None:
            break
    else:
        _print_paragraphs(out, laid)
        return
    boxed = RichTable()
    for column, width in zip(shown, widths, strict=True):
        justify = "right" if laid[column][1] else "left"
        boxed.add_column(escape(column.header), justify=justify, overflow="fold", width=width)
    for row in zip(*(laid[column][0] for column in shown), strict=True):
        boxed.add_row(*map(escape, row))
    out.print(boxed)
    omitted = [column for column in laid if column not in shown]
    for column in omitted:
        if column.header.lower() == MODEL:  # only where all rows have the same one
            _print_line(out, f"All rows: {MODEL} {laid[column][0][0]}.", "dim")
    if omitted:
        names = ", ".join(column.header for column in omitted)
        _print_line(out, f"Omitted for lack of width: {names} (--json has all).", "dim")


def _print_paragraphs(out: Console, laid: Mapping[Column[Any], tuple[list[str], bool]]) -> None:
    """Print each row as its first column and, below it, the headers and texts of the others."""
    for first, *rest in zip(*(cells for cells, _ in laid.values()), strict=True):
        _print_line(out, first)
        named = zip(list(laid)[1:], (" ".join(text.split()) for text in rest), strict=True)
        said = ", ".join(f"{column.header} {text}" for column, text in named if text)
        _print_line(out, said, "dim", indent=2)


def _widths(
    out: Console, shown: Mapping[Column[Any], tuple[list[str], bool]], text: int
) -> list[int] | None:
    """Return a width for each column; None if they do not fit.

    Identifiers, numbers and words are never broken; of numbers, the header may be.

    Args:
        text: least width of texts that are longer.
    """
    widths, most = [], []
    for column, (cells, numeric) in shown.items():
        span = _measured(out, [column.header, *cells])
        if text < UNLIMITED and (numeric or column.whole):
            least = max(_measured(out, cells).maximum, _measured(out, [column.header]).minimum)
            span = Measurement(least, least)
        widths.append(min(span.maximum, max(text, span.minimum)))
        most.append(span.maximum)
    room = out.width - sum(widths) - EDGES * len(widths) - 1
    if room < 0:
        return None
    while room and widths != most:  # the narrowest of those that are cut gets the next character
        growing = [i for i, width in enumerate(widths) if width < most[i]]
        widths[min(growing, key=widths.__getitem__)] += 1
        room -= 1
    return widths


EDGES = 3
"""Characters of a boxed column beside its text: a frame and two blanks."""


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
    emit_text("\n".join(line.rstrip() for line in printed.get().splitlines()), None)


def emit_note(text: str, style: str | None = None, *, indent: int = 0) -> None:
    """Print a paragraph; in a terminal its lines end between words, none of which is broken.

    Args:
        indent: of the first line; the others are indented twice as far.
    """
    _print_line(console(), text, style, indent)


_ARGUMENT = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""")
"""An argument of a command with its quotes."""


def emit_command(text: str) -> None:
    r"""Print a command so that it can be copied; a long one has a `\` at the end of its lines."""
    out = console()
    first, *words = _ARGUMENT.findall(text)
    lines = [f"  {first}"]
    for word in words:
        if not out.soft_wrap and cell_len(f"{lines[-1]} {word} \\") > out.width:
            lines[-1] += " \\"
            lines.append(f"    {word}")
        else:
            lines[-1] += f" {word}"
    for line in lines:
        out.print(line, highlight=False, markup=False, overflow="ignore", crop=False)


def _print_line(out: Console, text: str, style: str | None = None, indent: int = 0) -> None:
    """Print paragraphs; words that are longer than the terminal is wide are not broken."""
    first = " " * indent
    for line in text.split("\n"):
        if out.soft_wrap:
            line = first + line
        else:
            line = textwrap.fill(
                line, out.width, initial_indent=first, subsequent_indent=2 * first,
                break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip
        out.print(line, style=style, highlight=False, markup=False, overflow="ignore", crop=False)


# Progress of long work, shown as one bar a stage on standard error.
#
# Everything below the service reports through a plain callable `(done, total, stage)`; only this
# file knows its appearance. Without a terminal nothing is drawn, so logs stay clean; a command
# that takes minutes writes lines instead.

OVERALL = ("edits", "states")
"""The stages that count the others; their bars stay in sight."""
SILENT_S = 3.0
"""Seconds without a line after which progress is one."""


class _Pausing:
    """A stream that takes the bars from the terminal before anything is written to it."""

    def __init__(self, stream: Any, bars: ProgressBars) -> None:
        self._stream, self._bars = stream, bars

    def write(self, text: str) -> int:
        self._bars.pause(text)
        return self._stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class ProgressBars:
    """A context manager that is itself the callback: `with ProgressBars() as show: work(show)`.

    Bars and results share the terminal: the bars are drawn from the first progress on, whatever is
    written to standard output or error takes them away first, and the next progress after a whole
    line draws them again, below it.

    Args:
        lines: True to write lines where nothing is drawn.
    """

    def __init__(self, *, lines: bool = False) -> None:
        err = Console(file=sys.stderr, emoji=False)
        self._bars = Progress(
            SpinnerColumn("dots" if err.encoding.startswith("utf") else "line"),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
            console=err,
            disable=_Said.quiet or not err.is_interactive,
        )
        self._tasks: dict[str, TaskID] = {}
        self._lines = lines and not _Said.quiet and self._bars.disable
        self._began = self._written = time.monotonic()
        self._lock = RLock()
        self._streams: dict[str, tuple[Any, _Pausing]] = {}
        self._whole_line = True

    def __enter__(self) -> ProgressBars:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def pause(self, text: str) -> None:
        """Take the bars away for a text, which is written next."""
        with self._lock:
            if text:
                self._whole_line = text.endswith("\n")
                self._bars.stop()

    def end(self) -> None:
        """Take the bars away, and give both streams back; the next progress draws them again."""
        with self._lock:
            self._bars.stop()
            for name, (stream, ours) in self._streams.items():
                if getattr(sys, name) is ours:
                    setattr(sys, name, stream)
            self._streams.clear()
            self._whole_line = True

    def _draw(self) -> None:
        if self._bars.disable or not self._whole_line:
            return
        for name in ("stdout", "stderr"):
            if name not in self._streams:
                stream = getattr(sys, name)
                self._streams[name] = stream, _Pausing(stream, self)
                setattr(sys, name, self._streams[name][1])
        if not self._bars.live.is_started:  # one that was stopped erases lines when it starts again
            self._bars.live = Live(
                console=self._bars.console, get_renderable=self._bars.get_renderable,
                transient=True, redirect_stdout=False, redirect_stderr=False,
                refresh_per_second=10,
            )  # fmt: skip
            self._bars.start()

    def note(self, text: str) -> None:
        """Print a sentence above the bars, on the standard error."""
        notice(text)

    def line(self, text: str) -> None:
        """Write a line with the elapsed time on the standard error, where no bar is drawn."""
        LOG.info(text)
        if self._lines:
            self._written = time.monotonic()
            _print_line(console(err=True), f"{self._written - self._began:6.1f} s  {text}")

    def __call__(self, done: int, total: int, stage: str) -> None:
        """Show that `done` of `total` steps of `stage` are finished."""
        if stage not in OVERALL and time.monotonic() - self._written > SILENT_S:
            self.line(f"  {stage}: {done} of {total}" if total > 1 else f"  {stage}")
        # Stages may carry a detail after a colon ("training: loss 0.3"): one bar, changing text.
        key = stage.split(":", 1)[0]
        if key not in self._tasks:
            LOG.debug("%s", f"{stage} (0 of {total})" if total > 1 else stage)
        with self._lock:
            if key not in self._tasks:
                for other, task in self._tasks.items():
                    self._bars.update(task, visible=other in OVERALL)
                self._tasks[key] = self._bars.add_task(stage, total=total or None)
            self._bars.update(
                self._tasks[key],
                completed=done, total=total or None, description=stage, visible=True,
            )  # fmt: skip
            self._draw()
