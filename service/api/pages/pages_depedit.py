"""The pages of DepEdit's protocol: its sets and tables, one set, runs under way."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from thinkeval.service.api.pages import depedit, depedit_set
from thinkeval.service.api.pages.depedit import Chosen
from thinkeval.service.api.pages.routes import HEADERS, Word, page
from thinkeval.service.api.state import Db
from thinkeval.service.depedit import job_queue
from thinkeval.service.edit_schemas import ENDED

router = APIRouter(prefix="/depedit", include_in_schema=False)

SetId = Annotated[str, Path(max_length=300)]
RunWord = Annotated[str, Query(max_length=500)]


@router.get("")
def protocol(
    request: Request, db: Db, graph: Word = "", setting: Word = "", model: Word = ""
) -> Response:
    """Knowledge sets, the paper's tables over stored runs, and the form that starts runs."""
    told = depedit.values(db, Chosen(graph, setting, model))
    return page(request, "depedit.html", here="/depedit", **told)


@router.get("/report/{table}")
def report(
    table: Annotated[str, Path(max_length=40)],
    db: Db,
    format: Word = "markdown",
    graph: Word = "",
    setting: Word = "",
    model: Word = "",
) -> Response:
    """One of the tables as a file."""
    chosen = Chosen(graph, setting, model)
    text, name, media_type = depedit.download(db, chosen, table, format)
    kept = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=media_type, headers=HEADERS | kept)


@router.get("/sets/{knowledge_set}")
def one_set(
    knowledge_set: SetId,
    request: Request,
    db: Db,
    run: RunWord = "",
    copy: Word = "",
    role: Word = "",
) -> Response:
    """A knowledge set, and what the models of its stored runs answered."""
    told = depedit_set.values(db, knowledge_set, run=run, copy=copy, role=role)
    return page(request, "depedit_set.html", here="/depedit", **told)


@router.get("/jobs/{job}")
def one_job(job: Annotated[str, Path(max_length=200)], request: Request, db: Db) -> Response:
    """Runs under way, or how they ended."""
    told = job_queue.out(job_queue.row_of(db, job))
    live = told.status not in ENDED
    return page(request, "depedit_job.html", here="/depedit", job=told, live=live)
