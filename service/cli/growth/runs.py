"""`thinkeval grow list|status|show|delete`: stored runs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ....cypher import rows
from ...formatting import pluralize
from ...growth.tables import CANDIDATE_COUNTS, ITERATIONS, RUNS, reasons
from ...reports.formats import Table, indexed
from ...scoring.runtime import Runtime
from ...settings import Settings
from ..options import JsonFlag
from ..output import emit_json, emit_rows, emit_table, emit_values
from ..progress import ProgressBars

RunArgument = Annotated[str, typer.Argument(help="Id of a growth run.")]


def list_(json: JsonFlag = False) -> None:
    """List growth runs, newest first."""
    from ...growth import store

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = store.list_runs(runtime.db)
    emit_rows(Table("growth-runs", "Growth runs", RUNS, found), json=json)


def status(
    run: Annotated[str | None, typer.Argument(help="Id of a growth run; default: newest.")] = None,
    json: JsonFlag = False,
) -> None:
    """Show what a run is doing, and its iterations."""
    from ...growth import store
    from ...growth.review.schemas import CandidateOut

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        newest = store.list_runs(runtime.db, limit=1) if run is None else []
        found = store.require_run(runtime.db, newest[0].id if newest else run or "")
        iterations = runtime.db.read(rows.IterationRow, "growth/iterations", run=found.id)
        counts = reasons(runtime.db.read(CandidateOut, "growth/candidates", run=found.id))
    if json:
        emit_json(
            found.model_dump()
            | {
                "table": [asdict(each) for each in iterations],
                "states": [asdict(each) for each in counts],
            }
        )
        return
    values = {k: v for k, v in found.model_dump().items() if k != "links" and v is not None}
    emit_values(f"Growth run {found.id}", values)
    emit_table(Table("iterations", "Iterations", ITERATIONS, iterations))
    emit_table(Table("candidates", "Candidates", CANDIDATE_COUNTS, counts))


def show(
    run: RunArgument,
    candidate: Annotated[str, typer.Argument(help="Id of a candidate; see `grow candidates`.")],
    json: JsonFlag = False,
) -> None:
    """Show what a candidate rests on: statements, questions and every answer."""
    from ...growth.review import queue

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = queue.detail(runtime.db, run, candidate)
    if json:
        emit_json(found.model_dump())
        return
    shown = ("subject", "relation", "object", "state", "reason", "tries", "share", "n_answers")
    emit_values(f"Candidate {found.id}", [(name, getattr(found, name)) for name in shown])
    evidence = [
        (one.role, one.attempt or "", one.question or "", one.answer or one.statement or "")
        for one in found.evidence
    ]
    columns = indexed("evidence", "try", "question", "answer")
    emit_table(Table("evidence", "Evidence", columns, evidence, pluralize(len(evidence), "answer")))


def delete(run: RunArgument, json: JsonFlag = False) -> None:
    """Delete a run with its answers, candidates and decisions; its graph stays."""
    from ...growth import store

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        gone = store.delete(runtime.db, run)
    if json:
        emit_json({"deleted": run, "nodes": gone})
        return
    typer.echo(f"Deleted {run}: {pluralize(gone, 'node')}.")
