"""Tables as lists of columns, and their text formats; a report's table as a Parquet file.

A table is a sequence of rows and a list of `Column`: the terminal (`cli.output`), Markdown, CSV,
LaTeX and JSON render the same columns.
"""

from __future__ import annotations

import io
import json
import math
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ..base.errors import UsageError
from ..base.formatting import UNDEFINED, cell

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd


Row = TypeVar("Row")


class OfMethod(Protocol):
    """A result of one method on one model."""

    model: str
    method: str


Result = TypeVar("Result", bound=OfMethod)


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One column of a table.

    Attributes:
        header: its title.
        get: reads the value of a row; CSV and JSON write it unformatted.
        format: the value as text.
        whole: an identifier, which a terminal never wraps.
        optional: the higher, the earlier a narrow terminal omits the column, together with others
            of this level. 0: after all others, and never if the column is `whole`.
        link: the address that a page links the cell to; None: no link.
    """

    header: str
    get: Callable[[Row], Any]
    format: Callable[[Any], str] = cell
    whole: bool = False
    optional: int = 0
    link: Callable[[Row], str | None] | None = None

    def cells(self, rows: Iterable[Row]) -> tuple[list[str], bool]:
        """Return the texts of the column, and True if its values are numbers."""
        values = [self.get(row) for row in rows]
        texts = [self.format(value) for value in values]
        return texts, any(isinstance(value, int | float) for value in values)


@dataclass(frozen=True, slots=True)
class Table(Generic[Row]):
    """One table: the terminal, pages and files render the same columns and rows.

    Attributes:
        name: its name in addresses and options, such as `drift`.
        title: a line above it.
        note: sentences below it: findings, warnings, and what its marks mean.
        values: columns for programs, one number a cell (CSV, JSON, Parquet); None: the
            same columns.
        paper: columns of a table in a paper (LaTeX), few and narrow; None: the same columns.
        rules: sentences on how its numbers are defined: in files, folded on a page, in a terminal
            on demand.
    """

    name: str
    title: str
    columns: Sequence[Column[Row]]
    rows: Sequence[Row]
    note: str = ""
    values: Sequence[Column[Row]] | None = None
    paper: Sequence[Column[Row]] | None = None
    rules: str = ""

    @property
    def caption(self) -> str:
        """All sentences below it."""
        return " ".join(filter(None, (self.note, self.rules)))


def methods_as_columns(
    found: Sequence[Result],
    label: Callable[[Result], str],
    format: Callable[[Result | None], str],
    names: Mapping[str, str] | None = None,
) -> tuple[list[Column[list[Result]]], list[Column[list[Result]]], list[list[Result]]]:
    """Arrange results as one row a model and label, and one column a method.

    Args:
        label: names the row of a result within its model.
        format: the cell of a method; None where it has no result in that row.
        names: headers of methods; default: the methods themselves.

    Returns:
        The column of the models (none where there is one), a column a method, and the rows.
    """
    rows: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for each in found:
        rows[each.model, label(each)].append(each)

    def of(method: str) -> Callable[[list[Result]], Result | None]:
        return lambda row: next((each for each in row if each.method == method), None)

    several = len({each.model for each in found}) > 1
    models: list[Column[list[Result]]] = [Column("model", lambda row: row[0].model)] * several
    methods = [
        Column((names or {}).get(method, method), of(method), format)
        for method in dict.fromkeys(each.method for each in found)
    ]
    return models, methods, list(rows.values())


def indexed(*headers: str) -> list[Column[Sequence[Any]]]:
    """Columns of rows that are sequences, one header an item."""
    return [Column(header, itemgetter(i)) for i, header in enumerate(headers)]


def frame_table(frame: pd.DataFrame, note: str = "") -> Table[Mapping[str, Any]]:
    """Return the table of a data frame."""
    columns: list[Column[Mapping[str, Any]]] = [
        Column(str(name), itemgetter(name)) for name in frame.columns
    ]
    rows: list[Any] = frame.to_dict("records")
    return Table("frame", "", columns, rows, note)


def joined(table: Table[Row], path: Path) -> Table[Row]:
    """The table with the columns of a CSV file, joined by the table's first column.

    A row that the file does not name has no values there; where it names no row, the table is as
    it was.

    Args:
        path: its first column has names as the table's first one.

    Raises:
        UsageError: the file cannot be read, has one column, or names a row twice.
    """
    import pandas as pd  # `--help` does not wait for it

    from ..graphs.datasets import read_apart

    read = read_apart(_read_frame, path)
    first, *others = read.columns
    if not others:
        raise UsageError(
            f"{path} has one column, {str(first)[:100]!r}.", remedy="Add the values to join."
        )
    if (twice := read[first].duplicated()).any():
        name = read[first][twice].iloc[0]
        raise UsageError(f"{path} names {name!r} twice.", remedy="Keep one of the rows.")
    found = {
        row[first]: {name: None if pd.isna(row[name]) else row[name] for name in others}
        for row in read.astype(object).to_dict("records")
    }
    if not found.keys() & set(table.columns[0].cells(table.rows)[0]):
        return table

    def get(row: Row, name: str) -> Any:
        (key,), _ = table.columns[0].cells([row])
        return found.get(key, {}).get(name)

    more: list[Column[Row]] = [Column(name, partial(get, name=name)) for name in others]
    wider = None if table.values is None else [*table.values, *more]
    return replace(table, columns=[*table.columns, *more], values=wider)


def _read_frame(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_csv(path, converters={0: str.strip}, skipinitialspace=True)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path} cannot be read as a table: {error}.", remedy="Save it as CSV, in UTF-8."
        ) from error


def _frame(table: Table[Any]) -> pd.DataFrame:
    """Return the values as a data frame of objects: 3 stays 3 beside None."""
    import pandas as pd  # `--help` does not wait for it

    columns = table.values or table.columns
    cells = [[column.get(row) for row in table.rows] for column in columns]
    headers = [column.header for column in columns]
    return pd.DataFrame(list(zip(*cells, strict=True)), columns=headers, dtype=object)


def _markdown(table: Table[Any]) -> str:
    lines = [[c.header for c in table.columns], ["---"] * len(table.columns)]
    lines += [
        list(row) for row in zip(*(c.cells(table.rows)[0] for c in table.columns), strict=True)
    ]
    text = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    return text + f"\n{table.caption}\n" * bool(table.caption)


def _latex(table: Table[Any]) -> str:
    """A tabular with the rules of booktabs; the note is a comment above it.

    A cell of two lines, a value with its interval below it, takes a second row of the tabular.
    """
    import pandas as pd  # `--help` does not wait for it

    columns = table.paper or table.columns
    cells = [column.cells(table.rows) for column in columns]
    lines = [
        line
        for row in zip(*(texts for texts, _ in cells), strict=True)
        for line in zip_longest(*(text.split("\n") for text in row), fillvalue="")
    ]
    frame = pd.DataFrame(lines, columns=[column.header for column in columns], dtype=object)
    style = frame.style.hide(axis="index").format(escape="latex")
    text = style.format_index(escape="latex", axis="columns").to_latex(
        hrules=True, column_format="".join("lr"[n or _numeric(texts)] for texts, n in cells)
    )
    said = textwrap.wrap(table.caption, 96, break_long_words=False, break_on_hyphens=False)
    return ("".join(f"% {line}\n" for line in said) + text).replace("–", "--")


def _numeric(texts: Sequence[str]) -> bool:
    """True if every text begins as a number does, or is undefined."""
    return bool(texts) and all(text[:1] in {*"0123456789+-", UNDEFINED} for text in texts)


def _csv(table: Table[Any]) -> str:
    return _frame(table).to_csv(index=False, lineterminator="\n")


def _json(table: Table[Any]) -> str:
    return json.dumps(records(table), ensure_ascii=False, indent=2) + "\n"


def records(table: Table[Any]) -> list[dict[str, Any]]:
    """Return the rows as JSON has them: {header: value}, of the columns for programs."""
    columns = table.values or table.columns
    return [{c.header: defined(c.get(row)) for c in columns} for row in table.rows]


def defined(value: Any) -> Any:
    """Return the value, or None instead of NaN, which JSON lacks."""
    return None if isinstance(value, float) and math.isnan(value) else value


FORMATS: dict[str, Callable[[Table[Any]], str]] = {
    "markdown": _markdown,
    "csv": _csv,
    "json": _json,
    "latex": _latex,
}
"""The text formats."""

PARQUET = "parquet"
"""The binary format."""


def require_known(style: str, *, printed: bool) -> None:
    """Refuse an unknown format, and a binary one that would be printed.

    Raises:
        UsageError: lists the known formats.
    """
    if style not in (*FORMATS, PARQUET):
        raise UsageError(
            f"{style!r} is not a table format.",
            remedy=f"Use one of {', '.join((*FORMATS, PARQUET))}.",
        )
    if printed and style == PARQUET:
        raise UsageError(
            "Parquet is a binary format and cannot be printed.",
            remedy="Write it to a file: add -o FILE.",
        )


def render(table: Table[Row], style: str) -> str:
    """Return the table as text, in Markdown and LaTeX with its caption; others have its values.

    Raises:
        UsageError: `style` is not one of FORMATS.
    """
    require_known(style, printed=True)
    return FORMATS[style](table)


def parquet(table: Table[Row]) -> bytes:
    """Return the table as a Parquet file; pandas restores `frame.attrs["caption"]`."""
    out = io.BytesIO()
    frame = _frame(table).infer_objects()
    frame.attrs["caption"] = table.caption
    frame.to_parquet(out, engine="pyarrow", index=False)
    return out.getvalue()
