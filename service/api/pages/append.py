"""Values of `_append.html`: what else an edit moved that appends an answer (PEAK)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....cypher import rows
from ...formatting import number, pluralize
from ...reports.append.edit import value_against
from ...scoring.append.additivity import MEASURE
from ...scoring.append.filter import kept
from ...scoring.append.variants import variant_of

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ...schemas import AppendOut, Score

SETS = {"hard": "linked to the new answer", "random": "far from it"}
"""The two sets of false answers, in words."""

METRICS = {
    "rff": "correct answers below a false one",
    "cpc": "P of the correct answers, after / before",
    "aff": "AFF: correct answers lost",
    "rnf": "false answers above a correct one",
    "fpc": "P of the false answers, after / before",
    "anf": "ANF: false answers gained",
}
"""The lines of the table of additivity."""

SUCCESSES = {
    "append_es": "ES: new answer taken at the prompt",
    "append_gs": "GS: at paraphrases",
    "append_ls": "LS: other prompts undisturbed",
}

DISTURBED = 0.3
"""From this AFF or ANF on, the summary speaks of harm."""


@dataclass(frozen=True, slots=True)
class Moved:
    """One answer at one prompt.

    Attributes:
        role: new, correct, hard or random.
        kept: whether the filter before the edit keeps it; always for the new answer.
    """

    name: str
    role: str
    pre: float
    post: float
    kept: bool = True


def append_values(db: Database, score: Score) -> dict[str, Any]:
    """The section of a request to append; `moved` is None for other requests."""
    if score.append is None:
        return {"moved": None}
    asked = [
        row
        for row in db.read(rows.AppendAnswersRow, "append/answers", edit=score.edit)
        if row.role != "locality"
    ]
    return {
        "moved": [(row.text, _answers(row, score.target_new)) for row in asked],
        "moved_sets": SETS,
        "moved_lines": [
            (label, [value_against(score, name, false) for false in SETS])
            for name, label in METRICS.items()
        ],
        "moved_successes": [(label, score.get(name, MEASURE)) for name, label in SUCCESSES.items()],
        "moved_variant": variant_of(score.append),
        "moved_by": _loss(score.append),
    }


def summary(score: Score) -> str:
    """The result of a request to append in a few sentences."""
    success = score.number("append_es", MEASURE)
    if success is None:
        taken = "no prompt passes the filter, so that the metrics are undefined"
    else:
        taken = f"{score.target_new} {'is now' if success else 'is not'} among the answers"
    values = {name: score.number(f"{name.lower()}_hard", MEASURE) for name in ("AFF", "ANF")}
    harm = [f"{name} {number(value)}" for name, value in values.items() if value is not None]
    worst = max(value or 0.0 for value in values.values())
    how = "stayed" if worst < DISTURBED else "were disturbed"
    correct = pluralize(score.append.n_correct, "correct answer") if score.append else ""
    rest = f" The {correct} {how} ({', '.join(harm)}; 0 is undisturbed)." if harm else ""
    return f"{taken[0].upper()}{taken[1:]}.{rest} No object was replaced: IFR does not apply."


def _answers(row: rows.AppendAnswersRow, new: str) -> list[Moved]:
    """The answers at a prompt, the likeliest after the edit first."""
    chosen = kept(row.correct_pre, row.hard_pre, row.random_pre)
    found = [Moved(new, "new", row.new_pre, row.new_post)]
    for role in ("correct", "hard", "random"):
        names: Sequence[str] = getattr(row, role)
        pre, post = getattr(row, f"{role}_pre"), getattr(row, f"{role}_post")
        places = set(getattr(chosen, role))
        found += [Moved(name, role, pre[i], post[i], i in places) for i, name in enumerate(names)]
    return sorted(found, key=lambda each: -each.post)


def _loss(append: AppendOut) -> str:
    """How the loss kept the other answers, in words."""
    if append.loss == "none":
        return "nothing in the loss kept the other answers"
    if append.loss == "all-answers":
        return "the correct answers were targets too"
    weights = ", ".join(
        f"{name} {value:g}"
        for name, value in (("α", append.alpha), ("β", append.beta), ("γ", append.gamma))
        if value is not None
    )
    k = "all" if append.neighbours == "all" else f"{append.neighbours} of the"
    return f"APP with {k} correct and hard false answers ({weights})"
