"""Wordings: the texts that ask for the objects of an entity and a relation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....editing.probe.prompts import CHAT_CLOZE, QUESTION
from ....loaders.records import SUBJECT_SLOT, Fact, as_template, fill, unique
from ...errors import UsageError
from ..endpoints.endpoint import Kind, Message, Request, Sampling

MOST_PARAPHRASES = 2

LIST_QUESTION = (
    "{question} Answer with a JSON list of names only, without a sentence around it. If you do not"
    ' know, answer with ["unknown"].'
)
"""A question as the user's turn of a chat, whose answer may have several names."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A text with `{}` for the subject.

    Attributes:
        question: True if it is a question; else a cloze that the answer continues.
    """

    template: str
    question: bool = False

    def filled(self, subject: str) -> str:
        """The text for a subject."""
        return fill(self.template, subject)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation and how to ask for it.

    Attributes:
        wordings: the prompt, at most two paraphrases, and a question if there is one.
    """

    name: str
    wordings: tuple[Wording, ...]

    @property
    def prompt(self) -> str:
        """The first wording's text."""
        return self.wordings[0].template


def relations_of(facts: Iterable[Fact], most: int = 4) -> tuple[Relation, ...]:
    """The relations of facts with their wordings, by name; of several prompts the most frequent.

    Args:
        most: maximum number of wordings.

    Raises:
        UsageError: a relation has no prompt with a place for the subject.
    """
    by_relation: dict[str, list[Fact]] = {}
    for fact in sorted(facts, key=lambda f: (f.relation, f.subject, f.object, f.prompt)):
        by_relation.setdefault(fact.relation, []).append(fact)
    return tuple(_relation(name, group, most) for name, group in by_relation.items())


def _relation(name: str, facts: list[Fact], most: int) -> Relation:
    prompts = [fact.prompt for fact in facts if SUBJECT_SLOT in fact.prompt]
    if not prompts:
        raise UsageError(
            f"The relation {name!r} has no template to ask for it.",
            remedy=f"Give its facts a prompt with {SUBJECT_SLOT} for the subject.",
        )
    prompt = max(unique(prompts), key=prompts.count)
    group = [fact for fact in facts if fact.prompt == prompt]
    paraphrases = unique(text for fact in group for text in fact.paraphrases)[:MOST_PARAPHRASES]
    questions = unique(
        as_template(question, fact.subject)
        for fact in group
        for question in fact.questions
        if fact.subject in question
    )[:1]
    clozes = [Wording(text) for text in unique([prompt, *paraphrases]) if SUBJECT_SLOT in text]
    return Relation(name, (*clozes, *(Wording(q, True) for q in questions))[:most])


def requests_for(
    subject: str,
    wordings: Sequence[Wording],
    sampling: Sampling,
    samples: int,
    *,
    chat: bool,
    kind: Kind = "direct",
) -> list[Request]:
    """The requests for a subject, all samples of the first wording first.

    Args:
        chat: True if the endpoint answers messages; else the text itself is continued.
        kind: as which they are counted.
    """
    texts = [_text(wording, subject, chat, kind) for wording in wordings]
    return [
        Request((Message("user", text),), sampling, sample, kind, "chat" if chat else "cloze")
        for text in texts
        for sample in range(samples)
    ]


def _text(wording: Wording, subject: str, chat: bool, kind: Kind) -> str:
    text = wording.filled(subject)
    if not chat:
        return QUESTION.replace("{question}", text.strip()) if wording.question else text
    if not wording.question:
        return CHAT_CLOZE.replace("{cloze}", text.rstrip())
    return LIST_QUESTION.replace("{question}", text) if kind == "direct" else text
