"""What one state answers: the facts of the graph, and the edited fact of each request.

The answers about facts are stored as the state's model graph, and found again by the digest of its
weights. Everything is asked in two batches, however many requests there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinkeval.loaders.records import Fact, RewriteRequest, digest
from thinkeval.service.scoring import model_graph
from thinkeval.service.scoring.probe import Answer, ProbedFact, Question, questions_for
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.scope import Scope, facts_in_scope, neighbors
from thinkeval.service.scoring.score import edited_questions

if TYPE_CHECKING:
    from thinkeval.editing.probe import ProbeSettings
    from thinkeval.service.graphs.datasets import Dataset
    from thinkeval.service.scoring.runtime import Runtime
    from thinkeval.service.states.opened import OpenState


@dataclass(frozen=True, slots=True)
class Asked:
    """A request with the questions about it.

    Attributes:
        edited: questions about the edited fact: with target_true, and with target_new if any.
    """

    request: ScoreRequest
    scope: Scope
    edited: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Asking:
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
    requests: tuple[Asked, ...]

    @property
    def edited(self) -> list[Question]:
        """The questions about the edited facts of all requests, in order."""
        return [question for asked in self.requests for question in asked.edited]


@dataclass(frozen=True, slots=True)
class Answers:
    """What a state answered.

    Attributes:
        facts: by fact id.
        edited: in the order of `Asking.edited`.
    """

    facts: Mapping[str, Answer]
    edited: Sequence[Answer]


def asking(
    runtime: Runtime,
    dataset: Dataset,
    settings: ProbeSettings,
    requests: Sequence[ScoreRequest],
) -> Asking:
    """What is to be asked. A graph is asked as a whole, a large one by the requests' scopes."""
    content = runtime.content_of(dataset)
    asked = []
    for request in requests:
        scope = facts_in_scope(runtime.db, request)
        near = neighbors(runtime.db, dataset.id, request.rewrite)
        edited = edited_questions(request.rewrite, scope, near)
        asked.append(Asked(request, scope, tuple(edited)))
    whole = not asked or dataset.n_facts <= runtime.settings.probe_all_limit
    scoped = {fact.id: fact for each in asked for fact in each.scope.facts}
    facts = content.facts if whole else tuple(scoped.values())
    aliases = {entity.name: entity.aliases for entity in content.entities}
    return Asking(dataset, settings, facts, whole, aliases, tuple(asked))


def answers_of(runtime: Runtime, state: OpenState, asking: Asking) -> Answers:
    """Ask a state; answers about facts that are stored already are read."""

    def ask(questions: Sequence[Question], settings: ProbeSettings) -> Sequence[Answer]:
        return state.ask(questions, settings, progress=runtime.progress)

    named = model_graph.Asked(state.about.name, state.about.digest, ask)
    graph = model_graph.ensure(
        runtime, asking.dataset, named, asking.settings, asking.facts, asking.aliases
    )
    edited = asking.edited
    key = digest([state.about.digest, asking.settings.digest, [repr(q) for q in edited]])
    found = runtime.memoised(
        ("edited facts", key), lambda: ask(edited, asking.settings) if edited else []
    )
    return Answers(model_graph.stored_answers(runtime, graph), found)


def of_request(
    asked: Asked, edited_pre: Sequence[Answer], edited_post: Sequence[Answer], both: Pair
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
"""What the first and the second state answered."""


def rewrites(asking: Asking) -> list[RewriteRequest]:
    """The rewrites of all requests."""
    return [asked.request.rewrite for asked in asking.requests]
