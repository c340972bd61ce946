"""What a run of the protocol leaves behind: the run itself and the answers it got."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from thinkeval.loaders.records import digest


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said to one question.

    Attributes:
        question: `Question.id` (service/depedit/questions.py), which also says phase and copy.
        answer: as decoded; stored and compared without white space at its ends.
    """

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One strategy on one knowledge set with one model.

    Attributes:
        knowledge_set: id of the set.
        strategy: its key, such as `forwchain`.
        editor: the editing method that it wraps; None where it has none.
        model: name of the model, readable.
        hparams: everything else that the answers depend on (hyperparameters, seeds, weights'
            digest); part of the id.
        seconds: how long it took, where it was measured; no part of the id.
    """

    knowledge_set: str
    strategy: str
    editor: str | None
    model: str
    hparams: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None

    @property
    def id(self) -> str:
        """Stable: the same run of the same set again has the same id, and replaces it."""
        parts = [self.knowledge_set, self.strategy, self.editor, self.model, dict(self.hparams)]
        return f"{self.knowledge_set}.{self.method}.{digest(parts, 8)}"

    @property
    def method(self) -> str:
        """What a table calls it: the strategy, and the editor that it wraps."""
        return self.strategy if self.editor is None else f"{self.editor}+{self.strategy}"
