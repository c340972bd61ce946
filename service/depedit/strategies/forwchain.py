"""Forward chaining: what follows from the updates is edited with them.

The model is asked for the other premises, as it was established (an answer that is no name of the
set is none). The rule then gives the conclusions (`cypher/depedit/derive`), which the editor puts
in together with the updates; where its conclusion is also a premise, what follows from those too,
until nothing new does. The set's own implications of the copy are not looked at. Establishing is
the editor's own.
"""

from __future__ import annotations

from thinkeval.loaders.knowledge_sets import QA, Copy
from thinkeval.loaders.records import RewriteRequest
from thinkeval.service.depedit import strategies
from thinkeval.service.depedit.editor import request
from thinkeval.service.depedit.inference import Conclusion, closed
from thinkeval.service.depedit.questions import believed, fact


class Strategy(strategies.Strategy):
    """FORWCHAIN (DepEdit, section 6.3)."""

    EDITOR = "finetune"
    WRAPS = True

    def to_update(self, copy: Copy) -> list[RewriteRequest]:
        """The updates and what follows from them."""
        updated = {qa.key for qa in copy.updates}
        others = [qa for qa in self.knowledge.specific if qa.key not in updated]
        said = self.bed.ask([qa.question for qa in others])
        new = [fact(qa) for qa in copy.updates]
        known = new + believed(self.knowledge, others, said)
        conclusions = closed(self.bed.db, self.knowledge.rule, new, known)
        follow = [self._worded(one) for one in conclusions if one.key not in updated]
        return super().to_update(copy) + [request(qa) for qa in follow]

    def _worded(self, conclusion: Conclusion) -> QA:
        """The conclusion in the words of the same implication, or of the first of the set."""
        mine = {i.qa.key: i.qa for i in self.knowledge.implications}
        like = mine.get(conclusion.key) or self.knowledge.implications[0].qa
        return QA(
            conclusion.subject, conclusion.relation, conclusion.object, like.prompt, like.asked
        )
