"""Candidates of a run, page by page, and one with all that it rests on.

The review queue are the candidates that wait (`record.WAITING`). A page reads its own rows only,
whatever the number of candidates (benchmarks/growth/review_queue.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast, get_args

from ....cypher import rows
from ....cypher.rows.growth import CandidateState
from ...errors import NotFoundError, UsageError
from ..runs import require_run
from .record import decisions_of
from .schemas import (
    CandidateDetail,
    CandidateOut,
    CandidatePage,
)

if TYPE_CHECKING:
    from ....cypher.run import Database

PAGE = 50
"""Default number of candidates on a page."""
ALL = 999_999
"""Candidates of a file, at most."""
SEPARATOR = "~"


def page(
    db: Database,
    run: str,
    states: Sequence[CandidateState] | None = None,
    *,
    limit: int = PAGE,
    cursor: str | None = None,
    undecided_by: str | None = None,
) -> CandidatePage:
    """One page of candidates in order of appearance.

    Args:
        states: only in these; None: all.
        undecided_by: only those that this person has not decided yet.

    Raises:
        NotFoundError: no such run.
        UsageError: the cursor is not one of ours.
    """
    place, name = _read_cursor(cursor)
    (all_,) = db.read(
        int, "growth/waiting", run=run, states=list(states or get_args(CandidateState))
    )
    places = db.read(
        rows.CandidatePlaceRow,
        "growth/candidate_page",
        run=run,
        states=None if states is None else list(states),
        after=place,
        after_id=name,
        limit=limit + 1,
        undecided_by=undecided_by,
    )
    if not places:
        require_run(db, run)
    shown = places[:limit]
    found = db.read(CandidateOut, "growth/candidates", run=run, ids=[each.id for each in shown])
    by_id = {row.id: row for row in found}
    return CandidatePage(
        items=[by_id[each.id] for each in shown if each.id in by_id],
        next=f"{shown[-1].place}{SEPARATOR}{shown[-1].id}" if len(places) > limit else None,
        total=all_,
    )


def detail(db: Database, run: str, candidate: str) -> CandidateDetail:
    """A candidate with the answers that it rests on and the decisions about it.

    Raises:
        NotFoundError: no such run or candidate.
    """
    decisions = decisions_of(db, run, candidate).items
    found = db.read(CandidateOut, "growth/candidates", run=run, ids=[candidate])
    if not found:
        raise NotFoundError("candidate", candidate, [], listing=f"thinkeval grow candidates {run}")
    evidence = db.read(rows.EvidenceRow, "growth/evidence", run=run, id=candidate)
    return CandidateDetail(**dict(found[0]), evidence=evidence, decisions=decisions)


def state_of(text: str) -> CandidateState:
    """A state by its name.

    Raises:
        UsageError: no such state.
    """
    if text not in get_args(CandidateState):
        raise UsageError(
            f"{text!r} is no state of a candidate.",
            remedy=f"States are {', '.join(get_args(CandidateState))}.",
        )
    return cast(CandidateState, text)


def _read_cursor(cursor: str | None) -> tuple[int, str]:
    if cursor is None:
        return -1, ""
    place, mark, name = cursor.partition(SEPARATOR)
    if not (mark and name and place.isascii() and place.isdigit() and len(place) < 10):
        raise UsageError(
            f"{cursor!r} is not a cursor.", remedy="Give `next` of the previous page unchanged."
        )
    return int(place), name
