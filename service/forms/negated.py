"""The cloze with *not*; a model that reads it gives the object less than the cloze does.

"Not Paris" has many right answers, so this form has no accuracy.
"""

from __future__ import annotations

from ...loaders.records import fill
from .cloze import sentence
from .context import Context
from .grammar import negated
from .material import (
    LogP,
    NotAsked,
    Outcome,
    Prompt,
    Row,
    Target,
    Unit,
    Variant,
    by_options,
    difference,
)

VERSION = 1
NEEDS = ("negation",)
VARIANTS = (Variant("0-shot", "rank", has_accuracy=False, further="ln P(cloze) − ln P(negated)"),)


def units(target: Target, context: Context, variant: Variant) -> list[Unit]:
    """Two prompts: the negated cloze, and the cloze."""
    fact = target.fact
    template = negated(fact.prompt)
    if template is None:
        raise NotAsked("no rule negates the cloze")
    prompts = (fill(template, fact.subject), sentence(fact))
    return [Unit(tuple(Row(Prompt(text), target.options) for text in prompts), (fact,))]


def score(values: LogP, target: Target, variant: Variant) -> Outcome:
    """By rank behind the negated cloze; `further` is the response of the right object."""
    denied, stated = values
    response = difference(stated[0], denied[:1])
    return by_options(denied, target, edited=target.new is not None, further=response)
