"""The premises as they are now, and two unrelated facts, before the question of an implication.

Their order is random. Other questions are unchanged. Any editor may edit the facts into the model
as well; by default none does.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

from ....loaders.knowledge_sets import QA, Copy
from ....loaders.records import SUBJECT_SLOT
from .. import strategies

if TYPE_CHECKING:
    from ..schemas import Question

UNRELATED = 2
"""Unrelated facts before a question; the paper does not give their number."""


class Strategy(strategies.Strategy):
    """DERIVE (DepEdit, section 6.2): can it infer the conclusion from premises in the prompt?"""

    WRAPS = True

    def answers(self, questions: Sequence[Question], copy: Copy | None) -> list[str]:
        """The model's answers, with the premises before each question of an implication."""
        facts = {qa.key: qa for qa in self.facts(copy)}
        premises = {i.qa.key: i.premises for i in self.knowledge.implications}
        premises |= {i.qa.key: i.premises for i in (copy.updated if copy else ())}
        texts = []
        for question in questions:
            key = (question.subject, question.relation)
            stated: list[QA] = []
            if question.role == "implication":
                stated = [facts[premise] for premise in premises[key] if premise in facts]
            texts.append(self._with(stated, question) if stated else question.asked)
        return self.bed.ask(texts)

    def _with(self, stated: list[QA], question: Question) -> str:
        draw = Random(f"{self.bed.seed}|{question.id}")
        unrelated = self.knowledge.unrelated
        sentences = [*stated, *draw.sample(unrelated, min(UNRELATED, len(unrelated)))]
        draw.shuffle(sentences)
        return " ".join([*map(sentence, sentences), question.asked])


def sentence(qa: QA) -> str:
    """A fact as a sentence, with its prompt."""
    return f"{qa.prompt.replace(SUBJECT_SLOT, qa.subject, 1)} {qa.object}."
