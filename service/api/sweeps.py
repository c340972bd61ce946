"""/v1/sweeps: several methods on several rewrites, posted at once, and the table they give."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel

from service import job_sweeps
from service.api.problems import DESCRIBED
from service.api.state import Db, Here
from service.edit_schemas import SweepIn, SweepOut
from service.schemas import Measure

router = APIRouter(prefix="/v1/sweeps", tags=["sweeps"], responses=DESCRIBED)

SweepId = Annotated[str, Path(min_length=1, max_length=200)]


class Sweeps(BaseModel):
    """The sweeps, newest first, without their tables."""

    items: list[SweepOut]


@router.post("", status_code=202, response_model=SweepOut)
def post_sweep(sweep: SweepIn, db: Db, here: Here, response: Response) -> SweepOut:
    """Score every method on every rewrite. All cells are queued, or none."""
    name = job_sweeps.post(db, here.settings, sweep)
    here.supervisor.wake()
    response.headers["Location"] = f"/v1/sweeps/{name}"
    return job_sweeps.get(db, name)


@router.get("", response_model=Sweeps)
def list_sweeps(db: Db) -> Sweeps:
    """The sweeps, newest first."""
    return Sweeps(items=job_sweeps.listing(db))


@router.get("/{sweep}", response_model=SweepOut)
def get_sweep(sweep: SweepId, db: Db, measure: Measure = "likelihood") -> SweepOut:
    """How a sweep stands, with the table of what is scored so far."""
    return job_sweeps.get(db, sweep, measure)


@router.post("/{sweep}/cancel", status_code=202, response_model=SweepOut)
def cancel_sweep(sweep: SweepId, db: Db) -> SweepOut:
    """Cancel what is not scored yet."""
    return job_sweeps.cancel(db, sweep)


@router.delete("/{sweep}", status_code=204)
def delete_sweep(sweep: SweepId, db: Db) -> Response:
    """Forget a sweep; its edits stay."""
    job_sweeps.remove(db, sweep)
    return Response(status_code=204)
