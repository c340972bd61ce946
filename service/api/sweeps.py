"""/v1/sweeps: several methods on several rewrites, submitted at once, and their table."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field

from ..jobs import sweep as job_sweeps
from ..jobs.schemas import SweepIn, SweepOut
from .parameters import InMeasure
from .problems import DESCRIBED
from .state import AppState, Db

router = APIRouter(prefix="/v1/sweeps", tags=["sweeps"], responses=DESCRIBED)

SweepId = Annotated[str, Path(min_length=1, max_length=200, description="Id of the sweep.")]


class Sweeps(BaseModel):
    """Sweeps, newest first, without their tables."""

    items: list[SweepOut] = Field(description="The items of this page, in order.")


@router.post("", status_code=202, response_model=SweepOut, summary="Submit a sweep")
def post_sweep(sweep: SweepIn, db: Db, here: AppState, response: Response) -> SweepOut:
    """Every method on every rewrite (and model, and seed). All cells are queued, or none.

    Edits that are scored already are not repeated. The same request returns the same sweep.
    """
    name = job_sweeps.post(db, here.settings, sweep)
    here.statuses.clear()
    here.supervisor.wake()
    response.headers["Location"] = f"/v1/sweeps/{name}"
    return job_sweeps.get(db, name, table=False)


@router.get("", response_model=Sweeps, summary="List the sweeps")
def list_sweeps(db: Db) -> Sweeps:
    """Newest first, with their counts and without their tables."""
    return Sweeps(items=job_sweeps.listing(db))


@router.get("/{sweep}", response_model=SweepOut, summary="Get the status of a sweep")
def get_sweep(
    sweep: SweepId,
    db: Db,
    measure: InMeasure = "likelihood",
    table: Annotated[bool, Query(description="Compute the table over common rewrites.")] = True,
) -> SweepOut:
    """Counts by status, and the table of the edits scored so far; `table=false` omits it."""
    return job_sweeps.get(db, sweep, measure, table=table)


@router.post("/{sweep}/cancel", status_code=202, response_model=SweepOut, summary="Cancel a sweep")
def cancel_sweep(sweep: SweepId, db: Db, here: AppState) -> SweepOut:
    """Queued edits are cancelled immediately, running ones within about a second; scores remain."""
    cancelled = job_sweeps.cancel(db, sweep)
    here.supervisor.wake()
    here.statuses.clear()
    return cancelled


@router.delete("/{sweep}", status_code=204, summary="Delete a sweep")
def delete_sweep(sweep: SweepId, db: Db) -> Response:
    """Deletes the sweep alone; its edits and their scores remain."""
    job_sweeps.remove(db, sweep)
    return Response(status_code=204)
