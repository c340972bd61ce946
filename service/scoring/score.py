"""Score an edit. Read this file first: everything else serves these six steps.

    1 scope    the facts on the rewrite's chains of ≤ n steps, plus the edited fact   (Cypher)
    2 pre      the model's answers about them; reused from the model graph             (probe)
               an edit of a fact that the model does not know ends here
    3 execute  the method computes its update; the model stays as it was               (method)
    4 post     the same questions to the edited model, which is restored afterwards    (probe)
    5 write    the edit graph with both sides on every edge, in one transaction        (Cypher)
    6 metrics  every file in cypher/metrics/, read off the stored graph                (Cypher)

An edit's id is a digest of everything its numbers depend on: scoring the same edit twice finds
the stored score, and nothing is overwritten.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ...loaders.records import Fact, RewriteRequest, digest, slug
from ..models.edit import MetricValue, Score
from . import (
    append,
    battery,
    chat,
    checks,
    conversation,
    damage,
    deltas,
    drift,
    forget,
    generation,
    knowledge,
    metrics,
    model_graph,
    side_effects,
    tasks,
)
from . import plan as planning
from . import record as editrecords
from .plan import Plan
from .probe import (
    BESIDE,
    Answer,
    Neighbor,
    ProbedFact,
    Question,
    Role,
    correct_facts,
    edited_facts,
    probe,
    questions_for,
    spelled_apart,
    undecided,
)
from .request import ScoreRequest, SequenceStep
from .resolved import Pairs, Resolved, Scope, near_questions, resolve
from .runtime import Runtime

if TYPE_CHECKING:
    from ...editing.deltas import EditEffect
    from ...editing.states.tasks import Tasks
    from ..base.leases import Lease
    from .record import Record


@dataclass(slots=True)
class Stopwatch:
    """Seconds by stage, for the record."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time the `with` block and add it to the stage."""
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
    lease: Lease | None = None,
) -> Score:
    """Score one edit of one model by one method, and store it.

    Args:
        step: the edit as a part of a sequence; None for an edit by itself.
        lease: of the worker that claimed it; None: a command's own.

    Raises:
        UsageError: options that the kind of the rewrite, or the method, does not have.
        UnknownFactError: the model does not know the edited fact; nothing was edited.
        GraphError, EditingError, ServiceError: with a remedy; nothing half-written is visible, and
            the model is as it was.
        LeaseLostError: another process scores it by now.
    """
    append.check(request, request.rewrite)
    battery.check(request)
    forget.check(request.rewrite, request)
    watch = Stopwatch()
    with watch.stage("load model"):
        harness = tasks.load(runtime, request)
        resolved = resolve(runtime, request)
    request = resolved.request
    plan = planning.plan_edit(resolved)
    identity, implied = dict(plan.identity), None
    if request.implications:
        implied = side_effects.implied(runtime.db, request, resolved.scope)
        identity["implications"] = implied.identity
    if harness is not None:
        identity["tasks"] = tasks.identity(harness)
        plan.provenance["tasks"] = tasks.record(request, harness)
    edit_id = edit_id_of(request, identity, step)
    if lease is not None:
        editrecords.assign_final_id(runtime, lease, edit_id, request, resolved.model.name)
    else:
        editrecords.wait_until_idle(runtime, edit_id)
    if not request.force and (stored := editrecords.stored_score(runtime.db, edit_id)) is not None:
        if stored.provenance.get("anyway") and step is None:
            knowledge.require(resolved, _pre(resolved))  # it was scored although it is not known
        return stored.model_copy(update={"reused": True})
    with editrecords.recorded(runtime, edit_id, request, resolved.model.name, lease) as record:
        return _score(plan, implied, harness, step, record, watch)


def _score(
    plan: Plan,
    implied: side_effects.Implied | None,
    harness: Tasks | None,
    step: SequenceStep | None,
    record: Record,
    watch: Stopwatch,
) -> Score:
    """The six steps, under the record of the edit."""
    resolved, request = plan.resolved, plan.resolved.request
    db, model = resolved.runtime.db, resolved.model
    with watch.stage("scope"):
        scope = resolved.scope
    with watch.stage("probe pre"):
        pre = _pre(resolved)
        further = _further(resolved, "implied", implied.questions if implied else ())
        beside = _further(resolved, "beside", step.further if step else ())
        plan.provenance["spelled_apart"] = spelled_apart(
            model.loaded, [fact.question for fact in pre], request.probe
        )
        if step is None:
            knowledge.require(resolved, pre)
        about = side_effects.before(resolved, [*pre, *further, *beside])
    record.stage("edit", 0.4)
    with watch.stage("edit"):
        effect = step.effect() if step else planning.execute(plan)
    if plan.layers and (found := damage.findings(resolved, effect)):
        plan.provenance["findings"] = found
    with watch.stage("save delta"):
        edited = step.requests if step else (request.rewrite,)
        plan.provenance["delta"] = deltas.save(plan, record.edit, effect, edited)
        plan.provenance.update(deltas.precision(resolved, effect))
    record.stage("probe post", 0.6)
    with watch.stage("probe post"):
        probed, further, beside, about = _post(resolved, effect, pre, further, beside, about)
        both = chat.measured(model.loaded, request.probe, effect, probed)
        answers = append.both(resolved, effect)
        shown = [*probed, *about]
    with watch.stage("forms"):
        asked = battery.both(resolved, effect, shown)
    with watch.stage("checks"):
        checked = checks.both(resolved, effect)
    with watch.stage("side effects"):
        changed = damage.measured(resolved, effect, edited)
        known = drift.outside(resolved, effect, [*shown, *further, *beside], edited)
    with watch.stage("own answers"):
        written = side_effects.own_answers(
            resolved, effect, [*shown, *further, *beside, *(known.facts if known else ())]
        )
    with watch.stage("tasks"):
        solved = tasks.both(resolved, effect, harness)
    texts = None
    if request.generate:
        with watch.stage("generate"):
            texts = generation.both(resolved, effect)
    record.stage("write", 0.9)
    with watch.stage("write"):
        editrecords.write_edit_graph(record, request, model.name, written, scope.aliases)
        if answers:
            record.write_answers(answers)
        if asked:
            record.write_forms(asked.rows)
        if checked:
            checks.write(record, checked)
    with watch.stage("metrics"):
        values = [*metrics.measure(db, record.edit, request), *both]
        if answers:
            values += append.measured(db, [record.edit])[record.edit]
        if texts is not None:
            values += generation.measured(resolved, record, texts)
        outcome = side_effects.counted(db, record.edit, request)
        changed = drift.measured(resolved, record.edit, edited, known, changed)
    plan.provenance["replies"] = {
        side: undecided(answer for each in probed if (answer := getattr(each, side)))
        for side in ("pre", "post")
    }
    score = _score_of(plan, record.edit, values, effect, implied, step)
    from . import intervals  # numpy; `--help` should not wait for it

    with watch.stage("metrics"):
        values = intervals.with_intervals(db, score, probed, request.seed)
    talk = None
    if request.conversation:
        with watch.stage("conversation"):
            talk = conversation.measured(resolved, effect, score)
    with watch.stage("forms"):
        forms = battery.measured(resolved, record.edit, asked)
    score = score.model_copy(
        update={
            "values": values,
            "forms": forms,
            "seconds": watch.seconds,
            "conversation": talk,
            "about_subject": outcome,
            "side_effects": changed,
            "tasks": solved,
            "checks": checks.measured(db, record.edit) if checked else [],
        }
    )
    record.succeed(score)
    return score


def _score_of(
    plan: Plan,
    edit: str,
    values: list[MetricValue],
    effect: EditEffect,
    implied: side_effects.Implied | None,
    step: SequenceStep | None,
) -> Score:
    """The score as it is stored, without intervals and seconds."""
    resolved, request = plan.resolved, plan.resolved.request
    rewrite = request.rewrite
    return Score(
        edit=edit,
        dataset=resolved.dataset.id,
        rewrite=rewrite.id,
        subject=rewrite.subject,
        relation=rewrite.relation,
        prompt=rewrite.prompt,
        target_true=rewrite.target_true,
        target_new=rewrite.target_new,
        model=resolved.model.name,
        method=request.method,
        options=request.options,
        values=values,
        n_facts=len(resolved.scope.facts),
        provenance=plan.provenance
        | {
            "n_steps": effect.n_steps,
            "residual_left": effect.residual_left,
            "context_templates": effect.templates,
            "method_state": _plain(effect.state),
        }
        | ({"implications": implied.about()} if implied else {})
        | ({"conversation": conversation.PROTOCOL} if request.conversation else {})
        | battery.recorded(request),
        sequence=step.about if step else None,
        append=plan.append,
    )


def edit_id_of(
    request: ScoreRequest, identity: dict[str, object], step: SequenceStep | None = None
) -> str:
    """Readable and unique: method, subject, and a digest of all that the numbers depend on."""
    if request.generate:
        identity = identity | {"generate": generation.PROTOCOL}
    if request.conversation:
        identity = identity | {"conversation": conversation.PROTOCOL}
    if request.rewrite.checks:
        identity = identity | {"checks": checks.PROTOCOL}
    identity = identity | battery.identity(request)
    if request.strength != 1:
        identity = identity | {"strength": request.strength}
    if step is not None:
        identity = identity | {"sequence": step.identity}
    return f"{slug(request.method)}-{slug(request.rewrite.subject)[:32]}-{digest(identity, 10)}"


def _plain(state: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers and names of a method's state (the null space's rank, for one)."""

    def plain(value: object) -> bool:
        if isinstance(value, dict):
            return all(isinstance(v, int | float | str) for v in value.values())
        return isinstance(value, int | float | str)

    return {name: value for name, value in state.items() if plain(value)}


def _pre(resolved: Resolved) -> list[ProbedFact]:
    """Step 2: the scope's answers come from the model graph; only the edited fact is probed.

    And that once for all edits of a rewrite, whatever the method.
    """
    known, scope = model_graph.answers(resolved), resolved.scope
    edited = _named(resolved, edited_questions(resolved.request.rewrite, scope, resolved.near))
    ids = {question.fact.id for question in edited}
    answers = _asked_once(resolved, "edited", edited)
    rest = _named(
        resolved,
        [q for q in questions_for(scope.facts, scope.aliases) if q.fact.id not in ids],
    )
    return [ProbedFact(q, known[q.fact.id]) for q in rest] + [
        ProbedFact(q, answer) for q, answer in zip(edited, answers, strict=True)
    ]


def _named(resolved: Resolved, questions: Sequence[Question]) -> list[Question]:
    return model_graph.with_longer(
        resolved.runtime, resolved.dataset, resolved.request.probe, questions
    )


def _asked_once(resolved: Resolved, what: str, questions: Sequence[Question]) -> Sequence[Answer]:
    """The unedited model's answers to some questions, asked once for all edits that need them."""
    runtime, loaded, settings = resolved.runtime, resolved.model.loaded, resolved.request.probe
    key = digest([asdict(question) for question in questions])
    return runtime.memoised(
        (what, loaded.info.digest, loaded.info.dtype, settings.digest, key),
        lambda: probe(loaded, questions, settings, progress=runtime.progress),
    )


def edited_questions(rewrite: RewriteRequest, scope: Scope, near: Pairs) -> list[Question]:
    """The edited fact twice, probed by the rewrite's prompt and by each of its paraphrases.

    At the prompts of the neighborhood, their right answers and target_new are probed. Of a request
    to append, the facts of all correct answers are probed as that of target_true is. A request to
    forget has no target_new: the edited fact is probed once.
    """
    true, new = edited_facts(rewrite, scope.facts)
    listed = {fact.id for fact in scope.facts}
    right = near_questions(near, scope.aliases)
    roles: list[tuple[Fact, tuple[Neighbor, ...], Role, bool]] = [
        (true, right, "target_true", true.id in listed)
    ]
    if new is not None:
        roles.append((new, near_questions(near, scope.aliases, new.object), "target_new", False))
    for fact in correct_facts(rewrite, scope.facts):
        roles.append((fact, (), "target_true", fact.id in listed))
    return [
        Question(
            fact, scope.aliases.get(fact.object, ()), rewrite.paraphrases, there, role, is_listed
        )
        for fact, there, role, is_listed in roles
    ]


def _further(resolved: Resolved, what: str, questions: Sequence[Question]) -> list[ProbedFact]:
    """Additional probes (for implications, co-edits), by themselves: no other answer changes."""
    if not questions:
        return []
    questions = _named(resolved, questions)
    answers = _asked_once(resolved, what, questions)
    return [ProbedFact(q, answer) for q, answer in zip(questions, answers, strict=True)]


def _post(
    resolved: Resolved, effect: EditEffect, *groups: list[ProbedFact]
) -> list[list[ProbedFact]]:
    """Step 4: the same questions, asked of the edited model; it is restored on every way out.

    Each group is probed by itself, as it was before the edit.

    An effect that changes nothing leaves the answers as they are. Asked again in other batches, a
    likelihood differs in its last bits, and the control would miss 1 by rounding.
    """
    from ...editing.deltas import applied

    if effect.changes_nothing:
        return [[ProbedFact(p.question, p.pre, p.pre) for p in group] for group in groups]
    loaded = resolved.model.loaded
    with applied(loaded.model, effect):
        return [_asked_after(resolved, effect, group) if group else [] for group in groups]


def _asked_after(
    resolved: Resolved, effect: EditEffect, group: Sequence[ProbedFact]
) -> list[ProbedFact]:
    beside = group[0].question.role in BESIDE
    answers = probe(
        resolved.model.loaded,
        [probed.question for probed in group],
        side_effects.settings_of(resolved) if beside else resolved.request.probe,
        prompt_change=effect.prompt_change,
        progress=resolved.runtime.progress,
    )
    return [
        ProbedFact(probed.question, probed.pre, answer)
        for probed, answer in zip(group, answers, strict=True)
    ]
