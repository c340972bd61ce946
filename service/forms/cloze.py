"""The fact's sentence, which the object completes."""

from __future__ import annotations

from ...loaders.records import Fact, fill
from .context import Context
from .material import LogP, Outcome, Prompt, Row, Target, Unit, Variant, likeliest

VERSION = 1
NEEDS = ()
VARIANTS = (Variant("0-shot"),)


def sentence(fact: Fact) -> str:
    """The cloze with its subject."""
    return fill(fact.prompt, fact.subject)


def units(target: Target, context: Context, variant: Variant) -> list[Unit]:
    """One prompt: the cloze."""
    row = Row(Prompt(sentence(target.fact)), target.options)
    return [Unit((row,), (target.fact,))]


def score(values: LogP, target: Target, variant: Variant) -> Outcome:
    """By the likelihood of each option."""
    return likeliest(values, target)
