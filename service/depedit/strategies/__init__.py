"""The strategies of establish-and-update, one file each; a file's name is its key.

A file holds a class `Strategy` (of `service.depedit.strategies`) and says in its
docstring's first paragraph what it does.

What a strategy is: how a set is established, how it is updated, how questions are answered.

`Strategy` itself does nothing and answers as the model does; each file of
`service/depedit/strategies/` changes a part of that. A strategy never changes the model: it returns
effects, which `service.depedit.protocol` puts on and takes off.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from thinkeval.loaders.knowledge_sets import QA, Copy, KnowledgeSet
from thinkeval.service.depedit.editor import request
from thinkeval.service.errors import NotFoundError

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.editing.deltas import EditEffect
    from thinkeval.loaders.records import RewriteRequest
    from thinkeval.service.depedit.editor import Editor
    from thinkeval.service.depedit.schemas import Question


def names() -> tuple[str, ...]:
    """All strategies, sorted."""
    return tuple(sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem[0] != "_"))


def get(name: str) -> type[Strategy]:
    """The strategy of that name.

    Raises:
        NotFoundError: there is none; near names are suggested.
    """
    if name not in names():
        raise NotFoundError("strategy", name, names(), listing="thinkeval depedit run --help")
    return importlib.import_module(f"{__name__}.{name}").Strategy


def summary(name: str) -> str:
    """What a strategy does: the first paragraph of its file's docstring, on one line."""
    source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    paragraph = (ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0]
    return " ".join(paragraph.split())


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
