"""/v1/appends: edits that append an answer, and what both models answer at their prompts.

An append is an edit like any other: it is submitted, queued and scored as one, and /v1/edits has it
too.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from ...cypher import rows
from ..errors import NotFoundError, UsageError
from ..graphs import datasets
from ..jobs import submit
from ..schemas import EditIn, EditOut, Score
from ..scoring import record
from . import edits
from .edits import EditId
from .problems import DESCRIBED, QUEUE_FULL, IdempotencyKey
from .results import of_scored
from .state import AppState, Db

router = APIRouter(prefix="/v1/appends", tags=["appends"], responses=DESCRIBED)


class AppendAnswersOut(BaseModel):
    """The prompts of an append, in order, by `likelihood_norm` of each name."""

    edit: str = Field(description="Id of the edit.")
    items: list[rows.AppendAnswersRow] = Field(description="The prompts of the request, in order.")


class AdditivityOut(BaseModel):
    """What else an append moved: one item a set of false answers."""

    edit: str = Field(description="Id of the edit.")
    items: list[rows.AdditivityRow] = Field(description="One row for each set of false answers.")


@router.post(
    "",
    summary="Score an append",
    status_code=202,
    response_model=EditOut,
    responses={
        200: {"description": "The append is scored already.", "model": EditOut},
        429: QUEUE_FULL,
    },
)
def post_append(
    body: EditIn,
    db: Db,
    here: AppState,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> EditOut:
    """As `POST /v1/edits`, for a rewrite request that has correct answers.

    Any other is refused.
    """
    datasets.get_or_import(db, body.graph)
    rewrite = submit.rewrite_of(db, body)
    if rewrite.kind != "append":
        raise UsageError(
            f"{rewrite.id!r} replaces an object; it has no correct answers to append one to.",
            remedy="Name a request to append, or use POST /v1/edits.",
        )
    edit = edits.post_edit(body, db, here, response, idempotency_key)
    response.headers["Location"] = f"/v1/appends/{edit.id}"
    return edit


@router.get("/{edit}", response_model=EditOut, summary="Get the status of an append")
def get_append(edit: EditId, db: Db, here: AppState, request: Request) -> Any:
    """As `GET /v1/edits/{edit}`; an edit that replaces an object is not found here."""
    row = record.get_edit(db, edit)
    asked = db.read(rows.RewriteRow, "graph/get_rewrite", dataset=row.dataset, rewrite=row.rewrite)[
        0
    ]
    _require_append(bool(asked.correct), edit)
    return edits.get_edit(edit, db, here, request)


@router.get(
    "/{edit}/answers", response_model=AppendAnswersOut, summary="List the answers of an append"
)
def get_append_answers(edit: EditId, db: Db, here: AppState, request: Request) -> Response:
    """P of each correct and false answer before and after the edit, prompt by prompt."""

    def build(score: Score) -> AppendAnswersOut:
        _require_append(score.append is not None, edit)
        items = db.read(rows.AppendAnswersRow, "append/answers", edit=score.edit)
        return AppendAnswersOut(edit=score.edit, items=items)

    return of_scored(request, here, db, edit, build)


@router.get(
    "/{edit}/additivity",
    response_model=AdditivityOut,
    summary="Get the additivity of an append",
)
def get_additivity(
    edit: EditId,
    db: Db,
    here: AppState,
    request: Request,
    strict: Annotated[
        bool, Query(description="Leave names that are correct and hard at once out of both lists.")
    ] = False,
    published: Annotated[
        bool, Query(description="No values where the last paraphrase is dropped.")
    ] = False,
    es_over: Annotated[
        Literal["kept", "all"], Query(description="ES and GS: over the kept correct answers.")
    ] = "kept",
    ls_over: Annotated[
        Literal["known", "all"],
        Query(description="LS: over the prompts that the unedited model prefers right."),
    ] = "known",
) -> Response:
    """RFF to ANF against hard and random false answers, with prompts dropped by reason.

    With its defaults the values are those of the score.
    """

    def build(score: Score) -> AdditivityOut:
        _require_append(score.append is not None, edit)
        items = db.read(
            rows.AdditivityRow,
            "append/additivity",
            edits=[score.edit],
            strict=strict,
            published=published,
            es_over=es_over,
            ls_over=ls_over,
        )
        return AdditivityOut(edit=score.edit, items=items)

    return of_scored(request, here, db, edit, build)


def _require_append(found: bool, edit: str) -> None:
    """Refuse an edit whose request replaces an object.

    Raises:
        NotFoundError: it is no append.
    """
    if not found:
        raise NotFoundError("append", edit, [], listing="thinkeval rewrites GRAPH")
