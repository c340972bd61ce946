"""Is a statement true? The difference of two questions whose answers are opposite.

What is common to both questions, such as the frequency of the object and the model's liking for
"Yes", cancels. One question alone is asked of facts that are not edited only, to show what it is
worth. The controls ask the same statements of a subject for which none of them is true.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from ...editing.joint import joined
from ...editing.probe.prompts import QUESTION
from ...loaders.records import fill
from . import examples
from .context import Context
from .examples import IS_IT, NO, YES
from .grammar import clause, negated
from .material import (
    LogP,
    NotAsked,
    Outcome,
    Prompt,
    Row,
    Target,
    Unit,
    Variant,
    compared,
    difference,
    examples_first,
)

VERSION = 1
NEEDS = ()
EXAMPLES = 4
ONE, FALSE, NOT = "true", "true-false", "true-not"
OTHER = "other-subject"
MASS = "mass of Yes and No"
LEAST_MASS = 0.5


def _variant(name: str, control: str | None = None, *, is_control: bool = False) -> Variant:
    return Variant(
        name, "pairs", EXAMPLES, is_control, further=MASS, least=LEAST_MASS, against=control,
        on_request=True,
    )  # fmt: skip


VARIANTS = (
    _variant(ONE),
    _variant(FALSE, f"{FALSE}-{OTHER}"),
    _variant(f"{FALSE}-{OTHER}", is_control=True),
    _variant(NOT, f"{NOT}-{OTHER}"),
    _variant(f"{NOT}-{OTHER}", is_control=True),
)


def units(target: Target, context: Context, variant: Variant) -> list[Unit]:
    """For each option the question whether its statement is true, and the opposite question."""
    fact = target.fact
    if variant.name == ONE and target.new:
        raise NotAsked("one question alone says nothing about an edit")
    opposite = negated(fact.prompt) if variant.name.startswith(NOT) else fact.prompt
    if opposite is None:
        raise NotAsked("no rule negates the cloze")
    subject, options = _other(target, context) if variant.control else (fact.subject, None)
    shown = context.examples(examples.verdicts, EXAMPLES)
    rows = []
    for name in options or target.options:
        word = "true" if variant.name.startswith(NOT) else "false"
        asked = [("true", fact.prompt), (word, opposite)]
        for word, template in asked[: 1 if variant.name == ONE else 2]:
            text = _question(word, fill(template, subject), name, context)
            rows.append(Row(Prompt(examples_first(shown, text)), (YES, NO), words=True))
    return [Unit(tuple(rows), (fact,))]


def _question(word: str, cloze: str, name: str, context: Context) -> str:
    said = joined(cloze if context.begins_with_name(cloze) else clause(cloze), name)
    return QUESTION.format(question=IS_IT.format(word, said))


def _other(target: Target, context: Context) -> tuple[str, tuple[str, ...]]:
    """Another subject, and the options that are not true of it, the right one first."""
    relation = target.fact.relation
    for subject in context.other_subjects(target, 1):
        true = {fact.object for fact in context.objects[subject, relation]}
        options = tuple(name for name in target.options if name not in true)
        if len(options) > 1:
            return subject, options
    raise NotAsked("no other subject of the relation has another object")


def score(values: LogP, target: Target, variant: Variant) -> Outcome:
    """By the pairs whose right statement has the larger difference of ln P(yes) − ln P(no).

    Of one question it is the balanced accuracy of the verdicts. There is no probability of an
    object.
    """
    leanings = [difference(yes, [no]) for yes, no in values]
    mass = fmean(sum(map(math.exp, row)) for row in values)
    if variant.name == ONE:
        margin, right = compared(leanings, edited=False)[0], _balanced(leanings)
    else:
        pairs = zip(leanings[::2], leanings[1::2], strict=True)
        gains = [None if a is None or b is None else a - b for a, b in pairs]
        margin, right = compared(gains, edited=target.new is not None)
    return Outcome(None, None, margin, right, chance=0.5, further=mass)


def _balanced(leanings: Sequence[float | None]) -> float:
    """The mean of: the right statement is affirmed, the fraction of the others that is denied."""
    own, *others = (math.nan if value is None else value for value in leanings)
    return (float(own > 0) + fmean(float(other < 0) for other in others)) / 2
