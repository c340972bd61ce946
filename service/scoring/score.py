"""Score an edit. Read this file first: everything else serves these six steps.

    1 scope    the facts on the rewrite's chains of ≤ n steps, plus the edited fact   (Cypher)
    2 pre      what the model says about them; reused from the model graph             (probe)
    3 execute  the method computes its update; the model stays as it was               (method)
    4 post     the same questions to the edited model, which is restored afterwards    (probe)
    5 write    the edit graph with both sides on every edge, in one transaction        (Cypher)
    6 metrics  every file in cypher/metrics/, read off the stored graph                (Cypher)

An edit's id is a digest of everything its numbers depend on: scoring the same thing twice finds
the stored score, and nothing is overwritten.

How long the stages of a piece of work took.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from thinkeval.loaders.records import Fact, RewriteRequest, digest, slug
from thinkeval.service.schemas import Score
from thinkeval.service.scoring import generation, implications, metrics, model_graph
from thinkeval.service.scoring import plan as planning
from thinkeval.service.scoring import record as editrecords
from thinkeval.service.scoring.deltas import keep
from thinkeval.service.scoring.probe import (
    Answer,
    Neighbor,
    ProbedFact,
    Question,
    Role,
    ask,
    edited_facts,
    questions_for,
)
from thinkeval.service.scoring.request import ScoreRequest, SequenceStep
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.scoring.scope import Pairs, Scope, facts_in_scope, near_questions, neighbors

if TYPE_CHECKING:
    from thinkeval.editing.deltas import EditEffect


@dataclass(slots=True)
class Stopwatch:
    """Seconds by stage, for the record."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what happens inside and add it to the stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.seconds[name] = round(self.seconds.get(name, 0.0) + spent, 4)


def score_edit(
    runtime: Runtime,
    request: ScoreRequest,
    step: SequenceStep | None = None,
    *,
    posted: str | None = None,
) -> Score:
    """Score one edit of one model by one method, and store it.

    Args:
        step: the edit as a part of a sequence; None for an edit by itself.
        posted: id under which it was posted as a job, while that is not yet its own.

    Raises:
        GraphError, EditingError, ServiceError: with a remedy; nothing half-written is visible, and
            the model is as it was.
    """
    watch = Stopwatch()
    with watch.stage("load model"):
        model = runtime.model_of(request)
    plan = planning.plan(runtime, request, model)
    identity = dict(plan.identity)
    scope = implied = None
    if request.implications:
        scope = facts_in_scope(runtime.db, request)
        implied = implications.implied(runtime.db, request, scope)
        identity["implications"] = implied.identity
    edit_id = edit_id_of(request, identity, step)
    if posted is not None:
        editrecords.settle(runtime.db, posted, edit_id, request, model.name)
    if not request.force and (stored := editrecords.stored_score(runtime.db, edit_id)) is not None:
        return stored.model_copy(update={"reused": True})

    with editrecords.recorded(
        runtime.db, edit_id, request, model.name, runtime.reach, runtime.interrupted
    ) as record:
        with watch.stage("scope"):
            scope = scope or facts_in_scope(runtime.db, request)
        with watch.stage("probe pre"):
            pre = _pre(runtime, request, model, scope)
            further = _further(runtime, request, model, implied)
        record.stage("edit", 0.4)
        with watch.stage("edit"):
            effect = step.effect() if step else planning.execute(runtime, plan, request, model)
        with watch.stage("save delta"):
            edited = step.requests if step else (request.rewrite,)
            kept = keep(runtime, edit_id, request, model, plan, effect, edited)
        record.stage("probe post", 0.6)
        with watch.stage("probe post"):
            probed, further = _post(runtime, request, model, effect, pre, further)
        texts = None
        if request.generate:
            with watch.stage("generate"):
                texts = generation.both(runtime, request, model, effect)
        record.stage("write", 0.9)
        with watch.stage("write"):
            editrecords.write_edit_graph(
                runtime.db, edit_id, request, model.name, [*probed, *further], scope.aliases
            )
        with watch.stage("metrics"):
            values = metrics.measure(runtime.db, edit_id, request)
            if texts is not None:
                values += generation.measured(runtime, edit_id, request, texts)
        score = Score(
            edit=edit_id,
            dataset=request.graph,
            rewrite=request.rewrite.id,
            subject=request.rewrite.subject,
            relation=request.rewrite.relation,
            prompt=request.rewrite.prompt,
            target_true=request.rewrite.target_true,
            target_new=request.rewrite.target_new,
            model=model.name,
            method=request.method,
            options=request.options,
            values=values,
            n_facts=len(scope.facts),
            seconds=watch.seconds,
            provenance=plan.provenance
            | {
                "n_steps": effect.n_steps,
                "context_templates": effect.templates,
                "delta": kept,
                "method_state": _plain(effect.state),
            }
            | ({"implications": implied.about()} if implied else {}),
            sequence=step.about if step else None,
        )
        from thinkeval.service.scoring import intervals  # numpy; `--help` should not wait for it

        with watch.stage("metrics"):
            values = intervals.with_intervals(runtime.db, score, probed, request.seed)
            score = score.model_copy(update={"values": values})
        record.succeed(score)
    return score


def edit_id_of(
    request: ScoreRequest, identity: dict[str, object], step: SequenceStep | None = None
) -> str:
    """Readable and unique: method, subject, and a digest of all that the numbers depend on."""
    if request.generate:
        identity = identity | {"generate": generation.PROTOCOL}
    if request.strength != 1:
        identity = identity | {"strength": request.strength}
    if step is not None:
        identity = identity | {"sequence": step.identity}
    return f"{slug(request.method)}-{slug(request.rewrite.subject)[:32]}-{digest(identity, 10)}"


def _plain(state: Mapping[str, Any]) -> dict[str, Any]:
    """What a method tells of its work in numbers and names (the null space's rank, for one)."""

    def plain(value: object) -> bool:
        if isinstance(value, dict):
            return all(isinstance(v, int | float | str) for v in value.values())
        return isinstance(value, int | float | str)

    return {name: value for name, value in state.items() if plain(value)}


def _pre(
    runtime: Runtime, request: ScoreRequest, model: RuntimeModel, scope: Scope
) -> list[ProbedFact]:
    """Step 2: the scope's answers come from the model graph; only the edited fact is asked anew.

    And that once for all edits of a rewrite, whatever the method.
    """
    known = model_graph.answers(runtime, request, model, scope)
    near = neighbors(runtime.db, request.graph, request.rewrite)
    edited = _edited_questions(request.rewrite, scope, near)
    ids = {question.fact.id for question in edited}
    asked = _asked_once(runtime, request, model, "edited", edited)
    rest = [q for q in questions_for(scope.facts, scope.aliases) if q.fact.id not in ids]
    return [ProbedFact(q, known[q.fact.id]) for q in rest] + [
        ProbedFact(q, answer) for q, answer in zip(edited, asked, strict=True)
    ]


def _asked_once(
    runtime: Runtime,
    request: ScoreRequest,
    model: RuntimeModel,
    what: str,
    questions: Sequence[Question],
) -> Sequence[Answer]:
    """What the unedited model says to some questions, asked once for all edits that need it."""
    info = model.loaded.info
    told = digest([asdict(question) for question in questions])
    return runtime.remembered(
        (what, info.weights_digest, info.dtype, request.probe.digest, told),
        lambda: ask(model.loaded, questions, request.probe, progress=runtime.progress),
    )


def _edited_questions(rewrite: RewriteRequest, scope: Scope, near: Pairs) -> list[Question]:
    """The edited fact twice, asked by the rewrite's prompt and by each of its paraphrases.

    At the prompts of the neighborhood, their right answers are asked for, and target_new.
    """
    true, new = edited_facts(rewrite, scope.facts)
    listed = {fact.id for fact in scope.facts}
    right, wrong = (near_questions(near, scope.aliases, name) for name in (None, new.object))
    roles: list[tuple[Fact, tuple[Neighbor, ...], Role, bool]] = [
        (true, right, "target_true", true.id in listed),
        (new, wrong, "target_new", False),
    ]
    return [
        Question(
            fact, scope.aliases.get(fact.object, ()), rewrite.paraphrases, there, role, is_listed
        )
        for fact, there, role, is_listed in roles
    ]


def _further(
    runtime: Runtime,
    request: ScoreRequest,
    model: RuntimeModel,
    implied: implications.Implied | None,
) -> list[ProbedFact]:
    """What is asked for the sake of implications, by itself: no other answer depends on it."""
    if implied is None or not implied.questions:
        return []
    said = _asked_once(runtime, request, model, "implied", implied.questions)
    return [ProbedFact(q, answer) for q, answer in zip(implied.questions, said, strict=True)]


def _post(
    runtime: Runtime,
    request: ScoreRequest,
    model: RuntimeModel,
    effect: EditEffect,
    *groups: list[ProbedFact],
) -> list[list[ProbedFact]]:
    """Step 4: the same questions, asked of the edited model; it is restored on every way out.

    Each group is asked by itself, as it was before the edit.

    An effect that changes nothing leaves the answers as they are. Asked again in other batches, a
    likelihood differs in its last bits, and the control would miss 1 by rounding.
    """
    from thinkeval.editing.deltas import applied

    if not effect.deltas and effect.prompt_change is None:
        return [[ProbedFact(p.question, p.pre, p.pre) for p in group] for group in groups]
    with applied(model.loaded.model, effect):
        said = [
            ask(
                model.loaded,
                [probed.question for probed in group],
                request.probe,
                prompt_change=effect.prompt_change,
                progress=runtime.progress,
            )
            if group
            else []
            for group in groups
        ]
    return [
        [
            ProbedFact(probed.question, probed.pre, answer)
            for probed, answer in zip(group, answers, strict=True)
        ]
        for group, answers in zip(groups, said, strict=True)
    ]
