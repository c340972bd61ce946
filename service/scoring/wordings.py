"""The ways to ask for a fact, and how likely a model makes its object in each; by likelihood alone.

The same fact may be known by one wording and unknown by another: an instruct model that completes a
plain cloze may answer nothing of the kind in its chat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Literal, NamedTuple

from .probe import Progress, Question, probe

if TYPE_CHECKING:
    from ...editing.models import LoadedModel
    from ...editing.probe import ProbeSettings


class Wording(NamedTuple):
    """A way to ask; `flags` are the options that ask so, empty where there are none."""

    name: str
    ask: Literal["cloze", "question"]
    chat: bool
    flags: tuple[str, ...]


CLOZE = Wording("cloze", "cloze", False, ("--ask", "cloze", "--chat", "never"))
QUESTION = Wording("question", "question", False, ("--ask", "question", "--chat", "never"))
PARAPHRASES = Wording("paraphrases", "cloze", False, ())
"""The mean over a fact's other clozes, asked one by one."""
CHAT_CLOZE = Wording("chat cloze", "cloze", True, ("--ask", "cloze", "--chat", "always"))
CHAT_QUESTION = Wording(
    "chat question", "question", True, ("--ask", "question", "--chat", "always")
)
WORDINGS = (CLOZE, QUESTION, PARAPHRASES, CHAT_CLOZE, CHAT_QUESTION)

Values = dict[Wording, list[float | None]]
"""A likelihood a fact for each wording that some fact has; None for a fact without it."""


def wording_of(loaded: LoadedModel, settings: ProbeSettings) -> Wording:
    """Return the wording that a probe with these settings uses."""
    from ...editing.probe.prompts import uses_chat

    chat = uses_chat(loaded.tokenizer, settings.chat)
    return next(w for w in WORDINGS if (w.ask, w.chat) == (settings.ask, chat))


def likelihoods(
    loaded: LoadedModel,
    questions: Sequence[Question],
    settings: ProbeSettings,
    progress: Progress | None = None,
) -> Values:
    """Return the likelihood of each question's object in each wording that exists.

    Chat wordings exist where the tokenizer has a template that takes the prompt. Each wording costs
    as much as a probe of all questions by likelihood; paraphrases cost that for each of them.
    """
    from ...editing.errors import ProbeError

    found: Values = {}
    has_chat = getattr(loaded.tokenizer, "chat_template", None) is not None
    for wording in WORDINGS:
        if wording is PARAPHRASES or (wording.chat and not has_chat):
            continue
        try:
            found |= _asked(loaded, questions, settings, wording, progress)
        except ProbeError:  # of a chat template, which is a program of its own
            if not wording.chat:
                raise
    return found


def _asked(
    loaded: LoadedModel,
    questions: Sequence[Question],
    settings: ProbeSettings,
    wording: Wording,
    progress: Progress | None,
) -> Values:
    """The likelihoods of one wording; those of the plain cloze with its paraphrases."""
    places = [i for i, q in enumerate(questions) if wording.ask == "cloze" or q.fact.question]
    if not places:
        return {}
    turned = replace(
        settings, measures=("likelihood",), ask=wording.ask, paraphrases=False,
        chat="always" if wording.chat else "never",
    )  # fmt: skip
    asked = [
        replace(q, neighborhood=(), generalization=_paraphrases(q) if wording is CLOZE else ())
        for q in (questions[i] for i in places)
    ]
    stage = None if progress is None else lambda n, total, _: progress(n, total, wording.name)
    column: list[float | None] = [None] * len(questions)
    others = list(column)
    for i, answer in zip(places, probe(loaded, asked, turned, progress=stage), strict=True):
        column[i] = answer.values["likelihood"]
        if values := answer.paraphrases.get("likelihood"):
            others[i] = fmean(values)
    found: Values = {wording: column}
    if any(value is not None for value in others):
        found[PARAPHRASES] = others
    return found


def _paraphrases(question: Question) -> tuple[str, ...]:
    return question.generalization or question.fact.paraphrases
