"""Remove an edit, or a stored graph: alone, or a data set with all that was made of it.

Edits, what models know, rules and knowledge sets are made of a data set and mean nothing without
it. So a data set that has any is not removed by the way: who removes it says so, and then all of it
goes, the data set last. Killed in the middle, it is removed by asking again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.service.errors import ConflictError
from thinkeval.service.formatting import several
from thinkeval.service.graphs.datasets import require_graph

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database


def delete_graph(db: Database, graph: str, *, with_dependents: bool = False) -> tuple[str, ...]:
    """Remove a graph of any kind; the ids of the edits that went with it.

    Their saved updates are files: they are left to the caller, who knows where they are kept.

    Args:
        with_dependents: remove with a data set all that was made of it.

    Raises:
        NotFoundError: there is no such graph.
        ConflictError: something was made of it and `with_dependents` is not set; or an edit or a
            job of it waits or runs; or it is the graph of an edit.
    """
    kind = require_graph(db, graph, kind=None).kind
    if kind == "edit" and db.read(rows.GetEditRow, id=graph):
        raise ConflictError(
            f"{graph!r} is the graph of an edit, whose numbers are taken from it.",
            remedy=f"Remove the edit, graph and all: `thinkeval edits --delete {graph}`.",
        )
    if kind != "dataset":
        db.autocommit(rows.DeleteGraphRow, graph=graph)
        return ()
    (made,) = db.read(rows.DependentsRow, graph=graph)
    _may_go(graph, made, with_dependents)
    # What is found by others goes before these: stopped in the middle, all is found again.
    for sweep in made.sweeps:
        db.write(rows.DeleteSweepRow, id=sweep)
    for job in made.jobs:
        db.write(rows.DeleteJobRow, id=job)
    for each in made.sets:
        db.write(rows.DeleteSetRow, id=each)
    for edit in made.edits:
        db.write(rows.DeleteEditRow, id=edit)
    for other in made.graphs:
        db.autocommit(rows.DeleteGraphRow, graph=other)
    db.write(rows.DeleteRulesRow, dataset=graph)
    db.autocommit(rows.DeleteGraphRow, graph=graph)
    return made.edits


def _may_go(graph: str, made: rows.DependentsRow, with_dependents: bool) -> None:
    if made.active:
        raise ConflictError(
            f"{made.active:,} of the edits and jobs of {graph!r} wait or run.",
            remedy="Cancel them, or wait until they have ended; then delete the graph.",
        )
    listed = _listed(made)
    if listed and not with_dependents:
        raise ConflictError(
            f"Made of {graph!r}: {', '.join(listed)}.",
            remedy="Give --with-dependents (REST: ?with_dependents=true) to delete all of it.",
        )


def _listed(made: rows.DependentsRow) -> list[str]:
    """What there is, in words, the first ids named."""
    named = (
        ("edit", made.edits),
        ("other graph", made.graphs),
        ("sweep", made.sweeps),
        ("knowledge set", made.sets),
    )
    told = []
    for what, ids in named:
        if ids:
            first = ", ".join(ids[:3]) + (", …" if len(ids) > 3 else "")
            told.append(f"{several(len(ids), what)} ({first})")
    counts = (("protocol run", made.runs), ("rule", made.rules))
    return told + [several(n, what) for what, n in counts if n]
