"""Efficacy with and without the chat template, for models that have one.

An edit is computed at the plain prompt, and papers measure efficacy there; an instruct model may be
probed in its chat (`chat_choice`). The two can differ, so a score has both:
`efficacy_chat` and `efficacy_plain`. One of them is `efficacy` itself, the other is one more probe
of the new object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..schemas import MetricValue
from .probe import Answer, ProbedFact, Question, probe

if TYPE_CHECKING:
    from ...editing.deltas import EditEffect
    from ...editing.models import LoadedModel
    from ...editing.probe import ProbeSettings

CHAT, PLAIN = "efficacy_chat", "efficacy_plain"
SAMPLED = "p"


def measured(
    loaded: LoadedModel,
    settings: ProbeSettings,
    effect: EditEffect,
    probed: Sequence[ProbedFact],
) -> list[MetricValue]:
    """Both values by each measure, n = 1 prompt; nothing for a model without a chat template.

    Nothing for a request to forget either, as it has no new object.

    A template that rejects the prompt, under `chat` never, gives None with n = 0, and so do samples
    that are all undecided.

    Args:
        settings: of the score's probe; whatever `chat` says, the other way is asked too.
        probed: the score's facts with the edited model's answers, one of them of the new object.
    """
    from ...editing.deltas import applied
    from ...editing.errors import ProbeError
    from ...editing.probe.prompts import uses_chat

    new = next((fact for fact in probed if fact.question.role == "target_new"), None)
    if new is None or getattr(loaded.tokenizer, "chat_template", None) is None:
        return []
    own, other = (CHAT, PLAIN) if uses_chat(loaded.tokenizer, settings.chat) else (PLAIN, CHAT)
    turned = replace(settings, chat="never" if other == PLAIN else "always")
    question = replace(new.question, neighborhood=())
    answer = None
    with applied(loaded.model, effect):
        try:
            (answer,) = probe(loaded, [question], turned, prompt_change=effect.prompt_change)
        except ProbeError:
            if other == PLAIN:
                raise
    return [
        _value(metric, measure, question, found, asked=found is answer)
        for metric, found in ((own, new.post), (other, answer))
        for measure in settings.measures
    ]


def _value(
    metric: str, measure: str, question: Question, found: Answer | None, asked: bool
) -> MetricValue:
    """The value; with an interval where it is sampled and asked here, for the other is efficacy."""
    value = None if found is None else found.values.get(measure)
    if found is None or value is None:
        return MetricValue(metric=metric, measure=measure, value=None, n=0)
    low = high = None
    if asked and measure == SAMPLED:
        from . import intervals  # numpy; `--help` should not wait for it

        names = (question.fact.object, *question.aliases)
        low, high = intervals.of_answers(found.answers, names)
    return MetricValue(metric=metric, measure=measure, value=value, n=1, low=low, high=high)
