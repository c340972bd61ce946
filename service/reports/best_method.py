"""The edit of several on one fact that a reader should look at first, and why.

Of the edits that took, the one that leaves least of the old fact: the others leave its leaks
as well. IFR is also low where the other facts about the subject changed, so the reason says what it
would be had they been kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..formatting import number, percent
from ..schemas import Measure, Score
from .verdict import KEPT, TOOK

EFFECTIVE = TOOK[0][0]
"""Efficacy from which on an edit took."""

FORGOTTEN = KEPT[1][0]
"""Subject retention below which the IFR beyond the subject is named."""


@dataclass(frozen=True, slots=True)
class BestMethod:
    """An edit to look at.

    Attributes:
        score: of the edit.
        why: sentences on its remarkable values.
    """

    score: Score
    why: str


def best_method(scores: Sequence[Score], measure: Measure) -> BestMethod:
    """The edit to look at: of those that took, the one with the lowest IFR.

    Where none took, the one of the greatest efficacy. An edit without IFR comes last.

    Args:
        scores: at least one; of one rewrite by several methods.
    """

    def value(score: Score, metric: str, missing: float = 0.0) -> float:
        found = score.number(metric, measure)
        return missing if found is None else found

    took = [score for score in scores if value(score, "efficacy") >= EFFECTIVE]
    if not took:
        best = max(scores, key=lambda score: value(score, "efficacy"))
        return BestMethod(
            best,
            f"no edit took (efficacy from {EFFECTIVE:g}); {best.method} came nearest with"
            f" {number(best.number('efficacy', measure))}.",
        )
    least = min(took, key=lambda score: value(score, "ifr", float("inf")))
    return BestMethod(least, _why(least, took, len(scores), measure))


def _why(least: Score, took: Sequence[Score], n: int, measure: Measure) -> str:
    """Return the reason to look at the edit with the lowest IFR of those that took."""
    ifr = least.number("ifr", measure)
    if len(took) > 1:
        rank = f"of the {len(took)} edits that took (of {n}), it leaves the least of the old fact"
    else:
        rank = f"it is the only edit of {n} that took" if n > 1 else "it took"
    if ifr is None:
        return f"{rank}; IFR is undefined."
    text = f"{rank}; even so {percent(ifr)} of that fact can still be deduced (IFR {number(ifr)})."
    retention, beyond = (
        least.number(metric, measure) for metric in ("subject_retention", "ifr_beyond_subject")
    )
    if retention is None or beyond is None or retention >= FORGOTTEN:
        return text
    text += (
        f" Part of the drop comes from the subject: the other facts about {least.subject} keep"
        f" {percent(retention)}; had they been kept, IFR would be {number(beyond)}."
    )
    known = [s for s in took if s.number("ifr_beyond_subject", measure) is not None]
    other = min(known, key=lambda s: s.number("ifr_beyond_subject", measure) or 0.0)
    if other.edit != least.edit:
        text += f" By that number {other.method} leaves least: {_beyond(other, measure)}."
    return text


def _beyond(score: Score, measure: Measure) -> str:
    return number(score.number("ifr_beyond_subject", measure))
