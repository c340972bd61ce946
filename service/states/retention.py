"""Retention: the part of the first state's change that is left in states that build on it.

Retention of a request in state k is p_k(new) / p_1(new), or forgetting_k / forgetting_1 of a
request to forget; undefined where the denominator is below .05. It is computed for states that have
all changes of the first: of others it would say nothing. The first state closed a chain that led to
the old object in the base; it is open again in a state where it leads there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...cypher import rows
from ..formatting import fine
from ..schemas import KNOWN, Measure
from .schemas import (
    ComparedRequest,
    ComparisonIn,
    Reopened,
    Retention,
    StateComparison,
)

if TYPE_CHECKING:
    from ...cypher.run import Database
    from .spec import StateIn

LEAST = KNOWN
"""Change in the first state below which its retention is undefined."""


def with_retention(
    db: Database, posted: ComparisonIn, states: Sequence[StateComparison]
) -> list[StateComparison]:
    """The states, with the retention of each request where the state builds on the first."""
    first = states[0]
    return [
        state.model_copy(
            update={
                "requests": [
                    request.model_copy(update={"retention": _retention(db, posted, start, request)})
                    for start, request in zip(first.requests, state.requests, strict=True)
                ]
            }
        )
        if builds_on(wanted, posted.states[0])
        else state
        for wanted, state in zip(posted.states, states, strict=True)
    ]


def builds_on(state: StateIn, first: StateIn) -> bool:
    """Return True if a state has all changes of the first, in the same order."""
    same = (state.model, state.revision, state.endpoint) == (
        first.model, first.revision, first.endpoint,
    )  # fmt: skip
    adapter = first.adapter in (None, state.adapter)
    begins = state.edits[: len(first.edits)] == first.edits
    return same and adapter and begins and (first.quantized in (None, state.quantized))


def _retention(
    db: Database, posted: ComparisonIn, start: ComparedRequest, request: ComparedRequest
) -> dict[Measure, Retention]:
    olds = _old_object(db, request)
    metric = "forgetting" if request.kind == "forget" else "efficacy"
    found: dict[Measure, Retention] = {}
    for measure in request.routes:
        if measure not in start.routes:
            continue
        change, whole = (each.number(metric, measure) for each in (request, start))
        defined = change is not None and whole is not None and whole >= LEAST
        found[measure] = Retention(
            retention=change / whole if defined and change is not None and whole else None,
            undefined=None if defined else _undefined(request, whole),
            change=change,
            target_true=olds.get(measure),
            reopened=_reopened(db, posted, measure, start.edit, request),
        )
    return found


def _undefined(request: ComparedRequest, whole: float | None) -> str:
    """Why the retention of a request is undefined."""
    if whole is None:
        return "the base did not know the fact that is forgotten (p below .05)"
    name = "forgetting" if request.kind == "forget" else "p(new object)"
    return f"in the first state, {name} is {fine(whole)}, below .05"


def _reopened(
    db: Database, posted: ComparisonIn, measure: Measure, first: str, request: ComparedRequest
) -> Reopened:
    """The chains that the first state closed and that are open again in the state of a request.

    Args:
        first: id of the graph that compares the base with the first state.
    """
    found = db.read(
        rows.RevivedRow,
        "states/revived",
        graph=first,
        later=request.edit,
        subject=request.subject,
        object=request.target_true,
        relation=request.relation,
        max_steps=posted.max_steps,
        bare=posted.bare,
        parallel=posted.parallel,
        pre=f"{measure}_pre",
        post=f"{measure}_post",
        floor=0.0 if measure == "p" else posted.known_chain,
    )
    if not found:
        return Reopened(closed=0, opened=0)
    (row,) = found
    return Reopened(
        closed=row.closed, opened=row.opened, facts=list(row.links),
        base=row.r_base, edited=row.r_edited, later=row.r_later,
    )  # fmt: skip


def _old_object(db: Database, request: ComparedRequest) -> dict[str, float | None]:
    """The probability of the old object in the state, by measure; empty without such a fact."""
    for row in db.read(rows.FactRow, "graph/facts", graph=request.edit):
        if row.role == "target_true":
            return {
                "p": row.p_post,
                "likelihood": row.likelihood_post,
                "likelihood_norm": row.likelihood_norm_post,
            }
    return {}
