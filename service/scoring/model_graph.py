"""Probes of a model before any edit: stored once as its own graph, reused by every edit.

The graph's id holds a digest of the facts, the model and the probe settings, so a changed model
or another protocol never reads the answers of the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...cypher import rows
from ...loaders.records import Entity, Fact, digest
from ..base.database import Progress
from ..graphs.datasets import Dataset
from ..graphs.write import write_graph
from ..models.edit import MEASURES
from .probe import Answer, ProbedFact, Question, edge_properties, probe, questions_for
from .runtime import Runtime, RuntimeModel

if TYPE_CHECKING:
    from ...editing.probe import ProbeSettings
    from .resolved import Resolved


@dataclass(frozen=True, slots=True)
class Asked:
    """The subject of a model graph: a model, or a state of one.

    Attributes:
        digest: of the model as it is asked: weights, configuration, tokenizer, template.
        ask: answers questions, in order.
    """

    name: str
    digest: str
    ask: Callable[[Sequence[Question], ProbeSettings], Sequence[Answer]]


def asked_model(model: RuntimeModel, progress: Progress) -> Asked:
    """A loaded model, asked by all measures."""

    def answers(questions: Sequence[Question], settings: ProbeSettings) -> Sequence[Answer]:
        return probe(model.loaded, questions, settings, progress=progress)

    return Asked(model.name, model.loaded.info.digest, answers)


def answers(resolved: Resolved) -> dict[str, Answer]:
    """Pre-edit answers by fact id, read from the model graph."""
    return stored_answers(resolved.runtime, graph_of(resolved))


def graph_of(resolved: Resolved) -> str:
    """The model graph of a score, which is written if missing.

    A graph of more facts than `probe_all_limit` is probed a scope at a time.
    """
    runtime, dataset, scope = resolved.runtime, resolved.dataset, resolved.scope
    whole = dataset.n_facts <= runtime.settings.probe_all_limit
    facts = runtime.content_of(dataset).facts if whole else scope.facts
    asked = asked_model(resolved.model, runtime.progress)
    return ensure(runtime, dataset, asked, resolved.request.probe, facts, scope.aliases)


def stored_answers(runtime: Runtime, graph: str) -> dict[str, Answer]:
    """The answers of a model graph by fact id."""
    return runtime.memoised(
        ("answers", graph),
        lambda: {
            row.fact: _stored(row)
            for row in runtime.db.read(rows.FactRow, "graph/facts", graph=graph)
        },
    )


def ensure(
    runtime: Runtime,
    dataset: Dataset,
    asked: Asked,
    settings: ProbeSettings,
    facts: Sequence[Fact],
    aliases: Mapping[str, tuple[str, ...]],
) -> str:
    """The id of the model graph that holds these facts; probed and written if it is not stored."""
    key = digest(
        [
            dataset.digest,
            asked.digest,
            settings.digest,
            sorted(f.id for f in facts),
        ],
        8,
    )
    graph = f"{dataset.id}@{asked.name}~{key}"
    if runtime.db.read(rows.GraphRow, "graph/get_graph", graph=graph):
        return graph
    questions = questions_for(facts, aliases)
    results = asked.ask(questions, settings)
    probed = [ProbedFact(q, a) for q, a in zip(questions, results, strict=True)]
    header = rows.GraphHeader(
        graph,
        "model",
        dataset.id,
        model=asked.name,
        probe=settings.digest,
        content_digest=dataset.digest,
        measures=measured(probed),
    )
    write_graph(
        runtime.db,
        header,
        entities_of((q.fact for q in questions), aliases),
        [fact_row(p) for p in probed],
        progress=runtime.progress,
    )
    return graph


def fact_row(probed: ProbedFact) -> dict[str, object]:
    """A probed fact as graph/merge_facts takes it."""
    fact = probed.question.fact
    ends = {"id": fact.id, "subject": fact.subject, "object": fact.object}
    return ends | edge_properties(probed)


def measured(probed: Sequence[ProbedFact]) -> tuple[str, ...]:
    """The measures that were taken: every answer has them, `p` where one of its samples is decided.

    A fact whose samples are all undecided lacks `p`; see `complete`.
    """
    return tuple(m for m in MEASURES if any(m in p.pre.values for p in probed))


def complete(probed: Sequence[ProbedFact]) -> tuple[str, ...]:
    """The measures that every answer has, before and after the edit: those of its metrics.

    Where every sample of a fact is undecided, `p` is none of them: a chain with that fact has no
    probability, and leaving it out would change the meaning of a metric.
    """
    sides = [answer for p in probed for answer in (p.pre, p.post) if answer is not None]
    return tuple(m for m in MEASURES if all(m in answer.values for answer in sides))


def entities_of(facts: Iterable[Fact], aliases: Mapping[str, tuple[str, ...]]) -> list[Entity]:
    """The subjects and objects of the facts, once each."""
    names = dict.fromkeys(name for fact in facts for name in (fact.subject, fact.object))
    return [Entity(name, aliases.get(name, ())) for name in names]


def _stored(row: rows.FactRow) -> Answer:
    pairs = {m: getattr(row, f"{m}_pre") for m in MEASURES}
    return Answer(
        values={m: v for m, v in pairs.items() if v is not None},
        answers=row.answers_pre or (),
        n_samples=row.n_samples or 0,
    )
