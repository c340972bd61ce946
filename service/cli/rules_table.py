"""A list of rules as `thinkeval rules` prints it: a table, or a format to paste."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from thinkeval.service.cli.options import emit_json, emit_table, emit_text
from thinkeval.service.errors import UsageError

if TYPE_CHECKING:
    from thinkeval.service.rules.store import StoredRule


class TableFormat(StrEnum):
    """How the list of rules is printed."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"
    latex = "latex"


def print_rules(
    title: str, found: Sequence[StoredRule], style: TableFormat, output: Path | None, json: bool,
    note: str,
) -> None:  # fmt: skip
    """Print rules; to a file where one is given.

    Raises:
        UsageError: a table is to be written to a file.
    """
    from thinkeval.service.rules.schemas_rules import RuleOut

    if json or style is TableFormat.json:
        emit_json([RuleOut.of(r).model_dump() for r in found], output)
        return
    columns = ["rule", "text", "support", "body", "confidence", "status", "labels"]
    body = [
        (r.id, r.rule.text(), r.rule.support, r.rule.body, r.rule.confidence, r.status,
         " ".join(f"{who}:{said}" for who, said in r.labels))
        for r in found
    ]  # fmt: skip
    if style is TableFormat.table:
        if output is not None:
            raise UsageError("-o writes a format, not a table.", remedy="Add --format csv.")
        emit_table(title, columns, body, note=note)
        return
    import pandas as pd

    from thinkeval.service.reports.formats import render

    emit_text(render(pd.DataFrame(body, columns=columns).astype(object), style.value), output)
