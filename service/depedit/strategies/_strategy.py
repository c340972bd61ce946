"""What a strategy is: how a set is established, how it is updated, how questions are answered.

`Strategy` itself does nothing and answers as the model does; each file of
`service/depedit/strategies/` changes a part of that. A strategy never changes the model: it returns
effects, which `service.depedit.protocol` puts on and takes off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from thinkeval.loaders.knowledge_sets import QA, Copy, KnowledgeSet
from thinkeval.service.depedit.editor import request

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.editing.deltas import EditEffect
    from thinkeval.loaders.records import RewriteRequest
    from thinkeval.service.depedit.editor import Editor
    from thinkeval.service.depedit.questions import Question


@dataclass(frozen=True, slots=True)
class Bed:
    """What a strategy works with.

    Attributes:
        editor: makes the editor of a name; the same one each time.
        ask: greedy answers to complete questions, by the model as it stands.
        seed: of everything a strategy draws.
    """

    knowledge: KnowledgeSet
    db: Database
    editor: Callable[[str], Editor]
    ask: Callable[[Sequence[str]], list[str]]
    seed: int = 0


class Strategy:
    """Nothing is edited; the model answers.

    Attributes:
        EDITOR: the editor it works with; None for none.
        WRAPS: whether the user may choose that editor.
    """

    EDITOR: ClassVar[str | None] = None
    WRAPS: ClassVar[bool] = False

    def __init__(self, bed: Bed, editor: str | None = None) -> None:
        self.bed = bed
        self.knowledge = bed.knowledge
        name = editor or self.EDITOR
        self.editor = bed.editor(name) if name and name != "base" else None

    def establish(self) -> EditEffect | None:
        """Put the set's facts into the model; None changes nothing."""
        if self.editor is None:
            return None
        return self.editor.establish(self.to_establish())

    def update(self, copy: Copy) -> EditEffect | None:
        """Update the model, which has `establish` on, to a copy."""
        if self.editor is None:
            return None
        return self.editor.update(self.to_update(copy), tuple(self.to_establish()))

    def answers(self, questions: Sequence[Question], copy: Copy | None) -> list[str]:
        """Answer the questions of a phase, with the phase's effects on the model.

        Args:
            copy: the copy that the model was updated to; None while establishing.
        """
        return self.bed.ask([question.asked for question in questions])

    def to_establish(self) -> list[RewriteRequest]:
        """What the editor establishes: the specific and the unrelated facts."""
        return [request(qa) for qa in (*self.knowledge.specific, *self.knowledge.unrelated)]

    def to_update(self, copy: Copy) -> list[RewriteRequest]:
        """What the editor puts in for a copy: its updates."""
        return [request(qa) for qa in copy.updates]

    def facts(self, copy: Copy | None) -> tuple[QA, ...]:
        """The specific facts as they should be now."""
        return self.knowledge.specific if copy is None else self.knowledge.after(copy)
