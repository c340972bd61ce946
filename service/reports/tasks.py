"""The table of tasks of lm-eval."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.formatting import short, signed_interval
from ..models.tasks import TaskOut
from .formats import Column, Table

NOTE = (
    "The first n documents of each task, asked without a chat template, as lm-eval does. After −"
    " before with its 95 % interval, paired over the documents; rose and fell count documents. p is"
    " McNemar's exact one where values are 0 or 1, else that of the paired t test; adjusted by Holm"
    " over all rows."
)


def tasks_table(found: Sequence[TaskOut], state: str = "") -> Table[TaskOut]:
    """One row a task and metric.

    Args:
        state: name of the state that was asked after; "" for an edit.
    """
    title = "Tasks of lm-eval" + (f": {state}" if state else "")
    columns: list[Column[TaskOut]] = [
        Column("task", lambda row: row.task, whole=True),
        Column("metric", lambda row: row.metric),
        Column("n", lambda row: row.n),
        Column("before", lambda row: row.before),
        Column("after", lambda row: row.after),
        Column("after − before", lambda row: signed_interval(row.difference, row.low, row.high)),
        Column("rose", lambda row: row.rose, optional=1),
        Column("fell", lambda row: row.fell, optional=1),
        Column("p", lambda row: row.p, short, optional=2),
        Column("p adjusted", lambda row: row.p_adjusted, short),
        Column("note", lambda row: row.reason or "", optional=3),
    ]
    values: list[Column[TaskOut]] = [
        Column(name, lambda row, name=name: getattr(row, name)) for name in TaskOut.model_fields
    ]
    return Table("tasks", title, columns, found, NOTE, values)
