"""Step-by-step reasoning as the source of triplets (ThinkEval, §4.2 and App. P).

The model answers each passed question by reasoning; the answer is cut into statements by rules;
triplets are read from each statement by the extractor as JSON. A statement from which nothing can
be read is kept as unparsed. Statements are data: they go into a delimited block, and a triplet
whose names its statement does not contain goes to review.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel

from ....editing.probe.matching import contains
from ....loaders.records import digest
from ...errors import UsageError
from .. import prompts, structured
from ..context import LONG
from ..findings import Elicited, Found, Statement
from ..replies import state_of
from ..statements import statements

if TYPE_CHECKING:
    from ..answers import Answer
    from ..candidates import Candidate
    from ..context import Context

RELATIONS = 100
"""Known relations that the extractor is shown, at most."""


class ExtractedTriplet(BaseModel):
    """One fact of a statement."""

    subject: str
    relation: str
    object: str


class Extracted(BaseModel):
    """All facts of a statement."""

    triplets: list[ExtractedTriplet]


class StepByStep:
    """Component 2 by reasoning."""

    expands_chains = True
    stopped = None

    def __init__(self, context: Context) -> None:
        if not context.main.chat:
            raise UsageError(
                f"{context.main.answers.endpoint.model} answers no messages, so it cannot reason"
                " step by step.",
                remedy="Use a chat model, or --elicit crawl, which needs relation templates only.",
            )
        self._context = context

    def start(self) -> Elicited:
        """Nothing is known before the first question."""
        return Elicited([])

    def first_calls(self) -> list[tuple[str, int | None]]:
        """Reasoning about the seed's question, then one extraction a statement."""
        return [("reasoning", self._context.posted.cot_samples), ("extraction", None)]

    def elicit(self, passed: Sequence[Candidate]) -> Elicited:
        """Reason about each question, and read triplets from every statement."""
        context = self._context
        texts = list(dict.fromkeys(one.question or "" for one in passed))
        asked = [
            (text, request)
            for text in texts
            for request in context.requests(
                prompts.fill("cot", question=text),
                "cot",
                n=context.posted.cot_samples,
                max_tokens=LONG,
            )
        ]
        answers = context.main.answers.ask([request for _, request in asked], "reasoning")
        found: list[tuple[str, Statement]] = []
        for (question, _), answer in zip(asked, answers, strict=True):
            found += [(question, one) for one in self._statements(answer)]
        return self._extract(found, len(asked))

    def _statements(self, answer: Answer) -> list[Statement]:
        if state_of(answer.reply) == "refused":
            return []
        return [
            Statement(digest([answer.id, place], 20), text, place, answer=answer.id)
            for place, text in enumerate(statements(answer.text))
        ]

    def _extract(self, asked: Sequence[tuple[str, Statement]], queries: int) -> Elicited:
        context, seat = self._context, self._context.role("extractor")
        known = ", ".join(context.relations.names[:RELATIONS]) or "none so far"
        requests = [
            context.requests(
                prompts.fill(
                    "extract",
                    relations=known,
                    question=prompts.data(question),
                    statement=prompts.data(one.text),
                ),
                "extract",
                max_tokens=LONG,
                temperature=0.0,
            )[0]
            for question, one in asked
        ]
        extracted = structured.ask_for(
            Extracted,
            requests,
            lambda more: seat.answers.texts(more, "extraction"),
            form=seat.form,
        )
        found, stored = [], []
        for (question, one), each in zip(asked, extracted, strict=True):
            parsed = each.value is not None
            stored.append(replace(one, parsed=parsed))
            for triplet in each.value.triplets if each.value else ():
                found.append(_found(question, one, triplet))
        return Elicited(found, stored, queries)


def _found(question: str, statement: Statement, extracted: ExtractedTriplet) -> Found:
    subject_named = contains(f"{question} {statement.text}", [extracted.subject])
    object_named = contains(statement.text, [extracted.object])
    return Found(
        extracted.subject,
        extracted.relation,
        extracted.object,
        (statement.id,),
        checks={"asked": question},
        review=None if subject_named and object_named else "its statement does not name it",
    )


def elicitor(context: Context) -> StepByStep:
    """The elicitor of a run."""
    return StepByStep(context)
