"""The fact's question as plain text, without examples or behind three."""

from __future__ import annotations

from ...editing.probe.prompts import QUESTION
from ...loaders.records import Fact
from . import examples
from .context import Context
from .material import (
    LogP,
    NotAsked,
    Outcome,
    Prompt,
    Row,
    Target,
    Unit,
    Variant,
    examples_first,
    likeliest,
)

VERSION = 1
NEEDS = ("question",)
VARIANTS = (Variant("0-shot"), Variant("3-shot", examples=3))


def question_of(fact: Fact) -> str:
    """The fact's question.

    Raises:
        NotAsked: it has none.
    """
    if not (fact.question or "").strip():
        raise NotAsked("the fact has no question")
    return (fact.question or "").strip()


def units(target: Target, context: Context, variant: Variant) -> list[Unit]:
    """One prompt: the question."""
    asked = QUESTION.format(question=question_of(target.fact))
    shown = context.examples(examples.questions, variant.examples)
    row = Row(Prompt(examples_first(shown, asked)), target.options)
    return [Unit((row,), (target.fact,))]


def score(values: LogP, target: Target, variant: Variant) -> Outcome:
    """By the likelihood of each option."""
    return likeliest(values, target)
