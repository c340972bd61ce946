"""Figures of stored edits as PNG, SVG or PDF: of one edit, and of the methods of a data set.

Drawn when they are asked for, and kept while the edits they show stay as they are.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from thinkeval.service.api.edits import EditId
from thinkeval.service.api.problems import DESCRIBED
from thinkeval.service.api.results import MeasureQuery
from thinkeval.service.api.state import Db, Here, answer
from thinkeval.service.edit_schemas import Name
from thinkeval.service.reports import figures
from thinkeval.service.reports.edit import measure_of
from thinkeval.service.reports.figures import MEDIA_TYPES, EditKind, Format, MethodsKind
from thinkeval.service.schemas import Measure
from thinkeval.service.scoring import record

DRAWN: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The figure.",
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}}
            for kind in MEDIA_TYPES.values()
        },
    },
    304: {"description": "The client has this figure already (`If-None-Match`)."},
}

router = APIRouter(prefix="/v1", tags=["figures"], responses=DESCRIBED | DRAWN)


@router.get("/edits/{edit}/figures/{kind}.{fmt}", response_class=Response, summary="Draw an edit")
def edit_figure(
    edit: EditId,
    kind: EditKind,
    fmt: Format,
    db: Db,
    here: Here,
    request: Request,
    measure: MeasureQuery = None,
    n: Annotated[
        int | None,
        Query(
            ge=1,
            le=100_000,
            description="Which chain `chain` shows, as /chains numbers them without filters;"
            " default: the strongest that survives.",
        ),
    ] = None,
    limit: Annotated[
        int, Query(ge=1, le=100, description="Surviving chains `leakage` shows at most.")
    ] = figures.SHOWN,
) -> Response:
    """An edit's leakage graph, or one of its chains with the retention of each link."""
    job = here.looks.at(db, edit)
    score = record.get_score(db, job.id)
    taken = measure_of(score, measure)
    body = here.answers.get(
        ("figure", job.id, job.finished_at, kind, fmt, taken, n, limit),
        lambda: figures.draw_edit(db, score, kind, taken, fmt, n=n, limit=limit),
    )
    return answer(request, body, MEDIA_TYPES[fmt])


@router.get("/figures/{kind}.{fmt}", response_class=Response, summary="Draw the methods compared")
def methods_figure(
    kind: MethodsKind,
    fmt: Format,
    db: Db,
    here: Here,
    request: Request,
    graph: Annotated[Name | None, Query()] = None,
    model: Annotated[Name | None, Query()] = None,
    measure: Measure = "likelihood",
) -> Response:
    """The methods compared: IFR by chain length, or IFR against Preservation.

    Of the edits that the leaderboard of the same graph, model and measure shows.
    """
    held = record.scores_by(db, measure, graph=graph, model=model)
    # An edit that is scored again keeps its id and gets new values.
    edits = tuple(sorted((score.edit, hash(score.model_dump_json())) for score in held))
    body = here.answers.get(
        ("figure", kind, fmt, measure, edits),
        lambda: figures.draw_methods(held, kind, measure, fmt),
    )
    return answer(request, body, MEDIA_TYPES[fmt])
