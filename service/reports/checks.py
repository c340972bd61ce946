"""The table of the questions that a data set asks after an edit."""

from __future__ import annotations

from collections.abc import Sequence

from ...cypher.rows.checks import CheckCounts
from .formats import Column, Table

NOTE = (
    "The model's own words, in a chat or behind examples; an item is one question, or a group that"
    " counts as one. n: items with a decided answer after the edit; left out: the unedited model"
    " did not meet an item's conditions. Old answer: right before the edit."
)

STATED = "File: as the file states it, by its own tool's protocol: not to be compared with ours."


def checks_table(found: Sequence[CheckCounts]) -> Table[CheckCounts]:
    """One row a criterion; results that the file states beside ours, where there are any."""
    columns: list[Column[CheckCounts]] = [
        Column("criterion", lambda row: row.criterion, whole=True),
        Column("n", lambda row: row.n),
        Column("left out", lambda row: row.left_out, optional=3),
        Column("right before", lambda row: row.right_pre),
        Column("right after", lambda row: row.right),
        Column("old answer before", lambda row: row.old_pre, optional=2),
        Column("old answer after", lambda row: row.old, optional=1),
    ]
    note = NOTE
    if any(row.n_stated for row in found):
        note = f"{NOTE} {STATED}"
        columns += [
            Column("file: before", lambda row: row.stated_pre, optional=2),
            Column("file: after", lambda row: row.stated),
        ]
    values: list[Column[CheckCounts]] = [
        Column(name, lambda row, name=name: getattr(row, name))
        for name in CheckCounts.model_fields
        if name != "answers"
    ]
    return Table("checks", "Questions of the data set", columns, found, note, values)
