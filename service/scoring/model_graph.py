"""Probes of a model before any edit: stored once as its own graph, reused by every edit.

The graph's id holds a digest of the facts, the model and the probe settings, so a changed model
or another protocol never reads the answers of the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from ...cypher import rows
from ...loaders.records import Entity, Fact, digest
from ..base.database import Progress
from ..base.formatting import pluralize
from ..graphs.datasets import Dataset
from ..graphs.write import add_facts, begin_graph, end_graph, write_graph
from ..models.edit import MEASURES
from . import probe as probes
from .probe import EXACT, Answer, ProbedFact, Question, edge_properties, probe, questions_for
from .runtime import Runtime, RuntimeModel

if TYPE_CHECKING:
    from ...editing.models import LoadedModel
    from ...editing.probe import ProbeSettings
    from .resolved import Resolved


PART = 2_000
"""Facts that are asked and stored together; a process that is killed loses no more answers.

The answers of a larger graph may differ in the last digits by this number: it decides which texts
are in one batch."""

Ask: TypeAlias = "Callable[[Sequence[Question], ProbeSettings], Sequence[Answer]]"
Parts: TypeAlias = Sequence[Sequence[Question]]
AskParts: TypeAlias = "Callable[[Parts, ProbeSettings], Iterator[tuple[int, Sequence[Answer]]]]"


@dataclass(frozen=True, slots=True)
class Asked:
    """The subject of a model graph: a model, or a state of one.

    Attributes:
        digest: of the model as it is asked: weights, configuration, tokenizer, template.
        ask: answers questions, in order.
        ask_parts: answers parts of many questions; yields the place of each part with its answers
            as they are there. None: one part after the other, by `ask`.
    """

    name: str
    digest: str
    ask: Ask
    ask_parts: AskParts | None = None

    def in_parts(
        self, parts: Parts, settings: ProbeSettings
    ) -> Iterator[tuple[int, Sequence[Answer]]]:
        """Yield the place of each part with its answers, in any order."""
        if self.ask_parts is not None:
            yield from self.ask_parts(parts, settings)
            return
        for place, questions in enumerate(parts):
            yield place, self.ask(questions, settings)


def asked_model(
    model: RuntimeModel, progress: Progress, ask_parts: AskParts | None = None
) -> Asked:
    """A loaded model, asked by all measures."""

    def answers(questions: Sequence[Question], settings: ProbeSettings) -> Sequence[Answer]:
        return probe(model.loaded, questions, settings, progress=progress)

    return Asked(model.name, model.loaded.info.digest, answers, ask_parts)


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
    """The id of the model graph that holds these facts; probed and written if it is not stored.

    More than PART facts are written as they are answered. Where that was interrupted, only the
    others are asked.
    """
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
    questions = with_longer(runtime, dataset, settings, questions_for(facts, aliases))
    header = rows.GraphHeader(
        graph,
        "model",
        dataset.id,
        model=asked.name,
        probe=settings.digest,
        content_digest=dataset.digest,
    )
    entities = entities_of((q.fact for q in questions), aliases)
    if len(questions) > PART:
        _ask_in_parts(runtime, asked, settings, header, entities, questions)
        return graph
    found = asked.ask(questions, settings)
    header = replace(header, measures=measured(found))
    write_graph(runtime.db, header, entities, _rows(questions, found), progress=runtime.progress)
    return graph


def with_longer(
    runtime: Runtime, dataset: Dataset, settings: ProbeSettings, questions: Sequence[Question]
) -> list[Question]:
    """The questions with the graph's names that contain one of their objects', if they are sampled.

    An answer with a longer name is none of the shorter one (`editing.probe.matching`).
    """
    from ...editing.probe.longer import longer_names

    if "p" not in settings.measures:
        return list(questions)
    key = ("names", dataset.id, dataset.digest)
    names = runtime.memoised(
        key,
        lambda: {
            row.name: row.aliases
            for row in runtime.db.read(rows.EntityRow, "graph/entities", graph=dataset.id)
        },
    )
    # A rewrite may have an object that is not in the graph.
    new = {q.fact.object: q.aliases for q in questions if q.fact.object not in names}
    longer = runtime.memoised((*key, *sorted(new)), lambda: longer_names({**names, **new}))
    return [
        replace(
            question,
            longer=longer.get(question.fact.object, ()),
            neighborhood=tuple(
                replace(near, longer=longer.get(near.object, ())) for near in question.neighborhood
            ),
        )
        for question in questions
    ]


def _ask_in_parts(
    runtime: Runtime,
    asked: Asked,
    settings: ProbeSettings,
    header: rows.GraphHeader,
    entities: Sequence[Entity],
    questions: Sequence[Question],
) -> None:
    """Ask the facts that are not stored yet, and store each part as its answers are there."""
    db = runtime.db
    begin_graph(db, header, entities)
    stored = {row.fact for row in db.read(rows.FactRow, "graph/facts", graph=header.graph)}
    parts = [questions[at : at + PART] for at in range(0, len(questions), PART)]
    todo = [part for part in parts if any(q.fact.id not in stored for q in part)]
    total, done = len(questions), len(questions) - sum(map(len, todo))
    if done:
        runtime.log(f"{done} of {pluralize(total, 'fact')} asked before; continuing")
    for place, found in asked.in_parts(todo, settings):
        add_facts(db, header.graph, _rows(todo[place], found))
        done += len(found)
        runtime.log(f"{done} of {pluralize(total, 'fact')} asked and stored")
    answers = stored_answers(runtime, header.graph).values()
    end_graph(db, replace(header, measures=measured(answers)))


def _rows(questions: Sequence[Question], answers: Sequence[Answer]) -> list[dict[str, object]]:
    return [fact_row(ProbedFact(q, a)) for q, a in zip(questions, answers, strict=True)]


def fact_row(probed: ProbedFact) -> dict[str, object]:
    """A probed fact as graph/merge_facts takes it."""
    fact = probed.question.fact
    ends = {"id": fact.id, "subject": fact.subject, "object": fact.object}
    return ends | edge_properties(probed)


def measured(answers: Collection[Answer]) -> tuple[str, ...]:
    """The measures that were taken: every answer has them, `p` where one of its samples is decided.

    A fact whose samples are all undecided lacks `p`; see `complete`.
    """
    return tuple(m for m in MEASURES if any(m in answer.values for answer in answers))


def own_answers(
    runtime: Runtime,
    loaded: LoadedModel,
    state: str,
    asked: Sequence[tuple[Question, Answer]],
    settings: ProbeSettings,
) -> list[str | None]:
    """The own answers of an unedited model, or of a state, to what it was asked; each asked once.

    Args:
        state: digest of the model as it is asked.
    """
    settings = replace(settings, measures=(EXACT,))
    key = ("own answers", state, loaded.info.dtype, settings.digest)
    known = runtime.memoised(key, dict[str, str | None])
    ids = [digest(asdict(question)) for question, _ in asked]
    new = {id: each for id, each in zip(ids, asked, strict=True) if id not in known}
    known.update(zip(new, probes.own_answers(loaded, list(new.values()), settings), strict=True))
    return [known[id] for id in ids]


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
        says=row.says_pre,
    )
