"""Establish and update: the protocol of DepEdit, section 3, for several sets and strategies."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from ...editing.probe.settings import ProbeSettings
from ...loaders.knowledge_sets import Copy, KnowledgeSet
from ..base.errors import NothingStoredError, UsageError
from ..experiments.kind import COMMAND, Work
from ..graphs import datasets
from ..models.depedit import Question
from ..scoring.chat import settled
from . import questions as asking
from . import store, strategies
from .editor import Editor, EditorOptions, editor
from .questions import questions
from .store import Answer, RunRecord

if TYPE_CHECKING:
    from ...editing.deltas import EditEffect
    from ..models.depedit import RunsIn
    from ..scoring.runtime import Runtime, RuntimeModel
    from .strategies import Strategy


#     establish   the strategy edits the set's facts into the model, which answers all questions
#     update      for each copy, from the established model: the updates are applied, the model
#                 answers all questions again, and the updates are reverted, bit-identically
#
# Each copy starts from the established model, not from the copy before. Only the answers are
# stored; all metrics are computed from them (`service.depedit.report`).

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
            from . import editor as mend

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


# Run several strategies on several sets; each run is stored when finished, and not repeated.
#
# `thinkeval lab depedit run` and jobs call it.

DEFAULT = (
    "random", "base", "finetune", "memit",
    "finetune+forwchain", "finetune+backchain", "memit+forwchain", "memit+backchain",
)  # fmt: skip
"""Strategies run by default: those without further training."""


@dataclass(frozen=True, slots=True)
class Done:
    """One run: its id, whether it was stored before, and its duration."""

    run: str
    knowledge_set: str
    method: str
    reused: bool
    seconds: float | None


def methods(names: Sequence[str], editor: str | None = None) -> list[Method]:
    """Strategies by name: `forwchain`, or `memit+forwchain` with the editor it wraps.

    Args:
        editor: editor of strategies that wrap one and name none; `base` for no editor.

    Raises:
        NotFoundError, UsageError: no such strategy, or an editor for one that wraps none.
    """
    found = []
    for name in names or DEFAULT:
        wrapped, _, strategy = name.rpartition("+")
        chosen_editor = wrapped or (editor if strategies.get(strategy).WRAPS else None)
        found.append(Method(strategy, chosen_editor or None))
    if editor and not any(strategies.get(method.strategy).WRAPS for method in found):
        raise UsageError(
            f"--editor {editor} needs a strategy that wraps an editor.",
            remedy="Add --strategy forwchain, backchain or derive.",
        )
    return list(dict.fromkeys(found))


def chosen(runtime: Runtime, sets: Sequence[str], graph: str | None) -> list[KnowledgeSet]:
    """The sets with these ids; without ids, all sets of the graph.

    Raises:
        NotFoundError, NothingStoredError, UsageError: no such set, or neither ids nor graph.
    """
    if not sets and graph is None:
        raise UsageError(
            "No knowledge sets to run.",
            remedy="Give their ids, or --graph for all sets of a graph.",
        )
    ids = list(sets) or [row.id for row in store.list_sets(runtime.db, dataset=graph)]
    if not ids:
        raise NothingStoredError(
            f"No knowledge set of {graph!r} is stored.",
            remedy=f"`thinkeval lab depedit build {graph}` makes some.",
        )
    return [store.load_set(runtime.db, one) for one in dict.fromkeys(ids)]


def run(
    runtime: Runtime,
    knowledge: Sequence[KnowledgeSet],
    wanted: Sequence[Method],
    options: RunsIn,
    work: Work = COMMAND,
) -> list[Done]:
    """Run every method on every set, and store each run when it is finished.

    Args:
        options: their strategies and sets are those of the other arguments.
        work: notes each run; `force` does not repeat the runs of earlier attempts of its job.

    Raises:
        EditingError, ServiceError, GraphError: finished runs remain stored.
    """
    found = []
    total = len(knowledge) * len(wanted)
    for number, one in enumerate(knowledge, 1):
        place = f"set {number} of {len(knowledge)}"
        work.enter(f"{place}: loading the model", len(found) / max(total, 1))
        graph = graph_of(one, options.graph)
        model = runtime.model(options.model, graph, dtype=options.dtype, revision=options.revision)
        asked = ProbeSettings(ask="question", chat=cast("Any", options.chat))
        dataset = datasets.get_or_import(runtime.db, graph)
        asked, _ = settled(runtime, dataset, model.loaded, asked)
        protocol = Protocol(
            runtime,
            model,
            one,
            EditorOptions(
                graph, options.hparams, dict(options.overrides), options.covariance, options.seed
            ),
            asked.chat,
        )
        stored = {row.id: row.seconds for row in store.list_runs(runtime.db, sets=[one.id])}
        for method in wanted:
            reached = len(found) / max(total, 1)
            stage = f"{place}: {method.label}"
            work.enter(stage, reached, (len(found) + 1) / total)
            record, strategy = protocol.prepare(method)
            reused = record.id in stored and (not options.force or record.id in work.parts)
            if reused:
                record = replace(record, seconds=stored[record.id])
            else:
                record, answers = protocol.carry_out(record, strategy)
                store.save_run(runtime.db, record, answers, work.fence)
            found.append(Done(record.id, one.id, record.method, reused, record.seconds))
            told = f"{stage} (stored before)" if reused else stage
            work.note_part(runtime.db, record.id, told, len(found) / total)
    return found


def graph_of(knowledge: KnowledgeSet, given: str | None) -> str:
    """The graph of a set's model and statistics.

    Raises:
        UsageError: the set was read from a file, and no graph is given.
    """
    if not (given or knowledge.dataset):
        raise UsageError(
            f"The knowledge set {knowledge.id!r} was read from a file, without a graph.",
            remedy="Name the graph whose sentences and model are used with --graph.",
        )
    return given or knowledge.dataset
