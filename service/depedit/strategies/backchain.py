"""Backward chaining: an implication is answered by proving it from the model's own answers.

The model is asked for the facts of the rule's premises; the rule's conclusion from its answers is
the answer (`cypher/depedit/derive`). Of several conclusions the one with most proofs is used, of
equally many the first by the premises' names. Without a proof the model's own answer is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....loaders.knowledge_sets import Copy
from .. import strategies
from ..inference import decided, derived
from ..questions import believed

if TYPE_CHECKING:
    from ..schemas import Question


class Strategy(strategies.Strategy):
    """BACKCHAIN (DepEdit, section 6.3)."""

    EDITOR = "finetune"
    WRAPS = True

    def answers(self, questions: Sequence[Question], copy: Copy | None) -> list[str]:
        """The model's answers; for implications the proved conclusions."""
        facts = self.facts(copy)
        texts = [question.asked for question in questions] + [qa.question for qa in facts]
        answers = self.bed.ask(texts)
        known = believed(self.knowledge, facts, answers[len(questions) :])
        proved = decided(derived(self.bed.db, self.knowledge.rule, known, known))
        own = answers[: len(questions)]
        for i, question in enumerate(questions):
            conclusion = proved.get((question.subject, question.relation))
            if question.role == "implication" and conclusion is not None:
                own[i] = conclusion.object
        return own
