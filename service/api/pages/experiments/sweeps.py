"""Values of the pages of experiments: the form and list of sweeps, a sweep, a data set's matrix."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .....cypher import rows
from .....editing import registry
from ....edits import sweep as edit_sweeps
from ....edits.schemas import SweepOut
from ....errors import NothingStoredError
from ....graphs import datasets
from ....reports.comparison import Comparison, compare
from ....reports.paired import paired
from ....schemas import MEASURE_NAMES, Measure, Score
from ....scoring import record
from .. import differences
from . import matrix

if TYPE_CHECKING:
    from .....cypher.run import Database
    from ....cache import Cache

SHOWN = 12
"""Sweeps on one page of their list."""
FAILURES = 10
"""Failed cells shown before the others, which are folded."""
CHOSEN = ("none", "rome", "memit", "alphaedit")
"""Methods ticked in an empty form."""


@dataclass(frozen=True, slots=True)
class View:
    """The parameters in the address of a matrix."""

    measure: Measure = "likelihood"
    order: matrix.Order = "name"
    page: int = 1


def progress(sweep: SweepOut) -> dict[str, Any]:
    """Return the progress of a sweep: numbers of all, ended and scored cells, open or not."""
    counts = sweep.counts
    total = sum(counts.values())
    open_ = counts["queued"] + counts["running"]
    return {"total": total, "ended": total - open_, "live": open_ > 0, "counts": counts}


def list_values(db: Database, graph: str, page: int) -> dict[str, Any]:
    """The form, one page of the sweeps, and the data sets whose matrix can be opened."""
    sets = [row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", kind="dataset")]
    graph = graph or (sets[0] if sets else "")
    if graph:
        datasets.require_graph(db, graph)
    every = db.read(rows.SweepRow, "jobs/sweeps")
    shown = [edit_sweeps.counted(db, row) for row in every[(page - 1) * SHOWN : page * SHOWN]]
    return {
        "sets": sets,
        "graph": graph,
        "rewrites": datasets.list_rewrites(db, graph) if graph else [],
        "methods": [registry.info(name) for name in registry.names()],
        "ticked": CHOSEN,
        "sweeps": [(sweep, progress(sweep)) for sweep in shown],
        "total": len(every),
        "page": page,
        "pages": max(1, -(-len(every) // SHOWN)),
    }


def sweep_values(db: Database, boards: Cache[dict[str, Any]], name: str, view: View) -> dict:
    """One sweep: progress, failed cells, matrix, paired differences.

    Raises:
        NotFoundError: no such sweep.
    """
    sweep = edit_sweeps.read(db, name)
    done = progress(sweep)
    entries = _entries(db, boards, name, sweep)
    scores = [entry.score for entry in entries if entry.score is not None]
    compared = _compared(db, boards, ("sweep", name, view.measure), scores, view.measure)
    request = sweep.request
    one = len(request["models"]) == 1 and len(request["seeds"]) == 1
    return {
        "sweep": sweep,
        "asked": request,
        "again": json.dumps(request),
        "done": done,
        "failed": sweep.failed,
        "first": FAILURES,
        **_shown(entries, scores, compared, view, by_model=not one),
    }


def graph_values(
    db: Database, boards: Cache[dict[str, Any]], graph: str, model: str, view: View
) -> dict[str, Any]:
    """The newest edit of each rewrite by each method of a data set, whatever started it.

    Raises:
        NotFoundError: no such data set.
    """
    datasets.require_graph(db, graph)
    every = stored_scores(db, boards, graph)
    models = sorted({score.model for score in every})
    model = model if model in models else (models[0] if len(models) == 1 else model)
    scores = [score for score in every if not model or score.model == model]
    compared = _compared(db, boards, ("matrix", graph, model, view.measure), scores, view.measure)
    return {
        "graph": graph,
        "model": model,
        "models": models,
        **_shown(matrix.of_scores(scores), scores, compared, view, by_model=True),
    }


def stored_scores(db: Database, boards: Cache[dict[str, Any]], graph: str) -> list[Score]:
    """The newest scores of a data set by model, method and rewrite; cached until one changes."""
    state = db.read(rows.ScoredStateRow, "edits/scored_state", dataset=graph)[0]

    def read() -> dict[str, Any]:
        try:
            return {"scores": record.scores(db, [], graph=graph)}
        except NothingStoredError:
            return {"scores": []}

    return boards.get(("scores", graph, state.edits, state.newest), read)["scores"]


def _compared(
    db: Database,
    boards: Cache[dict[str, Any]],
    of: tuple[str, ...],
    scores: Sequence[Score],
    measure: Measure,
) -> Comparison:
    """The comparison of these scores; it reads chains, so it is cached by the scored edits."""
    held = [score for score in scores if measure in score.measures]
    edits = tuple((score.edit, score.provenance.get("created_at")) for score in held)
    return boards.get((*of, hash(edits)), lambda: {"found": compare(db, held, measure)})["found"]


def _shown(
    entries: Sequence[matrix.Entry],
    scores: Sequence[Score],
    compared: Comparison,
    view: View,
    *,
    by_model: bool,
) -> dict[str, Any]:
    """Values that a sweep's page and a data set's matrix share."""
    return {
        "view": view,
        "matrix": matrix.build(
            entries, view.measure, compared, order=view.order, page=view.page, by_model=by_model
        ),
        "bands": matrix.BANDS,
        "warnings": compared.warnings,
        "paired": differences.tables(paired(compared, view.measure)),
        "measures": [m for m in MEASURE_NAMES if any(m in score.measures for score in scores)],
        "names": MEASURE_NAMES,
    }


def _entries(
    db: Database, boards: Cache[dict[str, Any]], name: str, sweep: SweepOut
) -> list[matrix.Entry]:
    """Every edit of a sweep with its score; scores are read again when their number changes."""
    found = edit_sweeps.edits(db, sweep, scores=False)
    scored = sorted(row.id for row in found if row.status == "succeeded")
    ended = max((row.finished_at or "" for row in found), default="")

    def read() -> dict[str, Any]:
        return {score.edit: score for score in edit_sweeps.scores(db, sweep)}

    scores = boards.get(("scores of", name, len(scored), ended), read)
    return matrix.of_rows(found, scores)
