"""Measures of a state: answers, routes to the old object, retention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from ...cypher import rows
from ...loaders.records import Fact, RewriteRequest, digest
from ..base.formatting import fine
from ..graphs.edges import KEPT_RATIO
from ..models.edit import KNOWN, MEASURES, Measure, ScoringOptions
from ..scoring import model_graph
from ..scoring.probe import EXACT, Answer, ProbedFact, Question, questions_for
from ..scoring.request import ScoreRequest
from ..scoring.resolved import Scope, facts_in_scope, neighbors
from ..scoring.score import edited_questions
from ..scoring.side_effects import Implied, implied
from .schemas import (
    ComparedRequest,
    ComparisonIn,
    Reopened,
    Retention,
    RouteRule,
    RoutesOut,
    StateComparison,
)

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...editing.probe import ProbeSettings
    from ..graphs.datasets import Dataset
    from ..scoring.runtime import Runtime
    from .schemas import OpenState
    from .spec import StateIn


# Answers of one state about the facts of the graph and the edited fact of each request.
#
# The answers about facts are stored as the state's model graph, and found again by the digest of
# its weights. Everything is asked in two batches, however many requests there are; conclusions of
# rules in a third, so that no other answer depends on whether they are asked.


@dataclass(frozen=True, slots=True)
class ProbeBatch:
    """A request with the questions about it.

    Attributes:
        edited: questions about the edited fact: with target_true, and with target_new if any.
        others: questions about the other facts of its scope.
        implied: questions about conclusions of rules; None where they are not requested.
    """

    request: ScoreRequest
    scope: Scope
    edited: tuple[Question, ...]
    others: tuple[Question, ...]
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
        graph: id of the state's model graph.
        facts: by fact id.
        edited: in the order of `ProbePlan.edited`.
        implied: in the order of `ProbePlan.implied`.
    """

    graph: str
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

    def named(questions: Sequence[Question]) -> tuple[Question, ...]:
        return tuple(model_graph.with_longer(runtime, dataset, settings, questions))

    asked = []
    for request in requests:
        scope = facts_in_scope(runtime.db, request)
        near = neighbors(runtime.db, dataset.id, request.rewrite)
        edited = named(edited_questions(request.rewrite, scope, near))
        ids = {question.fact.id for question in edited}
        others = named(
            [q for q in questions_for(scope.facts, scope.aliases) if q.fact.id not in ids]
        )
        concluded = implied(runtime.db, request, scope) if request.implications else None
        if concluded is not None:
            concluded = replace(concluded, questions=named(concluded.questions))
        asked.append(ProbeBatch(request, scope, edited, others, concluded))
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
    return Answers(graph, model_graph.stored_answers(runtime, graph), edited, concluded)


def with_own_answers(
    runtime: Runtime, state: OpenState, asking: ProbePlan, answers: Answers, base: Answers | None
) -> Answers:
    """The answers with the state's own ones: to the edited facts, and to those that it knows.

    Of a state that is compared, to those that changed. A state behind an endpoint has the commonest
    of its samples (`EndpointState.ask`).

    Args:
        base: None: the state is the base.
    """
    loaded = getattr(state, "loaded", None)
    if loaded is None:
        return answers
    facts = [
        question
        for question in questions_for(asking.facts, asking.aliases)
        if _is_asked(
            answers.facts[question.fact.id],
            base.facts[question.fact.id] if base is not None else None,
        )
    ]
    asked = [(question, answers.facts[question.fact.id]) for question in facts]
    asked += zip(asking.edited, answers.edited, strict=True)
    texts = model_graph.own_answers(runtime, loaded, state.about.digest, asked, asking.settings)
    said = [replace(each, says=text) for (_, each), text in zip(asked, texts, strict=True)]
    of_facts = {q.fact.id: each for q, each in zip(facts, said, strict=False)}
    return replace(answers, facts={**answers.facts, **of_facts}, edited=said[len(facts) :])


def _is_asked(answer: Answer, before: Answer | None) -> bool:
    """Return True for a fact that the base knows, or that is another one in a state."""
    value = answer.values.get(EXACT)
    if before is None:
        return value is not None and value >= KNOWN
    first = before.values.get(EXACT)
    if value is None or first is None:
        return before.says is not None
    return value >= KNOWN if first < KNOWN else value < KEPT_RATIO * first


def of_request(
    asked: ProbeBatch, edited_pre: Sequence[Answer], edited_post: Sequence[Answer], both: Pair
) -> list[ProbedFact]:
    """The facts of one request with both answers: its scope, then the edited fact."""
    pre, post = both
    probed = [ProbedFact(q, pre.facts[q.fact.id], post.facts[q.fact.id]) for q in asked.others]
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


# Routes: chains that lead to the old object in the first state, in the second, or in both.


def route_rule(options: ScoringOptions, measure: Measure) -> RouteRule:
    """The rule by which a chain leads to its object in a state: that of chains before an edit.

    The papers' rule is that nothing is 0; a likelihood never is, so there `known_chain` counts.
    """
    counted = options.counted
    of_all = counted["rule"] == "papers" and measure != "p"
    floor = options.known_chain if of_all else counted["known_chain"]
    return RouteRule(floor=floor, known=counted["known"])


def routes(
    db: Database, requests: Mapping[str, ScoreRequest], measures: Sequence[Measure]
) -> dict[str, dict[Measure, RoutesOut]]:
    """The routes of each request by measure: chains of other facts, without the edited fact.

    Args:
        requests: by the edit that holds their graph, with the same options of scoring.
    """
    first = next(iter(requests.values()))
    cases = [
        {
            "id": edit, "graph": edit, "subject": request.rewrite.subject,
            "object": request.rewrite.target_true, "relation": request.rewrite.relation,
            "rewrite": None,
        }
        for edit, request in requests.items()
    ]  # fmt: skip
    out: dict[str, dict[Measure, RoutesOut]] = {edit: {} for edit in requests}
    for measure in measures:
        rule = route_rule(first.options, measure)
        found = db.read(
            rows.RoutesRow,
            "states/routes",
            cases=cases,
            max_steps=first.max_steps,
            bare="exclude",
            parallel=first.parallel,
            pre=f"{measure}_pre",
            post=f"{measure}_post",
            known=rule.known,
            known_chain=rule.floor,
        )
        for row in found:
            counts = row.model_dump(exclude={"id", "missing"})
            out[row.id][measure] = RoutesOut(**counts, **rule.model_dump())
    return out


# Retention: the part of the first state's change that is left in states that build on it.
#
# Retention of a request in state k is p_k(new) / p_1(new), or forgetting_k / forgetting_1 of a
# request to forget; undefined where the denominator is below .05. It is computed for states that
# have all changes of the first: of others it would say nothing. The first state closed a chain
# that led to the old object in the base; it is open again in a state where it leads there.

LEAST = KNOWN
"""Change in the first state below which its retention is undefined."""


def with_retention(
    db: Database, posted: ComparisonIn, states: Sequence[StateComparison]
) -> list[StateComparison]:
    """The states, with the retention of each request where the state builds on the first."""
    first = states[0]
    return [
        state.model_copy(
            update={
                "requests": [
                    request.model_copy(update={"retention": _retention(db, posted, start, request)})
                    for start, request in zip(first.requests, state.requests, strict=True)
                ]
            }
        )
        if builds_on(wanted, posted.states[0])
        else state
        for wanted, state in zip(posted.states, states, strict=True)
    ]


def builds_on(state: StateIn, first: StateIn) -> bool:
    """Return True if a state has all changes of the first, in the same order."""
    same = (state.model, state.revision, state.endpoint) == (
        first.model, first.revision, first.endpoint,
    )  # fmt: skip
    adapter = first.adapter in (None, state.adapter)
    begins = state.edits[: len(first.edits)] == first.edits
    return same and adapter and begins and (first.quantized in (None, state.quantized))


def _retention(
    db: Database, posted: ComparisonIn, start: ComparedRequest, request: ComparedRequest
) -> dict[Measure, Retention]:
    olds = _old_object(db, request)
    metric = "forgetting" if request.kind == "forget" else "efficacy"
    found: dict[Measure, Retention] = {}
    for measure in request.routes:
        if measure not in start.routes:
            continue
        change, whole = (each.number(metric, measure) for each in (request, start))
        defined = change is not None and whole is not None and whole >= LEAST
        found[measure] = Retention(
            retention=change / whole if defined and change is not None and whole else None,
            undefined=None if defined else _undefined(request, whole),
            change=change,
            target_true=olds.get(measure),
            reopened=_reopened(db, posted, measure, start.edit, request),
        )
    return found


def _undefined(request: ComparedRequest, whole: float | None) -> str:
    """Why the retention of a request is undefined."""
    if whole is None:
        return "the base did not know the fact that is forgotten (p below .05)"
    name = "forgetting" if request.kind == "forget" else "p(new object)"
    return f"in the first state, {name} is {fine(whole)}, below .05"


def _reopened(
    db: Database, posted: ComparisonIn, measure: Measure, first: str, request: ComparedRequest
) -> Reopened:
    """The chains that the first state closed and that are open again in the state of a request.

    Args:
        first: id of the graph that compares the base with the first state.
    """
    rule = route_rule(posted.options, measure)
    found = db.read(
        rows.RevivedRow,
        "states/revived",
        graph=first,
        later=request.edit,
        subject=request.subject,
        object=request.target_true,
        relation=request.relation,
        max_steps=posted.max_steps,
        bare=posted.bare,
        parallel=posted.parallel,
        pre=f"{measure}_pre",
        post=f"{measure}_post",
        known=rule.known,
        known_chain=rule.floor,
    )
    if not found:
        return Reopened(closed=0, opened=0)
    (row,) = found
    return Reopened(
        closed=row.closed, opened=row.opened, facts=list(row.links),
        base=row.r_base, edited=row.r_edited, later=row.r_later,
    )  # fmt: skip


def _old_object(db: Database, request: ComparedRequest) -> dict[str, float | None]:
    """The probability of the old object in the state, by measure; empty without such a fact."""
    for row in db.read(rows.FactRow, "graph/facts", graph=request.edit):
        if row.role == "target_true":
            return {
                "p": row.p_post,
                "likelihood": row.likelihood_post,
                "likelihood_norm": row.likelihood_norm_post,
            }
    return {}
