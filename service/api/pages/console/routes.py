"""The console's page: a form in its address, so that a link holds the query and its parameters.

A query runs when the form is sent, or when an own link or a bookmark is opened. A link on another
site's page only fills the form: a query costs the database seconds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from thinkeval import cypher

from .....cypher.console import Answer
from ....errors import KNOWN_ERRORS, NotFoundError, UsageError, describe
from ....formatting import cell
from ....jobs import queue
from ....reports.browser import (
    FOLDER,
    QUESTIONS,
    RULE_QUESTIONS,
    params_of,
    question_params,
)
from ....reports.edit import measure_of
from ....scoring import record
from ...state import Db, Here
from .. import guide
from ..render import words
from ..routes import Taken, page
from . import answer as console
from .drawing import caption_of, draw, name_of

if TYPE_CHECKING:
    from .....cypher.run import Database
    from ....schemas import EditOut, Measure

router = APIRouter(include_in_schema=False)

EDITS = 100
"""Newest edits that may be chosen."""
SHOWN_ROWS = 25
"""Rows shown before the others, which are folded."""
FIRST = "MATCH (g:Graph)\nRETURN g.id AS graph, g.dataset AS dataset\nLIMIT 25"
"""The query in an empty form."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Content of the form."""

    query: str
    params: str
    limit: int
    seconds: float


@router.get("/console")
def console_page(
    request: Request,
    db: Db,
    here: Here,
    ask: Annotated[str, Query(max_length=50)] = "",
    edit: Annotated[str, Query(max_length=200)] = "",
    measure: Taken = None,
    query: Annotated[str, Query(max_length=console.LONGEST_QUERY)] = "",
    params: Annotated[str, Query(max_length=console.LONGEST_QUERY)] = "",
    limit: Annotated[int, Query(ge=1, le=console.MOST_ROWS)] = 100,
    seconds: Annotated[float, Query(gt=0, le=console.LONGEST_S)] = 10.0,
) -> Response:
    """The form, and the answer to its content.

    Args:
        ask: a question by the name of its file in cypher/explore/, instead of a query.
        edit: the edit that it is about; else the newest.
        measure: whose probabilities the question reads; else the edit's first.
    """
    edits = _edits(db)
    chosen = edit or (edits[0].id if edits else "")
    asked = Asked(query.replace("\r\n", "\n"), params, limit, seconds)
    if ask:
        asked = _question(db, ask, chosen, measure, asked)
    values: dict[str, Any] = {"problem": None, "answer": None, "drawing": None}
    foreign = request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
    if asked.query and here.settings.console and not foreign:
        values |= _answered(db, here, asked)
    return page(
        request,
        "console.html",
        here="/console",
        asked=Asked(asked.query or FIRST, asked.params or "{}", limit, seconds),
        waits=foreign and bool(asked.query),
        off=not here.settings.console,
        ask=ask,
        edit=chosen,
        edits=edits,
        chapters=((None, guide.questions()), ("By rules", guide.questions(RULE_QUESTIONS))),
        question={**QUESTIONS, **RULE_QUESTIONS}.get(ask, ""),
        doc=cypher.query(f"{FOLDER}{ask}").doc if ask else "",
        shown_rows=SHOWN_ROWS,
        most_rows=console.MOST_ROWS,
        longest=console.LONGEST_S,
        **values,
    )


def _edits(db: Database) -> list[EditOut]:
    """The newest edits that have a score."""
    return queue.page(db, limit=EDITS, status="succeeded")[0]


def _question(db: Database, name: str, edit: str, measure: Measure | None, asked: Asked) -> Asked:
    known = {**QUESTIONS, **RULE_QUESTIONS}
    if name not in known:
        raise NotFoundError("question", name, known, listing="thinkeval queries")
    params = {key: param.default for key, param in params_of(name).items()}
    if "edit" in params and not edit:
        raise UsageError(
            "The question is about an edit, and no edit is scored yet.",
            remedy="Score one: `thinkeval demo`.",
        )
    if edit:
        score = record.get_score(db, edit)
        params |= question_params(name, score, measure_of(score, measure))
    (slide,) = guide.questions({name: known[name]})
    return Asked(slide.text, json.dumps(params, ensure_ascii=False), asked.limit, asked.seconds)


def _answered(db: Database, here: Here, asked: Asked) -> dict[str, Any]:
    """The answer for the template, or the error beside the form."""
    try:
        found = console.answer(
            db, here.settings, asked.query, _read(asked.params), asked.limit, asked.seconds
        )
    except KNOWN_ERRORS as error:
        return {"problem": describe(error)}
    table = [[_text(found, value) for value in row] for row in found.rows]
    return {"answer": found, "table": table, "numeric": _numeric(found), "drawing": draw(found)}


def _read(params: str) -> dict[str, Any]:
    try:
        found = json.loads(params or "{}")
    except ValueError as error:
        raise UsageError(
            f"The parameters are not JSON: {error}.",
            remedy='Write them as {"name": value}, with double quotes.',
        ) from error
    if not isinstance(found, dict):
        raise UsageError(
            "The parameters are no JSON object.", remedy='Write them as {"name": value}.'
        )
    return found


def _numeric(found: Answer) -> list[bool]:
    """Of each column, whether it holds numbers only."""
    columns = [[row[i] for row in found.rows] for i in range(len(found.columns))]
    return [
        any(value is not None for value in column)
        and all(
            value is None or (isinstance(value, int | float) and not isinstance(value, bool))
            for value in column
        )
        for column in columns
    ]


def _text(found: Answer, value: Any) -> str:
    """A value as a cell: entities by their names, the rest as the other tables have it."""
    if isinstance(value, dict):
        if set(value) == {"node"}:
            return name_of(found.nodes[value["node"]])
        if set(value) == {"relationship"}:
            return caption_of(found.edges[value["relationship"]])
        if set(value) == {"path"}:
            return _path_text(found, value["path"])
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return ", ".join(_text(found, each) for each in value) or "–"
    if isinstance(value, float):
        return f"{value:.5g}"  # a query may look for small numbers
    return str(value).lower() if isinstance(value, bool) else cell(value)


def _path_text(found: Answer, ids: list[str]) -> str:
    """A path as `a —relation→ b`, an arrow the way its relationship goes."""
    parts = [name_of(found.nodes[ids[0]])] if ids else []
    for place in range(1, len(ids), 2):
        edge = found.edges[ids[place]]
        said = words(str(edge.properties.get("relation") or edge.type))
        forward = edge.source == ids[place - 1]
        parts.append(f"—{said}→" if forward else f"←{said}—")
        parts.append(name_of(found.nodes[ids[place + 1]]))
    return " ".join(parts)
