"""Tables of the result pages: stored as JSON, written as Markdown between two marks of a page.

A file `docs/results/data/PAGE.json` has `tables`, by name; each table has `columns`, `rows` and
`measured` (what made it, when, on what). In `docs/results/PAGE.md` the line `<!-- table NAME -->`
begins such a table and `<!-- end NAME -->` ends it; what is between them is written from the JSON
and never by hand. Needs the standard library only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
"""The folder of the pages; their numbers are in its folder `data`."""

Table = Mapping[str, Any]
MARKED = re.compile(r"<!-- table (?P<name>[\w-]+) -->\n(?P<body>.*?)<!-- end (?P=name) -->", re.S)
MARK = re.compile(r"<!-- (?:table|end) [\w-]+ -->")


class ResultsError(Exception):
    """A page and its numbers do not fit together; the message says what to do."""


def read(page: str, folder: Path = RESULTS) -> dict[str, Any]:
    """The stored numbers of a page: {"tables": {name: table}}.

    Raises:
        ResultsError: there are none.
    """
    path = folder / "data" / f"{page}.json"
    if not path.is_file():
        raise ResultsError(f"No stored numbers at {path}.")
    return json.loads(path.read_text(encoding="utf-8"))


def write(page: str, stored: Mapping[str, Any], folder: Path = RESULTS) -> None:
    """Store the numbers of a page, one row of a table a line, so that a diff shows what moved."""
    tables = [f"  {json.dumps(name)}: {_table_json(t)}" for name, t in stored["tables"].items()]
    text = '{\n "tables": {\n' + ",\n".join(tables) + "\n }\n}\n"
    json.loads(text)
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (folder / "data" / f"{page}.json").write_text(text, encoding="utf-8")


def _table_json(table: Table) -> str:
    def lines(values: Sequence[object]) -> str:
        return ",\n".join(f"    {json.dumps(value, ensure_ascii=False)}" for value in values)

    return (
        f'{{\n   "measured": {json.dumps(table["measured"], ensure_ascii=False)},\n'
        f'   "columns": [\n{lines(table["columns"])}\n   ],\n'
        f'   "rows": [\n{lines(table["rows"])}\n   ]\n  }}'
    )


def pages(folder: Path = RESULTS) -> list[str]:
    """The pages with stored numbers, by name."""
    return sorted(path.stem for path in (folder / "data").glob("*.json"))


def rendered(page: str, folder: Path = RESULTS) -> str:
    """The text of a page with its tables as the stored numbers say.

    Raises:
        ResultsError: a table has no place in the text, or a place has no table.
    """
    path = folder / f"{page}.md"
    tables = read(page, folder)["tables"]
    text = path.read_text(encoding="utf-8")
    placed = [found["name"] for found in MARKED.finditer(text)]
    if len(MARK.findall(text)) != 2 * len(placed):
        raise ResultsError(f"{path}: a mark of a table has no partner.")
    if sorted(placed) != sorted(tables):
        raise ResultsError(f"{path} has places for {placed}, its numbers are {list(tables)}.")

    def block(found: re.Match[str]) -> str:
        name = found["name"]
        return f"<!-- table {name} -->\n{markdown(tables[name])}<!-- end {name} -->"

    return MARKED.sub(block, text)


def markdown(table: Table) -> str:
    """A table with the line below it that says where its numbers come from."""
    columns = table["columns"]
    for row in table["rows"]:
        if len(row) != len(columns):
            raise ResultsError(f"A row has {len(row)} cells for {len(columns)} columns: {row}")
    rule = ["---:" if "digits" in column else "---" for column in columns]
    cells = [
        [cell(value, column) for value, column in zip(row, columns, strict=True)]
        for row in table["rows"]
    ]
    lines = [[column["title"] for column in columns], rule, *cells]
    body = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"\n{body}\n{origin(table['measured'])}\n\n"


def cell(value: Any, column: Mapping[str, Any]) -> str:
    """A text as it is; a number, or [number, low, high], with the digits of its column."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        own, low, high = value
        digits = column.get("bounds", column["digits"])
        ends = "no interval" if low is None else f"{low:.{digits}f} to {high:.{digits}f}"
        return f"{cell(own, column)} ({ends})".replace(" ", "\N{NO-BREAK SPACE}")
    return f"{value:,.{column['digits']}f}"


def origin(measured: Mapping[str, Any]) -> str:
    """When, with which version, by what and on which machine."""
    day = date.fromisoformat(measured["on"])
    version = measured["thinkeval"] + (f" ({measured['commit']})" if "commit" in measured else "")
    commands = " and ".join(f"`{command}`" for command in measured["by"])
    made = commands or "the command of each row, on the day it names"
    note = f" {measured['note']}" if "note" in measured else ""
    return (
        f"*Measured on {day.day} {day:%B %Y} with ThinkEval {version} by {made}; "
        f"{measured['machine']}.{note}*"
    )
