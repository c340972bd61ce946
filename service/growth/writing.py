"""The writer of a run: questions, other questions after a failure, and paraphrases, by a model.

Whatever it writes is checked: it names the subject, and not the object. A model that answers no
messages writes nothing; then the wordings of the relation are used (`service.growth.relations`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from ...editing.probe.matching import contains, first_sentence, gives, share
from ...loaders.records import SUBJECT_SLOT
from . import prompts, structured
from .context import LONG
from .relations import Wording

if TYPE_CHECKING:
    from .candidates import Candidate
    from .context import Context
    from .endpoints.endpoint import Kind

T = TypeVar("T", bound=BaseModel)
PARAPHRASES = 3
"""Paraphrases of a fact (ThinkEval, App. R)."""
SHOWN = 5
"""Answers that the writer is shown."""


class Written(BaseModel):
    """A question about a fact, and the beginning of a sentence that its object completes."""

    question: str
    sentence: str


class Question(BaseModel):
    """Another question."""

    question: str


class Paraphrases(BaseModel):
    """Other beginnings of a sentence."""

    paraphrases: list[str]


class Writer:
    """Writes for the candidates of one pass."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._seat = context.role("writer")

    def questions(self, candidates: Sequence[Candidate]) -> dict[str, Wording]:
        """A question for each candidate whose relation has no wordings; by its id."""
        wanted = [
            one for one in candidates if one.triplet[1] not in self._context.relations.templates
        ]
        if not self._seat.chat or not wanted:
            return {}
        texts = [
            prompts.fill("question", triplet=prompts.data(" | ".join(one.triplet)))
            for one in wanted
        ]
        found = {}
        for one, written in zip(wanted, self._ask(Written, texts, "refine"), strict=True):
            if written is None:
                continue
            subject = one.triplet[0]
            if self._usable(one, written.sentence):
                cloze = written.sentence.strip().rstrip(" .…")
                one.prompt = cloze.replace(subject, SUBJECT_SLOT, 1)
            if contains(written.question, [subject]):
                found[one.id] = Wording(_slotted(written.question.strip(), subject), "chat")
        return found

    def refined(self, one: Candidate) -> Wording | None:
        """Another question than those that failed; None where the writer has none."""
        if not self._seat.chat:
            return None
        tried = "\n".join(
            line
            for question, answers in one.asked
            for line in (f"Question: {question}", *(f"Answer: {text}" for text in answers[:SHOWN]))
        )
        shown = prompts.data(f"Fact: {' | '.join(one.triplet)}\n{tried}")
        (written,) = self._ask(Question, [prompts.fill("refine", tried=shown)], "refine")
        if written is None or not contains(written.question, [one.triplet[0]]):
            return None
        return Wording(_slotted(written.question.strip(), one.triplet[0]), "chat")

    def paraphrases(self, candidates: Sequence[Candidate]) -> None:
        """Give validated candidates whose relation has none up to three paraphrases.

        Each must itself lead to the object (elicitation, step 1.3).
        """
        context = self._context
        wanted = [
            one
            for one in candidates
            if one.triplet[1] not in context.relations.templates and not one.checks.get("written")
        ]
        if not self._seat.chat or not wanted:
            return
        texts = [
            prompts.fill(
                "paraphrase",
                subject=one.triplet[0],
                sentence=prompts.data(prompt_of(context, one).replace("{}", one.triplet[0], 1)),
            )
            for one in wanted
        ]
        written = self._ask(Paraphrases, texts, "paraphrase")
        offered = [
            (one, text.strip().rstrip(" .…"))
            for one, each in zip(wanted, written, strict=True)
            for text in (each.paraphrases[:PARAPHRASES] if each else [])
            if self._usable(one, text)
        ]
        asked = [
            context.requests(text, "paraphrase", n=context.samples, form="cloze")
            for _, text in offered
        ]
        flat = [request for each in asked for request in each]
        answers = iter(context.main.answers.texts(flat, "paraphrases"))
        for one in wanted:
            one.checks["written"] = True
        for (one, text), requests in zip(offered, asked, strict=True):
            names = context.entities.names(one.triplet[2])
            answered = [first_sentence(next(answers), names) for _ in requests]
            right = share([gives(text, names) for text in answered])
            if right is not None and right >= context.pass_share - 1e-9:
                one.paraphrases += (text.replace(one.triplet[0], SUBJECT_SLOT, 1),)

    def _usable(self, one: Candidate, text: str) -> bool:
        subject, _, object = one.triplet
        rest = text.replace(subject, " ", 1)
        named = contains(rest, self._context.entities.names(object))
        return subject in text and "{" not in text and not named

    def _ask(self, model: type[T], texts: Sequence[str], kind: Kind) -> list[T | None]:
        asked = [
            self._context.requests(text, kind, max_tokens=LONG, temperature=0.0)[0]
            for text in texts
        ]
        found = structured.ask_for(
            model,
            asked,
            lambda requests: self._seat.answers.texts(requests, "writing"),
            form=self._seat.form,
        )
        return [each.value for each in found]


def prompt_of(context: Context, one: Candidate) -> str:
    """The cloze of a triplet: the writer's, or its relation's."""
    return one.prompt or context.relations.template(one.triplet[1]).prompt


def _slotted(question: str, subject: str) -> str:
    return question.replace(subject, SUBJECT_SLOT, 1) if subject in question else question
