"""Forward chaining: conclusions of the updates are edited with them.

The established model is asked for the other premises (an answer that is no name of the set is
ignored). The rule then gives the conclusions (`cypher/depedit/derive`), which the editor edits
together with the updates; if its conclusion is also a premise, to the fixpoint. The copy's listed
implications are not used. Phase establish is the editor's.
"""

from __future__ import annotations

from ....loaders.knowledge_sets import QA, Copy
from ....loaders.records import RewriteRequest
from .. import strategies
from ..editor import request
from ..inference import Conclusion, closed
from ..questions import believed, fact


class Strategy(strategies.Strategy):
    """FORWCHAIN (DepEdit, section 6.3)."""

    EDITOR = "finetune"
    WRAPS = True

    def to_update(self, copy: Copy) -> list[RewriteRequest]:
        """The updates and their conclusions."""
        updated = {qa.key for qa in copy.updates}
        others = [qa for qa in self.knowledge.specific if qa.key not in updated]
        answers = self.bed.ask([qa.question for qa in others])
        new = [fact(qa) for qa in copy.updates]
        known = new + believed(self.knowledge, others, answers)
        conclusions = closed(self.bed.db, self.knowledge.rule, new, known)
        follow = [self._worded(one) for one in conclusions if one.key not in updated]
        return super().to_update(copy) + [request(qa) for qa in follow]

    def _worded(self, conclusion: Conclusion) -> QA:
        """The conclusion in the wording of the same implication, or of the set's first."""
        mine = {i.qa.key: i.qa for i in self.knowledge.implications}
        like = mine.get(conclusion.key) or self.knowledge.implications[0].qa
        return QA(
            conclusion.subject, conclusion.relation, conclusion.object, like.prompt, like.asked
        )
