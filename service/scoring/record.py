"""The `:Edit` node: the durable record of a score, from its start to its end.

It says `running` while work goes on, and ends `succeeded`, `failed` (with reason and remedy) or
`cancelled` (Ctrl-C). The edit graph is written in one transaction before the record succeeds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.service.errors import (
    KNOWN_ERRORS,
    JobInterrupt,
    NotFoundError,
    NothingStoredError,
    describe,
)
from thinkeval.service.graphs.datasets import require_graph
from thinkeval.service.graphs.write import GraphHeader, rewrite_row, write_graph
from thinkeval.service.process import this_process
from thinkeval.service.schemas import Measure, Score
from thinkeval.service.scoring.model_graph import entities_of, fact_row, measured
from thinkeval.service.scoring.probe import ProbedFact

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.service.scoring.request import ScoreRequest


@dataclass(slots=True)
class Record:
    """The record of an edit under way."""

    db: Database
    edit: str
    watch: Callable[[float], None]

    def stage(self, name: str, progress: float) -> None:
        """Say what is going on, for whoever watches."""
        self.watch(progress)
        self.db.write(
            rows.UpdateEditRow,
            id=self.edit,
            stage=name,
            progress=progress,
            event=event("running", name, progress),
        )

    def succeed(self, score: Score) -> None:
        """Store the score; from now on it is what a reader finds.

        Raises:
            JobInterrupt: it was told to stop before that.
        """
        found = self.db.write(
            rows.UpdateEditRow,
            id=self.edit,
            status="succeeded",
            progress=1.0,
            stage="done",
            graph=self.edit,
            score=score.model_dump_json(),
            provenance=json.dumps(score.provenance, default=str),
            finished_at=now(),
            event=event("succeeded", "done", 1.0),
        )
        if found and not found[0].updated:
            raise JobInterrupt(cancelled=True)


def now() -> str:
    """This moment, as records tell it: ISO 8601 with zone."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def event(status: str, stage: str, progress: float = 0.0) -> str:
    """What an onlooker is told, as JSON; kept with the edit, in order."""
    told = {"status": status, "stage": stage, "progress": progress, "at": now()}
    return json.dumps(told)


@contextmanager
def recorded(
    db: Database,
    edit: str,
    request: ScoreRequest,
    model: str,
    watch: Callable[[float], None] = lambda reached: None,
    interrupted: Callable[[], bool] = lambda: False,
) -> Iterator[Record]:
    """Record an edit as running; however the block ends, the record says so.

    Args:
        watch: called with how far the edit is, from 0 to 1.
        interrupted: whether the edit was told to stop. An exception raised in the middle of a
            library may come out as another one; the edit is then left to who told it.
    """
    with db.transaction() as tx:
        # A rewrite of the user's own is stored beside the data set's (see ingest.OWN).
        tx.run(rows.MergeRewritesRow, dataset=request.graph, rows=[rewrite_row(request.rewrite)])
        tx.run(
            rows.MergeEditRow,
            id=edit,
            model=model,
            method=request.method,
            dataset=request.graph,
            rewrite=request.rewrite.id,
            status="running",
        )
        tx.run(
            rows.UpdateEditRow,
            id=edit,
            status="running",
            progress=0.1,
            stage="probe pre",
            owner=this_process(),
            event=event("running", "probe pre", 0.1),
        )
    try:
        watch(0.1)
        yield Record(db, edit, watch)
    except BaseException as error:
        # The reason for the failure matters more than a second failure while recording it.
        with suppress(*KNOWN_ERRORS):
            if isinstance(error, KeyboardInterrupt) or not interrupted():
                _end(db, edit, error)
        raise


def _end(db: Database, edit: str, error: BaseException) -> None:
    if isinstance(error, JobInterrupt) and not error.cancelled:
        return  # its worker releases it, and another goes on
    fail(db, edit, error)


def fail(db: Database, edit: str, error: BaseException) -> None:
    """Record that an edit ended without a score, and why."""
    cancelled = isinstance(error, KeyboardInterrupt | SystemExit)
    problem = describe(error) if isinstance(error, Exception) else None
    status = "cancelled" if cancelled else "failed"
    db.write(
        rows.UpdateEditRow,
        id=edit,
        status=status,
        error=problem.detail if problem else "interrupted",
        remedy=problem.remedy if problem else "Score it again; nothing was stored.",
        finished_at=now(),
        event=event(status, status),
    )


def write_edit_graph(
    db: Database,
    edit: str,
    request: ScoreRequest,
    model: str,
    probed: Sequence[ProbedFact],
    aliases: Mapping[str, tuple[str, ...]],
) -> None:
    """Step 5: both sides on every edge, all of it or nothing."""
    header = GraphHeader(
        edit,
        "edit",
        request.graph,
        model=model,
        edit=edit,
        probe=request.probe.digest,
        measures=measured(probed),
    )
    facts = [p.question.fact for p in probed]
    write_graph(db, header, entities_of(facts, aliases), [fact_row(p) for p in probed])


def stored_score(db: Database, edit: str) -> Score | None:
    """The score of an edit, or None while there is none."""
    found = db.read(rows.GetEditRow, id=edit)
    if not found or found[0].status != "succeeded" or not found[0].score:
        return None
    return Score.model_validate_json(found[0].score)


def get_score(db: Database, edit: str) -> Score:
    """The score of an edit.

    Raises:
        NotFoundError: no such edit; says which are close.
        NothingStoredError: the edit failed, was cancelled or is still going on.
    """
    found = db.read(rows.GetEditRow, id=edit)
    if not found:
        raise unknown(db, edit)
    score = stored_score(db, edit)
    if score is None:
        row = found[0]
        raise NothingStoredError(
            f"Edit {edit!r} is {row.status} and has no score: {row.error or row.stage or ''}.",
            remedy=row.remedy or "Wait for it to end, or score it again.",
        )
    return score


def unknown(db: Database, edit: str) -> NotFoundError:
    """The error that says there is no such edit, and which are close."""
    known = [row.id for row in db.read(rows.PageEditRow, limit=1000)]
    return NotFoundError("edit", edit, known, listing="thinkeval edits")


def list_edits(db: Database, graph: str | None = None) -> list[rows.EditRow]:
    """The recorded edits, oldest first."""
    return db.read(rows.EditRow, dataset=graph)


def scores(
    db: Database, edits: Sequence[str], *, graph: str | None = None, model: str | None = None
) -> list[Score]:
    """The scores of these edits; or the newest of each model, method and rewrite.

    The same edit with other hyperparameters, seed or options is another edit; pooling both would
    count a rewrite twice.

    Raises:
        NothingStoredError: none fits, or they belong to several data sets and none was named.
    """
    if edits:
        return [get_score(db, edit) for edit in edits]
    found = db.read(rows.EditRow, dataset=graph, model=model, status="succeeded")
    found = [row for row in found if row.score]
    datasets = sorted({row.dataset for row in found})
    if len(datasets) > 1:
        raise NothingStoredError(
            f"There are edits of several data sets: {', '.join(datasets)}.",
            remedy="Name one with --graph; edits of different data sets are never pooled.",
        )
    newest: dict[tuple[str, str, str], Score] = {}
    for row in reversed(found):  # a score is long, so only the newest ones are read
        key = (row.model, row.method, row.rewrite)
        if key not in newest and (score := _whole(row)) is not None:
            newest[key] = score
    places = dict.fromkeys((row.model, row.method, row.rewrite) for row in found)
    return [newest[key] for key in places if key in newest]


def scores_by(
    db: Database, measure: Measure, *, graph: str | None = None, model: str | None = None
) -> list[Score]:
    """The newest scores that methods are compared by, those that hold the measure.

    Raises:
        NotFoundError: there is no such graph; close names are suggested.
        NothingStoredError: no edit has the measure; or as `scores`.
    """
    held = [s for s in scores(db, [], graph=graph, model=model) if measure in s.measures]
    if not held:
        if graph is not None:
            require_graph(db, graph)
        chosen = [f"graph {graph!r}"] if graph is not None else []
        chosen += [f"model {model!r}"] if model is not None else []
        of = f" of {' and '.join(chosen)}" if chosen else ""
        raise NothingStoredError(
            f"No scored edit{of} has the measure {measure!r}.",
            remedy="Score some edits first: POST /v1/sweeps.",
        )
    return held


def _whole(row: rows.EditRow) -> Score | None:
    """The score of an edit that is an entry of a table.

    At another strength, or within a sequence, it is a point of a curve.
    """
    score = Score.model_validate_json(row.score or "")
    return None if score.provenance.get("strength", 1) != 1 or score.sequence else score


def delete(db: Database, edit: str) -> str:
    """Remove an edit with its graph and score; the id that it had.

    Raises:
        NotFoundError: no such edit.
    """
    found = db.read(rows.GetEditRow, id=edit)
    if not found:
        raise unknown(db, edit)
    db.write(rows.DeleteEditRow, id=found[0].id)
    return found[0].id


def settle(db: Database, posted: str, edit: str, request: ScoreRequest, model: str) -> None:
    """Give a posted edit its final id; an edit of that id and the posted one become one.

    Raises:
        NothingStoredError: the posted edit was removed meanwhile.
    """
    found = db.write(rows.SettleIdRow, id=posted, final=edit, model=model, force=request.force)
    if not found:
        raise NothingStoredError(
            f"Edit {posted!r} was removed before it was scored.", remedy="Post it again."
        )
