"""Remove a stored graph: alone, or a data set with everything derived from it.

Edits, experiments, model graphs, rules and knowledge sets are derived from a data set and mean
nothing without it. So a data set that has any is removed only with an explicit option, and then
completely, the data set last. A removal that was killed in the middle is completed by repeating it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...cypher import rows
from ..base.errors import ConflictError
from ..base.formatting import pluralize
from .datasets import require_graph

if TYPE_CHECKING:
    from ...cypher.run import Database


def delete_graph(db: Database, graph: str, *, with_dependents: bool = False) -> tuple[str, ...]:
    """Remove a graph of any kind; the ids of the edits and fine-tunes that went with it.

    Their saved updates are files: the caller removes them.

    Args:
        with_dependents: remove with a data set everything derived from it.

    Raises:
        NotFoundError: there is no such graph.
        ConflictError: something was derived from it and `with_dependents` is not set; or an edit or
            a job of it is queued or runs; or it is the graph of an edit.
    """
    kind = require_graph(db, graph, kind=None).kind
    if kind == "edit" and db.read(rows.GetEditRow, "edits/get_edit", id=graph):
        raise ConflictError(
            f"{graph!r} is the graph of an edit, whose numbers are read from it.",
            remedy=f"Remove the edit, graph and all: `thinkeval results edits {graph} --delete`.",
        )
    if kind != "dataset":
        db.autocommit(int, "graph/delete_graph", graph=graph)
        return ()
    (found,) = db.read(rows.DependentsRow, "graph/dependents", graph=graph)
    _refuse_in_use(graph, found, with_dependents)
    # Records that the look-up above needs are deleted last: after a kill, it finds the rest again.
    for sweep in found.sweeps:
        db.write(int, "jobs/delete_sweep", id=sweep)
    for job in found.jobs:
        db.write(int, "jobs/delete", id=job)
    for each in found.sets:
        db.write(rows.DeleteSetRow, "depedit/delete_set", id=each)
    updates = [
        update
        for experiment in found.experiments
        for row in db.write(rows.DeleteExperimentRow, "experiments/delete", id=experiment)
        for update in row.updates
    ]
    for edit in found.edits:
        db.write(rows.DeleteEditRow, "edits/delete_edit", id=edit)
    for other in found.graphs:
        db.autocommit(int, "graph/delete_graph", graph=other)
    db.write(int, "rules/delete_rules", dataset=graph)
    db.autocommit(int, "graph/delete_graph", graph=graph)
    return (*found.edits, *updates)


def _refuse_in_use(graph: str, found: rows.DependentsRow, with_dependents: bool) -> None:
    if found.active:
        raise ConflictError(
            f"{found.active:,} of the edits and jobs of {graph!r} are queued or running.",
            remedy="Cancel them, or wait until they are finished; then delete the graph.",
        )
    listed = _listed(found)
    if listed and not with_dependents:
        raise ConflictError(
            f"Derived from {graph!r}: {', '.join(listed)}.",
            remedy="Give --with-dependents (REST: ?with_dependents=true) to delete all of it.",
        )


def _listed(found: rows.DependentsRow) -> list[str]:
    """The dependents in words, with their first ids."""
    named = (
        ("edit", found.edits),
        ("other graph", found.graphs),
        ("sweep", found.sweeps),
        ("knowledge set", found.sets),
        ("experiment", found.experiments),
    )
    texts = []
    for what, ids in named:
        if ids:
            first = ", ".join(ids[:3]) + (", …" if len(ids) > 3 else "")
            texts.append(f"{pluralize(len(ids), what)} ({first})")
    counts = (("protocol run", found.runs), ("rule", found.rules))
    return texts + [pluralize(n, what) for what, n in counts if n]
