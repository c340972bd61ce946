"""The question, answered in the model's own words until it stops by itself.

A greedy answer is judged by the rules for sampled ones (`editing.probe.matching`): right, wrong or
undecided. A base model does not stop: it is asked behind three examples, and read up to the first
line break.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...editing.probe.prompts import QUESTION
from . import examples
from .context import Context
from .material import Answer, NotAsked, Outcome, Prompt, Row, Target, Unit, Variant, examples_first
from .question import question_of

VERSION = 1
NEEDS = ("question",)
SHORT = "Answer in one short sentence. "
STOPPED = "stopped by itself"
LINE = "3-shot"
VARIANTS = (
    Variant("short-sentence", "stop", further=STOPPED),
    Variant("chat", "stop", further=STOPPED),
    Variant(LINE, "line", examples=3, further=STOPPED),
)


def units(target: Target, context: Context, variant: Variant) -> list[Unit]:
    """One prompt: a user's turn, or the question behind examples for a model without chat."""
    question = question_of(target.fact)
    if variant.name == LINE:
        if context.chat:
            raise NotAsked("the model has a chat template")
        shown = context.examples(examples.questions, variant.examples)
        prompt = Prompt(examples_first(shown, QUESTION.format(question=question)))
    elif not context.chat:
        raise NotAsked("the model has no chat template")
    else:
        lead = SHORT if variant.name == "short-sentence" else ""
        prompt = Prompt("", user=lead + question)
    return [Unit((Row(prompt, target.options),), (target.fact,))]


def score(values: Sequence[Answer], target: Target, variant: Variant) -> Outcome:
    """By what the answer gives; P is 1 or 0, and missing where the answer is undecided."""
    (answer,) = values
    given = [None if verdict is None else float(verdict) for verdict in answer.gives]
    return Outcome(
        p=given[0],
        p_old=given[1] if target.new else None,
        margin=None,
        right=given[0],
        chance=1 / len(target.options),
        further=float(answer.stopped),
        text=answer.text,
        length=answer.tokens,
    )
