"""The question as a user's turn, and the cloze as the beginning of the assistant's answer."""

from __future__ import annotations

from .cloze import sentence
from .context import Context
from .material import LogP, NotAsked, Outcome, Prompt, Row, Target, Unit, Variant, likeliest
from .question import question_of

VERSION = 1
NEEDS = ("question", "chat template")
VARIANTS = (Variant("chat"),)


def units(target: Target, context: Context, variant: Variant) -> list[Unit]:
    """One prompt in the chat template."""
    if not context.chat:
        raise NotAsked("the model has no chat template")
    prompt = Prompt(sentence(target.fact), user=question_of(target.fact))
    return [Unit((Row(prompt, target.options),), (target.fact,))]


def score(values: LogP, target: Target, variant: Variant) -> Outcome:
    """By the likelihood of each option."""
    return likeliest(values, target)
