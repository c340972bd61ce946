"""Establish and update: the protocol of DepEdit, section 3, for one set, model and strategy.

    establish   the strategy edits the set's facts into the model, which answers all questions
    update      for each copy, from the established model: the updates are applied, the model
                answers all questions again, and the updates are reverted, bit-identically

Each copy starts from the established model, not from the copy before. Only the answers are stored;
all metrics are computed from them (`service.depedit.metrics`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ...loaders.knowledge_sets import Copy, KnowledgeSet
from ..errors import UsageError
from . import questions as asking
from . import strategies
from .editor import Editor, EditorOptions, editor
from .questions import questions
from .schemas import Question
from .store import Answer, RunRecord

if TYPE_CHECKING:
    from ...editing.deltas import EditEffect
    from ..scoring.runtime import Runtime, RuntimeModel
    from .strategies import Strategy

PROTOCOL = 1
"""Part of every run's id: increment it if the same settings would give other answers."""


@dataclass(frozen=True, slots=True)
class Method:
    """A row of the tables: a strategy and the editor it wraps (None: its default)."""

    strategy: str
    editor: str | None = None

    def __post_init__(self) -> None:
        kind = strategies.get(self.strategy)
        if self.editor is not None and not kind.WRAPS:
            raise UsageError(
                f"The strategy {self.strategy} takes no editor.",
                remedy="Omit --editor, or use it with forwchain, backchain or derive.",
            )

    @property
    def wrapped(self) -> str | None:
        """The editor in the record of a run; None if the strategy has no choice."""
        kind = strategies.get(self.strategy)
        return (self.editor or kind.EDITOR or "base") if kind.WRAPS else None

    @property
    def label(self) -> str:
        """Its name in tables and options: `memit+forwchain`."""
        return self.strategy if self.wrapped is None else f"{self.wrapped}+{self.strategy}"


@dataclass
class Protocol:
    """Runs strategies on one set and one model, with shared editors.

    Attributes:
        options: options of the editors.
        chat: whether questions use the tokenizer's chat template: auto, always or never.
    """

    runtime: Runtime
    model: RuntimeModel
    knowledge: KnowledgeSet
    options: EditorOptions
    chat: str = "auto"
    _editors: dict[str, Editor] = field(default_factory=dict)

    def prepare(self, method: Method) -> tuple[RunRecord, Strategy]:
        """The record of a run and its strategy, before any edit.

        Raises:
            EditingError, ServiceError: no such editor, no hyperparameters for the model.
        """
        from .strategies import Bed

        bed = Bed(self.knowledge, self.runtime.db, self.editor, self.ask, self.options.seed)
        strategy = strategies.get(method.strategy)(bed, method.editor)
        record = RunRecord(
            knowledge_set=self.knowledge.id,
            strategy=method.strategy,
            editor=method.wrapped,
            model=self.model.name,
            hparams=self._about(strategy),
        )
        return record, strategy

    def carry_out(self, record: RunRecord, strategy: Strategy) -> tuple[RunRecord, list[Answer]]:
        """Establish and ask, then update and ask each copy; the model is restored bit-identically.

        Raises:
            EditingError, ServiceError, GraphError: with a remedy; the model is restored too.
        """
        started = time.perf_counter()
        found = self._phases(strategy, record.method)
        return replace(record, seconds=round(time.perf_counter() - started, 2)), found

    def run(self, method: Method) -> tuple[RunRecord, list[Answer]]:
        """Prepare a method and carry it out."""
        return self.carry_out(*self.prepare(method))

    def editor(self, name: str) -> Editor:
        """The editor of that name, cached."""
        if name not in self._editors:
            from . import mend

            def state(method: Any, hparams: Any) -> dict[str, Any]:
                return mend.state(self.runtime, self.model, self.knowledge, self.options, hparams)

            options = self.options
            if name in ("mend", "mend_imp"):
                options = mend.adapted(options, self.knowledge, name)
            self._editors[name] = editor(self.runtime, self.model, name, options, state)
        return self._editors[name]

    def ask(self, texts: Sequence[str]) -> list[str]:
        """The answers of the model in its current state."""
        names = asking.names_of(self.knowledge)
        return asking.ask(self.model.loaded, texts, names, self.chat)

    def _phases(self, strategy: Strategy, label: str) -> list[Answer]:
        every = questions(self.knowledge)
        total, found = 1 + len(self.knowledge.copies), []
        with ExitStack() as stack:
            self.runtime.progress(0, total, f"{label}: establishing")
            self._apply(stack, strategy.establish)
            found += _answered(strategy, [q for q in every if q.copy is None], None)
            for i, copy in enumerate(self.knowledge.copies):
                self.runtime.progress(1 + i, total, f"{label}: update {i + 1}")
                with ExitStack() as inner:
                    self._apply(inner, lambda copy=copy: strategy.update(copy))
                    found += _answered(strategy, [q for q in every if q.copy == i], copy)
        self.runtime.progress(total, total, label)
        return found

    def _apply(self, stack: ExitStack, make: Callable[[], EditEffect | None]) -> None:
        """Apply an effect to the model until the stack closes."""
        from ...editing.deltas import applied

        effect = make()
        if effect is not None:
            stack.enter_context(applied(self.model.loaded.model, effect))

    def _about(self, strategy: Strategy) -> dict[str, Any]:
        """Further settings that the answers depend on, besides set, strategy, editor and model."""
        info = self.model.loaded.info
        return {
            "protocol": PROTOCOL,
            "model": info.digest,
            "dtype": info.dtype,
            "seed": self.options.seed,
            "chat": self.chat,
            "graph": self.options.graph,
            "covariance": self.options.covariance,
            "editor": strategy.editor.hparams if strategy.editor else None,
        }


def _answered(strategy: Strategy, asked: Sequence[Question], copy: Copy | None) -> list[Answer]:
    texts = strategy.answers(asked, copy)
    return [Answer(q.id, text) for q, text in zip(asked, texts, strict=True)]
