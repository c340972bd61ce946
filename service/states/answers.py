"""Answers of one state about the facts of the graph and the edited fact of each request.

The answers about facts are stored as the state's model graph, and found again by the digest of its
weights. Everything is asked in two batches, however many requests there are; conclusions of rules
in a third, so that no other answer depends on whether they are asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from ...loaders.records import Fact, RewriteRequest, digest
from ..schemas import MEASURES, Measure
from ..scoring import model_graph
from ..scoring.implications import Implied, implied
from ..scoring.probe import Answer, ProbedFact, Question, questions_for
from ..scoring.request import ScoreRequest
from ..scoring.scope import Scope, facts_in_scope, neighbors
from ..scoring.score import edited_questions

if TYPE_CHECKING:
    from ...editing.probe import ProbeSettings
    from ..graphs.datasets import Dataset
    from ..scoring.runtime import Runtime
    from .opened import OpenState


@dataclass(frozen=True, slots=True)
class ProbeBatch:
    """A request with the questions about it.

    Attributes:
        edited: questions about the edited fact: with target_true, and with target_new if any.
        implied: questions about conclusions of rules; None where they are not requested.
    """

    request: ScoreRequest
    scope: Scope
    edited: tuple[Question, ...]
    implied: Implied | None = None


@dataclass(frozen=True, slots=True)
class ProbePlan:
    """Everything that both states are asked.

    Attributes:
        facts: of the graph, or of the scopes of the requests where the graph is large.
        whole: whether these are all facts of the graph.
        aliases: of the objects, by name.
    """

    dataset: Dataset
    settings: ProbeSettings
    facts: tuple[Fact, ...]
    whole: bool
    aliases: Mapping[str, tuple[str, ...]]
    requests: tuple[ProbeBatch, ...]

    @property
    def edited(self) -> list[Question]:
        """The questions about the edited facts of all requests, in order."""
        return [question for asked in self.requests for question in asked.edited]

    @property
    def implied(self) -> list[Question]:
        """The questions about conclusions of rules of all requests, in order."""
        return [q for asked in self.requests if asked.implied for q in asked.implied.questions]


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of a state.

    Attributes:
        facts: by fact id.
        edited: in the order of `ProbePlan.edited`.
        implied: in the order of `ProbePlan.implied`.
    """

    facts: Mapping[str, Answer]
    edited: Sequence[Answer]
    implied: Sequence[Answer] = ()


def build_questions(
    runtime: Runtime,
    dataset: Dataset,
    settings: ProbeSettings,
    requests: Sequence[ScoreRequest],
) -> ProbePlan:
    """Build the questions: of a whole graph, of a large one those in the requests' scopes."""
    content = runtime.content_of(dataset)
    asked = []
    for request in requests:
        scope = facts_in_scope(runtime.db, request)
        near = neighbors(runtime.db, dataset.id, request.rewrite)
        edited = edited_questions(request.rewrite, scope, near)
        concluded = implied(runtime.db, request, scope) if request.implications else None
        asked.append(ProbeBatch(request, scope, tuple(edited), concluded))
    whole = not asked or dataset.n_facts <= runtime.settings.probe_all_limit
    scoped = {fact.id: fact for each in asked for fact in each.scope.facts}
    facts = content.facts if whole else tuple(scoped.values())
    aliases = {entity.name: entity.aliases for entity in content.entities}
    return ProbePlan(dataset, settings, facts, whole, aliases, tuple(asked))


def answers_of(runtime: Runtime, state: OpenState, asking: ProbePlan) -> Answers:
    """Ask a state; answers about facts that are stored already are read."""

    def ask(questions: Sequence[Question], settings: ProbeSettings) -> Sequence[Answer]:
        return state.ask(questions, settings, progress=runtime.progress)

    named = model_graph.Asked(state.about.name, state.about.digest, ask)
    graph = model_graph.ensure(
        runtime, asking.dataset, named, asking.settings, asking.facts, asking.aliases
    )

    def once(what: str, questions: Sequence[Question]) -> Sequence[Answer]:
        if not questions:
            return []
        key = digest([state.about.digest, asking.settings.digest, [repr(q) for q in questions]])
        return runtime.memoised((what, key), lambda: ask(questions, asking.settings))

    edited, concluded = once("edited facts", asking.edited), once("conclusions", asking.implied)
    return Answers(model_graph.stored_answers(runtime, graph), edited, concluded)


def of_request(
    asked: ProbeBatch, edited_pre: Sequence[Answer], edited_post: Sequence[Answer], both: Pair
) -> list[ProbedFact]:
    """The facts of one request with both answers: its scope, then the edited fact."""
    ids = {question.fact.id for question in asked.edited}
    rest = [
        question
        for question in questions_for(asked.scope.facts, asked.scope.aliases)
        if question.fact.id not in ids
    ]
    pre, post = both
    probed = [ProbedFact(q, pre.facts[q.fact.id], post.facts[q.fact.id]) for q in rest]
    pairs = zip(asked.edited, edited_pre, edited_post, strict=True)
    return probed + [ProbedFact(question, one, other) for question, one, other in pairs]


Pair = tuple[Answers, Answers]
"""The answers of the base and of a state."""


def rewrites(asking: ProbePlan) -> list[RewriteRequest]:
    """The rewrites of all requests."""
    return [asked.request.rewrite for asked in asking.requests]


def common_measures(probed: Sequence[ProbedFact]) -> tuple[Measure, ...]:
    """The measures that both states were asked by.

    A fact whose samples are all undecided lacks `p`; others have it.
    """
    return tuple(
        measure
        for measure in MEASURES
        if any(measure in p.pre.values for p in probed)
        and any(p.post and measure in p.post.values for p in probed)
    )


def of_measures(probed: ProbedFact, taken: Sequence[str]) -> ProbedFact:
    """A fact with the measures that both states gave, and no others."""

    def kept(answer: Answer) -> Answer:
        def of(values: Mapping[str, Any]) -> dict[str, Any]:
            return {name: value for name, value in values.items() if name in taken}

        return replace(
            answer,
            values=of(answer.values),
            paraphrases=of(answer.paraphrases),
            neighborhood=of(answer.neighborhood),
        )

    return replace(probed, pre=kept(probed.pre), post=kept(cast("Answer", probed.post)))
