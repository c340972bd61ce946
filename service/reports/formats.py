"""Tables as lists of columns, and their text formats; a report's table as a Parquet file.

A table is a sequence of rows and a list of `Column`: the terminal (`cli.output`), Markdown, CSV,
LaTeX and JSON render the same columns.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import UsageError
from ..formatting import cell

if TYPE_CHECKING:
    import pandas as pd

Row = TypeVar("Row")


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
    """

    header: str
    get: Callable[[Row], Any]
    format: Callable[[Any], str] = cell
    whole: bool = False
    optional: int = 0


@dataclass(frozen=True, slots=True)
class Table(Generic[Row]):
    """One table: the terminal, pages and files render the same columns and rows.

    Attributes:
        name: its name in addresses and options, such as `drift`.
        title: a line above it.
        note: sentences below it, which say how its numbers are defined.
        values: columns for programs, one number a cell (CSV, JSON); None: the same columns.
    """

    name: str
    title: str
    columns: Sequence[Column[Row]]
    rows: Sequence[Row]
    note: str = ""
    values: Sequence[Column[Row]] | None = None


def indexed(*headers: str) -> list[Column[Sequence[Any]]]:
    """Columns of rows that are sequences, one header an item."""
    return [Column(header, itemgetter(i)) for i, header in enumerate(headers)]


def frame_table(frame: pd.DataFrame) -> tuple[list[Column[Mapping[str, Any]]], list[Any]]:
    """Columns and rows of a data frame."""
    columns: list[Column[Mapping[str, Any]]] = [
        Column(str(name), itemgetter(name)) for name in frame.columns
    ]
    return columns, frame.to_dict("records")


def _markdown(columns: Sequence[Column[Any]], rows: Sequence[Any]) -> str:
    lines = ["| " + " | ".join(c.header for c in columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(c.format(c.get(row)) for c in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _latex(columns: Sequence[Column[Any]], rows: Sequence[Any]) -> str:
    """Rows only, to paste below an existing header; a comment names the columns."""
    escape = str.maketrans({"_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#", "–": "--"})
    lines = ["% " + " & ".join(c.header for c in columns)]
    for row in rows:
        texts = [c.format(c.get(row)).translate(escape) for c in columns]
        lines.append(" & ".join(texts) + r" \\")
    return "\n".join(lines) + "\n"


def _csv(columns: Sequence[Column[Any]], rows: Sequence[Any]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([c.header for c in columns])
    writer.writerows([_defined(c.get(row)) for c in columns] for row in rows)
    return out.getvalue()


def _json(columns: Sequence[Column[Any]], rows: Sequence[Any]) -> str:
    records = [{c.header: _defined(c.get(row)) for c in columns} for row in rows]
    return json.dumps(records, ensure_ascii=False, indent=2) + "\n"


def _defined(value: Any) -> Any:
    """The value; None instead of NaN, which CSV leaves empty and JSON writes as null."""
    return None if isinstance(value, float) and math.isnan(value) else value


FORMATS: dict[str, Callable[[Sequence[Column[Any]], Sequence[Any]], str]] = {
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
            remedy="Write it to a file: thinkeval report -f parquet -o FILE.",
        )


def render(columns: Sequence[Column[Row]], rows: Sequence[Row], style: str) -> str:
    """The table as text; `style` is one of FORMATS.

    Raises:
        UsageError: it is not.
    """
    require_known(style, printed=True)
    return FORMATS[style](columns, rows)


def render_table(table: Table[Any], style: str) -> str:
    """A table as text; CSV and JSON have its columns for programs.

    Raises:
        UsageError: `style` is not one of FORMATS.
    """
    columns = table.columns if style in ("markdown", "latex") else table.values or table.columns
    return render(columns, table.rows, style)


def parquet(frame: pd.DataFrame, caption: str = "") -> bytes:
    """The table as a Parquet file; pandas restores the caption as `frame.attrs["caption"]`."""
    out = io.BytesIO()
    captioned = frame.copy()
    captioned.attrs["caption"] = caption
    captioned.to_parquet(out, engine="pyarrow", index=False)
    return out.getvalue()
