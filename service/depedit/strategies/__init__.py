"""The strategies of establish-and-update: the base class, and one file for each, named by its key.

A strategy decides how a set is established, how it is updated and how questions are answered. The
base class edits nothing and gives the model's answers; the class `Strategy` of each file overrides
a part of it. The first paragraph of a file's docstring is its summary in the help. A strategy never
changes the model: it returns effects, which `service.depedit.protocol` applies and reverts.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ....loaders.knowledge_sets import QA, Copy, KnowledgeSet
from ...errors import NotFoundError
from ..editor import request

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ....editing.deltas import EditEffect
    from ....loaders.records import RewriteRequest
    from ..editor import Editor
    from ..schemas import Question


def names() -> tuple[str, ...]:
    """All strategies, sorted."""
    return tuple(sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem[0] != "_"))


def get(name: str) -> type[Strategy]:
    """The strategy of that name.

    Raises:
        NotFoundError: no such strategy; suggests similar names.
    """
    if name not in names():
        raise NotFoundError("strategy", name, names(), listing="thinkeval depedit run --help")
    return importlib.import_module(f"{__name__}.{name}").Strategy


def summary(name: str) -> str:
    """Summary of a strategy: the first paragraph of its file's docstring, on one line."""
    source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    paragraph = (ast.get_docstring(ast.parse(source)) or "").split("\n\n")[0]
    return " ".join(paragraph.split())


@dataclass(frozen=True, slots=True)
class Bed:
    """Environment of a strategy.

    Attributes:
        editor: gives the editor of a name, cached.
        ask: greedy answers of the current model to complete questions.
        seed: random seed of the strategy.
    """

    knowledge: KnowledgeSet
    db: Database
    editor: Callable[[str], Editor]
    ask: Callable[[Sequence[str]], list[str]]
    seed: int = 0


class Strategy:
    """Base class: no edits, answers of the model.

    Attributes:
        EDITOR: the default editor; None for none.
        WRAPS: whether the user may choose the editor.
    """

    EDITOR: ClassVar[str | None] = None
    WRAPS: ClassVar[bool] = False

    def __init__(self, bed: Bed, editor: str | None = None) -> None:
        self.bed = bed
        self.knowledge = bed.knowledge
        name = editor or self.EDITOR
        self.editor = bed.editor(name) if name and name != "base" else None

    def establish(self) -> EditEffect | None:
        """The effect that establishes the set's facts; None for no change."""
        if self.editor is None:
            return None
        return self.editor.establish(self.to_establish())

    def update(self, copy: Copy) -> EditEffect | None:
        """The effect that updates the established model to a copy."""
        if self.editor is None:
            return None
        return self.editor.update(self.to_update(copy), tuple(self.to_establish()))

    def answers(self, questions: Sequence[Question], copy: Copy | None) -> list[str]:
        """Answer the questions of a phase, with the phase's effects applied to the model.

        Args:
            copy: the copy of phase update; None in phase establish.
        """
        return self.bed.ask([question.asked for question in questions])

    def to_establish(self) -> list[RewriteRequest]:
        """The requests of phase establish: the specific and the unrelated facts."""
        return [request(qa) for qa in (*self.knowledge.specific, *self.knowledge.unrelated)]

    def to_update(self, copy: Copy) -> list[RewriteRequest]:
        """The requests of a copy: its updates."""
        return [request(qa) for qa in copy.updates]

    def facts(self, copy: Copy | None) -> tuple[QA, ...]:
        """The specific facts, updated to a copy."""
        return self.knowledge.specific if copy is None else self.knowledge.after(copy)
