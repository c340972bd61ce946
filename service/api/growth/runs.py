"""/v1/growth: runs that grow a graph from a model, their iterations and events."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi import Path as PathParam
from pydantic import BaseModel, Field

from ....cypher import rows
from ...growth import control, job, store
from ...growth.files.formats import Format, exported
from ...growth.files.output import zipped
from ...growth.schemas import GrowthIn, GrowthOut
from ..parameters import Limit
from ..problems import DESCRIBED, QUEUE_FULL, IdempotencyKey
from ..state import AppState, Db

router = APIRouter(prefix="/v1/growth", tags=["growth"], responses=DESCRIBED)

RunId = Annotated[str, PathParam(min_length=1, max_length=200, description="Id of a growth run.")]


class GrowthRuns(BaseModel):
    """Growth runs, newest first."""

    items: list[GrowthOut] = Field(description="The items of this page, in order.")


class Iterations(BaseModel):
    """The iterations of a run."""

    items: list[rows.IterationRow] = Field(description="The items of this page, in order.")


@router.post(
    "",
    status_code=202,
    response_model=GrowthOut,
    responses={200: {"description": "It has run already.", "model": GrowthOut}, 429: QUEUE_FULL},
    summary="Grow a graph from a model",
)
def post_growth(
    body: GrowthIn,
    db: Db,
    here: AppState,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> GrowthOut:
    """The run is stored before the response is sent; the same request continues the same run.

    Its questions are never asked again. Addresses of models must be among those that the
    operator allows.
    """
    accepted = job.post(db, here.settings, body, key=idempotency_key)
    if accepted.outcome != "known":
        here.supervisor.wake()
    found = store.require_run(db, accepted.edit)
    response.headers["Location"] = f"/v1/growth/{found.id}"
    if found.status == "succeeded":
        response.status_code = 200
    return found


@router.get("", response_model=GrowthRuns, summary="List growth runs")
def list_growth(db: Db, limit: Limit = 100) -> GrowthRuns:
    """Newest first."""
    return GrowthRuns(items=store.list_runs(db, limit))


@router.get("/{run}", response_model=GrowthOut, summary="Get a growth run")
def get_growth(run: RunId, db: Db) -> GrowthOut:
    """Status, counts, and why it stopped; `waiting_review`: a person must decide."""
    return store.require_run(db, run)


@router.get("/{run}/iterations", response_model=Iterations, summary="List a run's iterations")
def get_growth_iterations(run: RunId, db: Db) -> Iterations:
    """Triplets, chains, calls, tokens and seconds after each iteration."""
    row = store.require_run(db, run)
    found = db.read(rows.IterationRow, "growth/iterations", run=row.id)
    return Iterations(items=found)


@router.post(
    "/{run}/pause", status_code=202, response_model=GrowthOut, summary="Pause a growth run"
)
def pause_growth(run: RunId, db: Db, here: AppState) -> GrowthOut:
    """Stop a running one within about a second; its questions and findings are kept."""
    row = control.pause(db, run)
    here.supervisor.wake()
    return row


@router.post(
    "/{run}/resume",
    status_code=202,
    response_model=GrowthOut,
    responses={429: QUEUE_FULL},
    summary="Resume a growth run",
)
def resume_growth(run: RunId, db: Db, here: AppState) -> GrowthOut:
    """Queues a run again that was paused, cancelled or failed, or that waits for people."""
    row = control.resume(db, here.settings, run)
    here.supervisor.wake()
    return row


@router.post(
    "/{run}/cancel", status_code=202, response_model=GrowthOut, summary="Cancel a growth run"
)
def cancel_growth(run: RunId, db: Db, here: AppState) -> GrowthOut:
    """A queued or running one ends; others are unaffected. Its answers stay stored."""
    row = control.cancel(db, run)
    here.supervisor.wake()
    return row


class ExportedFiles(BaseModel):
    """The files of an export, in UTF-8 by name, and the parts that their format cannot hold."""

    format: Format = Field(description="Layout of the files.")
    files: dict[str, str] = Field(description="Text of each file, by name.")
    lost: list[str] = Field(description="Parts that the layout cannot hold, each a sentence.")


ZIP = "application/zip"


@router.get(
    "/{run}/export",
    response_model=ExportedFiles,
    responses={200: {"content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}}},
    summary="Export a growth run",
)
def export_growth(
    run: RunId,
    db: Db,
    format: Annotated[
        Format,
        Query(description="KnowGIC's two layouts; csv: tables; audit: all of the run."),
    ] = "knowgic",
    single_link: Annotated[
        bool, Query(description="At most one fact from one entity to another; chains are equal.")
    ] = True,
    max_steps: Annotated[int, Query(ge=1, le=5, description="Of the longest chain.")] = 5,
    packed: Annotated[bool, Query(description="One zip; else JSON, which lists lost parts.")] = (
        True
    ),
) -> Response:
    """The files of `thinkeval grow export`; of a finished run always the same bytes."""
    row = store.require_run(db, run)
    made = exported(db, row.id, format, single_link=single_link, max_steps=max_steps)
    if packed:
        attached = {"Content-Disposition": f'attachment; filename="{row.id}-{format}.zip"'}
        return Response(zipped(made.files), media_type=ZIP, headers=attached)
    files = {name: made.files[name].decode() for name in sorted(made.files)}
    shown = ExportedFiles(format=format, files=files, lost=made.lost)
    return Response(shown.model_dump_json(), media_type="application/json")


@router.delete("/{run}", status_code=204, summary="Delete a growth run")
def delete_growth(run: RunId, db: Db) -> Response:
    """Deletes a run with answers, candidates and decisions; its graph stays. 409 while it runs."""
    store.delete(db, run)
    return Response(status_code=204)
