"""The model judge: keeps, prunes or corrects found triplets (ThinkEval, §4.2, App. F).

Each of its decisions is stored once, as those of people are; a person's decision goes before it.
An answer that stays invalid is no decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from ..errors import UsageError
from . import prompts, structured
from .context import LONG
from .review import record
from .review.schemas import Triplet

if TYPE_CHECKING:
    from .candidates import Candidate
    from .context import Context

REASON = 2000
"""Characters of a reason, at most."""


class JudgedTriplet(BaseModel):
    """A corrected triplet."""

    subject: str
    relation: str
    object: str


class Judged(BaseModel):
    """The answer of the judge."""

    verdict: Literal["keep", "prune", "correct"]
    triplet: JudgedTriplet | None = None
    reason: str = ""


def judge(context: Context, candidates: Sequence[Candidate]) -> None:
    """Have the judge decide about stored candidates that neither it nor a person has decided.

    Raises:
        BudgetReached, EndpointError: decisions made before are stored.
    """
    open_ = [one for one in candidates if not _decided(context, one)]
    seat = context.role("judge")
    requests = [
        context.requests(_text(context, one), "judge", max_tokens=LONG, temperature=0.0)[0]
        for one in open_
    ]
    judgements = structured.ask_for(
        Judged, requests, lambda more: seat.answers.texts(more, "judging"), form=seat.form
    )
    for one, each in zip(open_, judgements, strict=True):
        if each.value is not None:
            _record(context, one, each.value)


def _decided(context: Context, one: Candidate) -> bool:
    known = context.candidates.verdicts(one)
    return known.verdict is not None or known.judged is not None


def _text(context: Context, one: Candidate) -> str:
    statements = [context.statements[name] for name in dict.fromkeys(one.statements)]
    return prompts.fill(
        "judge",
        question=prompts.data(str(one.checks.get("asked", ""))),
        statement=prompts.data("\n".join(statements)),
        triplet=prompts.data(" | ".join(one.triplet)),
    )


def _record(context: Context, one: Candidate, judgement: Judged) -> None:
    """Append the decision; a correction that says nothing new is a keep."""
    verdict, after = judgement.verdict, None
    if verdict == "correct" and judgement.triplet is not None:
        try:
            after = Triplet(**judgement.triplet.model_dump())
        except ValueError:
            return
    reason, by = judgement.reason[:REASON] or None, context.role("judge").answers.endpoint.id
    try:
        record.decide(
            context.db, context.run, one.id, verdict, by, role="judge", after=after, reason=reason
        )
    except UsageError:
        verdict, after = "keep", None
        record.decide(context.db, context.run, one.id, verdict, by, role="judge", reason=reason)
    context.judged += 1
    known = context.candidates.verdicts(one)
    corrected = (after.subject, after.relation, after.object) if after else None
    context.candidates.decided[one.id] = replace(known, judged=verdict, judge_corrected=corrected)
