"""The judge against people, and people against each other: one table, a row an iteration.

Positive is a triplet that people keep (ThinkEval, App. P, Table 11): TP where the judge keeps it
too, FN where the judge prunes it, FP where only the judge keeps it. A corrected or added triplet
counts as kept. Only triplets that both decided are counted. Table 11's figures are those of its
last iteration; the sum over iterations differs.

Agreement is over the candidates that two persons or more decided; of several decisions of one
person about one candidate the latest counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...agreement import agreement
from ..schemas import JudgeRow
from .schemas import CandidateOut, DecisionOut

if TYPE_CHECKING:
    from ....cypher.run import Database

CATEGORIES = ("keep", "prune", "correct")


def judge_rows(db: Database, run: str) -> list[JudgeRow]:
    """Return a row an iteration and one over all; none where nothing was judged or decided."""
    ratings = _ratings(db, run)
    by_iteration: dict[int, list[CandidateOut]] = defaultdict(list)
    for row in db.read(CandidateOut, "growth/candidates", run=run):
        if row.judged is not None or row.id in ratings:
            by_iteration[row.iteration].append(row)
    counted = [_row(number, each, ratings) for number, each in sorted(by_iteration.items())]
    every = [row for each in by_iteration.values() for row in each]
    return [*counted, _row(None, every, ratings)] if every else []


def quality(tp: int, fp: int, fn: int) -> dict[str, float | None]:
    """Return precision, recall and F1 of counts; None where undefined."""
    return {
        "precision": tp / (tp + fp) if tp + fp else None,
        "recall": tp / (tp + fn) if tp + fn else None,
        "f1": 2 * tp / (2 * tp + fp + fn) if tp + fp and tp + fn else None,
    }


def _ratings(db: Database, run: str) -> dict[str, dict[str, str]]:
    """Return the latest decision of each person, by candidate."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in db.read(DecisionOut, "growth/decisions", run=run):
        if row.role == "human":
            found[row.candidate][row.by] = "keep" if row.verb == "add" else row.verb
    return found


def _row(
    iteration: int | None,
    candidates: Sequence[CandidateOut],
    ratings: Mapping[str, Mapping[str, str]],
) -> JudgeRow:
    judged = [row for row in candidates if row.kind == "triplet" and row.judged is not None]
    pairs = [
        (row.judged != "prune", row.verdict != "prune") for row in judged if row.verdict is not None
    ]
    tp, fp, fn, tn = (
        pairs.count(each) for each in ((True, True), (True, False), (False, True), (False, False))
    )
    said = [list(ratings[row.id].values()) for row in candidates if row.id in ratings]
    agreed = agreement(said, CATEGORIES)
    values: dict[str, Any] = {
        name: getattr(agreed, name) for name in ("pairwise", "unanimous", "ac1", "alpha")
    }
    return JudgeRow(
        iteration=iteration,
        judged=len(judged),
        both=len(pairs),
        tp=tp,
        fp=fp,
        fn=fn,
        tn=tn,
        rated=agreed.n,
        **quality(tp, fp, fn),
        **values,
    )
