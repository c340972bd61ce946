"""An answer drawn from those seen so far: of the established facts, later of the updates too.

Each question is drawn for anew in each phase, with a seed of its own. No model is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

from thinkeval.loaders.knowledge_sets import Copy
from thinkeval.service.depedit import strategies

if TYPE_CHECKING:
    from thinkeval.service.depedit.schemas import Question


class Strategy(strategies.Strategy):
    """The trivial baseline (DepEdit, section 5.2)."""

    def answers(self, questions: Sequence[Question], copy: Copy | None) -> list[str]:
        """A draw for each question."""
        facts = (*self.knowledge.specific, *self.knowledge.unrelated)
        seen = (*facts, *(copy.updates if copy else ()))
        candidates = sorted({qa.object for qa in seen})
        return [Random(f"{self.bed.seed}|{q.id}").choice(candidates) for q in questions]
