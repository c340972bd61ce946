"""Values of `edit/appended.html`: an appended answer, and how it moved the others (PEAK)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .....cypher import rows
from ....formatting import number, pluralize
from ....reports.appended import OF_SUCCESS, additivity, successes, variant_of
from ....scoring.append import LISTS, MEASURE, WEIGHTS, kept

if TYPE_CHECKING:
    from .....cypher.run import Database
    from ....schemas import AppendOut, Score

DISTURBED = 0.3
"""From this AFF or ANF on, the summary speaks of harm."""
ROLES = {"new": "added", "correct": "correct", "hard": "false, linked", "random": "false, far"}


@dataclass(frozen=True, slots=True)
class Moved:
    """One answer at one prompt.

    Attributes:
        kept: whether the filter before the edit keeps it; always for the new answer.
    """

    name: str
    role: str
    pre: float
    post: float
    kept: bool = True


def append_values(db: Database, score: Score, append: AppendOut) -> dict[str, Any]:
    """Return the result in words, additivity, successes, and the answers at each prompt."""
    prompts = [
        row
        for row in db.read(rows.AppendAnswersRow, "append/answers", edit=score.edit)
        if row.role != "locality"
    ]
    return {
        "summary": summary(score, append),
        "added_by": _added_by(score, append),
        "additivity": additivity(score),
        "successes": successes(score),
        "of_success": OF_SUCCESS,
        "moved": [(row.text, _answers(row, score.target_new)) for row in prompts],
        "roles": ROLES,
    }


def summary(score: Score, append: AppendOut) -> str:
    """Return the result of a request to append in a few sentences."""
    success = score.number("append_es", MEASURE)
    if success is None:
        taken = "No prompt passes the filter, so that the metrics are undefined"
    else:
        taken = f"{score.target_new} {'is now' if success else 'is not'} among the answers"
    values = {name: score.number(f"{name.lower()}_hard", MEASURE) for name in ("AFF", "ANF")}
    harm = [f"{name} {number(value)}" for name, value in values.items() if value is not None]
    worst = max(value or 0.0 for value in values.values())
    how = "stayed" if worst < DISTURBED else "were disturbed"
    correct = pluralize(append.n_correct, "correct answer")
    rest = f" The {correct} {how} ({', '.join(harm)}; 0 is undisturbed)." if harm else ""
    return f"{taken}.{rest} No object was replaced: IFR does not apply."


def _answers(row: rows.AppendAnswersRow, new: str) -> list[Moved]:
    """Return the answers at a prompt, the likeliest after the edit first."""
    chosen = kept(row.correct_pre, row.hard_pre, row.random_pre)
    found = [Moved(new, "new", row.new_pre, row.new_post)]
    for role in LISTS:
        names: Sequence[str] = getattr(row, role)
        pre, post = getattr(row, f"{role}_pre"), getattr(row, f"{role}_post")
        places = set(getattr(chosen, role))
        found += [Moved(name, role, pre[i], post[i], i in places) for i, name in enumerate(names)]
    return sorted(found, key=lambda each: -each.post)


def _added_by(score: Score, append: AppendOut) -> str:
    """Return method and variant in words, with the weights of APP."""
    variant = variant_of(append)
    text = score.method if variant == "bare" else f"{score.method} {variant}"
    if append.loss == "app":
        weights = zip("αβγ", (getattr(append, name) for name in WEIGHTS), strict=True)
        text += f" ({', '.join(f'{name} {value:g}' for name, value in weights if value)})"
    return text
