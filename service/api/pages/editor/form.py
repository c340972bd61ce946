"""The table editor's form: its fields as tables, and tables checked as the import does it."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import Request

from .....loaders import graph_yaml
from .....loaders.errors import LoaderError
from .....loaders.records import LoadedGraph
from ....errors import UsageError
from ....graphs.tables import (
    COLUMNS,
    RowProblem,
    Tables,
    problems,
    to_yaml,
)

MOST_ROWS = 3000
"""Rows of one table that the editor takes; larger graphs are files."""
_MOST_FIELDS = MOST_ROWS * sum(len(columns) for columns in COLUMNS.values())


@dataclass(frozen=True, slots=True)
class Sent:
    """What the form sent: the tables, the button (`check`, `yaml`, `store`), the box `replace`."""

    tables: Tables
    action: str
    replace: bool


@dataclass(frozen=True, slots=True)
class Checked:
    """Tables after the check.

    Attributes:
        flaws: problems of single rows.
        problem: a problem of the whole, empty without one.
        text: the YAML; empty with a problem.
        loaded: what an import of the YAML would store; None with a problem.
    """

    flaws: list[RowProblem] = field(default_factory=list)
    problem: str = ""
    text: str = ""
    loaded: LoadedGraph | None = None


async def sent(request: Request) -> Sent:
    """The form of a request; rows with nothing in them are no rows.

    Raises:
        UsageError: the columns of a table have different lengths.
    """
    async with request.form(max_files=0, max_fields=_MOST_FIELDS) as form:
        found: dict[str, tuple[dict[str, str], ...]] = {}
        for table, columns in COLUMNS.items():
            cells = [[_text(c) for c in form.getlist(f"{table}.{name}")] for name in columns]
            if len({len(column) for column in cells}) > 1:
                raise UsageError(
                    f"The columns of the table {table} have different lengths.",
                    remedy="Send every cell of every row, also those that are empty.",
                )
            rows = (dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True))
            found[table] = tuple(row for row in rows if any(row.values()))
        tables = Tables(_text(form.get("name", "")), **found)
        return Sent(tables, str(form.get("action", "check")), bool(form.get("replace")))


def _text(value: object) -> str:
    """A field without white space at its ends, with one kind of line end."""
    return value.strip().replace("\r\n", "\n") if isinstance(value, str) else ""


def check(tables: Tables, allowed_name: str) -> Checked:
    """The problems of the tables; without any, the YAML and what it would store.

    Args:
        allowed_name: pattern of the names that data sets may have.
    """
    if not re.fullmatch(allowed_name, tables.name) or len(tables.name) > 100:
        said = "Name the data set with at most 100 letters, digits, spaces and . _ @ : + -."
        return Checked(problems(tables), said)
    for table in COLUMNS:
        if (n := len(tables.rows(table))) > MOST_ROWS:
            return Checked(problem=f"The table {table} has {n:,} rows; {MOST_ROWS:,} fit here.")
    if flaws := problems(tables):
        return Checked(flaws)
    if not tables.facts:
        return Checked(problem="There are no facts yet.")
    text = to_yaml(tables)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.yaml"
        path.write_text(text, encoding="utf-8")
        try:
            return Checked(text=text, loaded=graph_yaml.load(path))
        except LoaderError as error:
            return Checked(problem=error.detail.replace(f"{path}: ", ""))
