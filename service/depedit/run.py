"""Run several strategies on several sets; each run is stored when finished, and not repeated.

`thinkeval depedit run` and jobs call it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from ...editing.probe.settings import ProbeSettings
from ...loaders.knowledge_sets import KnowledgeSet
from ..errors import NothingStoredError, UsageError
from ..experiments.kind import COMMAND, Work
from ..graphs import datasets
from ..scoring.chat_choice import settled
from . import store, strategies
from .editor import EditorOptions
from .protocol import Method, Protocol

if TYPE_CHECKING:
    from ..scoring.runtime import Runtime
    from .schemas import RunsIn

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
            remedy=f"`thinkeval depedit build {graph}` makes some.",
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
