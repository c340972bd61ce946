"""/v1/growth/{run}/crawl-report: results of a crawl, also against a graph that holds the truth."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from ...growth.crawl.report import agreement, crawl_report
from ...growth.crawl.schemas import Agreement, CrawlReport
from ..problems import DESCRIBED
from ..state import Db
from .export import RunId

router = APIRouter(prefix="/v1/growth", tags=["growth"], responses=DESCRIBED)


@router.get("/{run}/crawl-report", response_model=CrawlReport, summary="Report a crawl")
def get_crawl_report(
    run: RunId,
    db: Db,
    truth: Annotated[
        str | None, Query(max_length=200, description="Graph that holds the truth.")
    ] = None,
    to: Annotated[
        str | None, Query(max_length=1200, description="Object of the compared chains.")
    ] = None,
) -> CrawlReport:
    """Facts, unknown pairs and levels; with `truth` precision, recall, chains and calibration."""
    return crawl_report(db, run, truth=truth, to=to)


@router.get(
    "/{run}/crawl-agreement", response_model=Agreement, summary="Compare the facts of two crawls"
)
def get_crawl_agreement(
    run: RunId,
    db: Db,
    other: Annotated[str, Query(min_length=1, max_length=200, description="The other run.")],
) -> Agreement:
    """Facts of both, common facts, and Jaccard: how reproducible a crawl is over seeds."""
    return agreement(db, run, other)
