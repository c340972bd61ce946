"""Random answers, drawn from the objects of the established facts and of the updates so far.

Each question of each phase has its own random seed. No model is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

from ....loaders.knowledge_sets import Copy
from .. import strategies

if TYPE_CHECKING:
    from ..schemas import Question


class Strategy(strategies.Strategy):
    """The trivial baseline (DepEdit, section 5.2)."""

    def answers(self, questions: Sequence[Question], copy: Copy | None) -> list[str]:
        """A random object for each question."""
        facts = (*self.knowledge.specific, *self.knowledge.unrelated)
        seen = (*facts, *(copy.updates if copy else ()))
        candidates = sorted({qa.object for qa in seen})
        return [Random(f"{self.bed.seed}|{q.id}").choice(candidates) for q in questions]
