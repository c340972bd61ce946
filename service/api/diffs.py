"""`/v1/edits/{a}/diff/{b}`: two scored edits side by side."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from thinkeval.service.api.problems import DESCRIBED
from thinkeval.service.api.state import Db, Here, answer
from thinkeval.service.reports import diff
from thinkeval.service.reports.schemas import Diff
from thinkeval.service.schemas import Measure

router = APIRouter(prefix="/v1/edits", tags=["results"], responses=DESCRIBED)

AnyEdit = Annotated[
    str, Path(min_length=1, max_length=200, description="A scored edit; any id it ever had.")
]


@router.get("/{a}/diff/{b}", response_model=Diff, summary="Compare two edits")
def get_diff(
    a: AnyEdit,
    b: AnyEdit,
    db: Db,
    here: Here,
    request: Request,
    measure: Annotated[
        Measure | None,
        Query(description="Of facts and chains; default: the first that both edits hold."),
    ] = None,
) -> Response:
    """What edit `b` did otherwise than edit `a`: metric deltas (b − a), facts flipped, chains.

    A chain is opened if it is cut after `a` and survives after `b`, closed the other way round.
    The diff of an edit with itself says `empty: true`; swapping the edits negates every delta and
    exchanges opened and closed. 422 if the edits are of different data sets.
    """
    one, other = here.looks.at(db, a), here.looks.at(db, b)
    ended = (one.id, one.finished_at, other.id, other.finished_at)

    def body() -> bytes:
        return diff.diff(db, one.id, other.id, measure).model_dump_json().encode()

    return answer(request, here.answers.get(("diff", *ended, measure), body))
