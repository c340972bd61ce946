"""The kind of experiment `edit`: one request, edited into a model and scored."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..experiments.kind import Kind, Work
from ..graphs.datasets import own_or_stored
from ..jobs import queue, submit
from ..reports.edit import leakage_table, measure_of
from ..reports.formats import Column, Table
from ..reports.score_lines import ScoreLine, lines
from ..schemas import MEASURE_NAMES, EditIn, Measure, Score
from ..scoring import metrics
from ..scoring.request import ScoreRequest
from .schemas import EditFilters, EditOut
from .store import EditStore, prepare

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..scoring.runtime import Runtime
    from ..settings import Settings

PART = 5000
"""Entities that are deleted in one transaction."""


def _recheck(db: Database, settings: Settings, request: EditIn) -> EditIn:
    submit.check(settings, request)
    return request


def _run(runtime: Runtime, request: EditIn, work: Work) -> Score:
    from ..scoring.score import score_edit  # imports numpy

    rewrite = own_or_stored(runtime.db, request.graph, str(request.rewrite))
    return score_edit(runtime, ScoreRequest.of(rewrite, request), lease=work.lease)


def _drop(db: Database, job: str) -> None:
    """Delete the graph of an edit that ended without a score: it was written, not recorded."""
    while db.write(int, "edits/drop_unfinished", id=job, limit=PART)[0]:
        pass


def _title(score: Score) -> str:
    objects = f"{score.target_true} → {score.target_new or 'forgotten'}"
    return f"{score.method} on {score.model}: {score.prompt.replace('{}', score.subject)} {objects}"


def _text(place: int, line: ScoreLine) -> str:
    return line.cell(place)


def _number(place: int, line: ScoreLine) -> float | None:
    value = line.values[place]
    return None if value is None else value.value


def _tables(score: Score, measure: Measure | None = None) -> list[Table[Any]]:
    """The metrics, a column a measure."""
    if measure is not None:
        measure_of(score, measure)
    wanted = [(n, m) for n, m in enumerate(score.measures) if measure in (None, m)]
    label: Column[ScoreLine] = Column("metric", lambda line: line.label)
    counts: list[Column[ScoreLine]] = [
        Column("n", lambda line: line.n),
        Column("excluded", lambda line: line.excluded),
    ]
    shown = [Column(MEASURE_NAMES[m], partial(_text, n)) for n, m in wanted]
    numbers = [Column(m, partial(_number, n)) for n, m in wanted]
    columns = [label, *shown, *counts]
    values = [label, *numbers, *counts]
    return [Table("metrics", "Metrics", columns, lines(score), values=values)]


def _further(db: Database, score: Score, measure: Measure | None = None) -> list[Table[Any]]:
    """The facts that leak; a request to append has no old object that could."""
    if score.append is not None or not score.measures:
        return []
    return [leakage_table(metrics.leakage_rows(db, score, measure_of(score, measure)))]


DESCRIBED: list[Column[EditOut]] = [
    Column("graph", lambda edit: edit.graph, whole=True, optional=3),
    Column("model", lambda edit: edit.model, whole=True, optional=2),
    Column("method", lambda edit: edit.method, optional=1),
    Column("rewrite", lambda edit: edit.rewrite, whole=True, optional=5),
    Column("error", lambda edit: edit.error, optional=4),
]

EDIT = Kind(
    name=queue.EDIT,
    plural="edits",
    noun="edit",
    about="Edits one request into a model, and scores what is left of the old fact.",
    request=EditIn,
    result=Score,
    model=EditOut,
    filters=EditFilters,
    prepare=prepare,
    run=_run,
    recheck=_recheck,
    drop=_drop,
    title=_title,
    listed=(),
    described=DESCRIBED,
    sentences=lambda score, measure: (),
    tables=_tables,
    further=_further,
    next=lambda score: [f"thinkeval show {score.edit}", f"thinkeval chains {score.edit}"],
    again="Submit it again to have it scored; nothing of it was stored.",
    stored=EditStore,
)
