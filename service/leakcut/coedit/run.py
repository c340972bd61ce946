"""Co-edits: edit further facts together with a rewrite, score again, round by round.

    0 edit     the rewrite alone, scored as ever
    1 choose   further facts of the leak cut of the edit alone, with new objects that lead nowhere
    2 edit     all requests at once from the unedited model, never on top of an edit
    3 score    the first rewrite again, beside it the edited facts and those they moved
    … again    until the objective is met, nothing leaks, or more edits only cost

Each round is a stored edit, found by its id: run again, a co-edit resumes where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from ....cypher import rows
from ....loaders.records import Fact, RewriteRequest, slug
from ...experiments import store
from ...formatting import pluralize
from ...graphs import datasets
from ...schemas import Score
from ...scoring.probe import Question
from ...scoring.request import ScoreRequest, SequenceStep
from ...scoring.resolved import Resolved, resolve
from ...scoring.runtime import parse
from ...scoring.score import score_edit
from .. import leaks as reading
from .. import stored_keys
from ..cut import Constraints, Kind, constraints
from ..keys import Keys, by_subject, measure
from ..leaks import Leaks
from ..request import edit_cut
from ..schemas import CoEditIn, CoEditOut, RoundOut
from . import objective as objectives
from .batch import effect_of
from .check import anchored, check, id_of
from .choose import chosen
from .new_objects import NewObject, NewObjects, new_objects
from .rounds import KEPT, MEASURE, CoEdit, point

if TYPE_CHECKING:
    from ...leases import Lease
    from ...scoring.runtime import Runtime

JOINT = {"joint_targets": True}
"""Hyperparameter of a round with anchors: one target vector for all requests of a key."""

_NO_FACT = ("no further fact may be edited", "no other fact of the leak cut may be edited")

RISES = 2
"""After so many rounds in which IFR rose, no further one is tried."""


@dataclass
class _Run:
    """A co-edit under way."""

    runtime: Runtime
    posted: CoEditIn
    rewrite: RewriteRequest
    lease: Lease | None
    coedits: list[CoEdit] = field(default_factory=list)
    rounds: list[RoundOut] = field(default_factory=list)
    objects: NewObjects | None = None
    listed: frozenset[str] = frozenset()
    notes: list[str] = field(default_factory=list)


def co_edit(
    runtime: Runtime,
    posted: CoEditIn,
    rewrite: RewriteRequest,
    *,
    lease: Lease | None = None,
    report: Callable[[RoundOut], None] | None = None,
) -> CoEditOut:
    """Edit a rewrite and the other leaking facts, and store the frontier.

    Args:
        lease: of the worker that claimed it; it is checked before the frontier is stored.
        report: called with each round.

    Raises:
        UsageError: a request that appends, a method that edits nothing, a strength other than 1, an
            objective that cannot be read, a new object that opens a chain.
        GraphError, EditingError, ServiceError: as `score_edit`; rounds that were scored stay.
    """
    check(posted, rewrite)
    goal = objectives.parse(posted.objective) if posted.objective else None
    run = _Run(runtime, posted, rewrite, lease)
    score = score_edit(runtime, ScoreRequest.of(rewrite, posted))
    stopped = f"{pluralize(posted.rounds, 'round')}, the limit"
    for number in range(posted.rounds + 1):
        if number:
            if not (added := _add(run, score, number)):
                stopped = _NO_FACT[posted.choose == "listed"]
                break
            runtime.progress(number, posted.rounds, f"round {number}: {added} further facts")
            score = _scored(run)
        row = point(
            run.runtime.db, posted, score, number, run.coedits, run.rounds[:1], len(_anchors(run))
        )
        row.meets = goal.meets(row) if goal else None
        run.rounds.append(row)
        if report is not None:
            report(row)
        if reason := _end(run, row):
            stopped = reason
            break
    out = _outcome(run, score, goal, stopped)
    edits = [row.edit for row in out.rounds]
    store.save(runtime.db, "coedit", out, edits=edits, lease=lease)
    return out


def _add(run: _Run, score: Score, number: int) -> int:
    """Choose the facts of the next round; how many there are."""
    leaks = _leaks(run, score)
    if run.posted.choose == "listed" and not run.listed:
        cut = edit_cut(run.runtime.db, score, MEASURE, run.posted.cut)
        run.listed = frozenset(fact.id for fact in cut.facts)
    if run.objects is None:
        run.objects = new_objects(
            run.runtime.db,
            leaks,
            run.posted.cut.max_steps,
            given=run.posted.new,
            unknown=_unknown(run.posted.model),
        )
    limits = _limits(run, leaks)
    leaking = leaks.leaking(run.posted.cut.leak)
    before = len(run.coedits)
    for fact in chosen(leaks, limits, run.posted, number, leaking, run.listed):
        new = run.objects.take(fact)
        if new is None:
            continue  # two facts of this round had the same last object
        run.coedits.append(_co_edit(leaks.facts[fact], new, run.posted.graph, number))
    return len(run.coedits) - before


def _leaks(run: _Run, score: Score) -> Leaks:
    return reading.of_edit(run.runtime.db, score, MEASURE, run.posted.cut.max_steps)


def _limits(run: _Run, leaks: Leaks) -> Constraints:
    """Return the constraints of the next choice; a fact without a new object is locked."""
    assert run.objects is not None
    keys, kind = _keys(run, leaks)
    edited = [each.fact for each in run.coedits]
    limits = constraints(leaks, run.posted.cut, keys=keys, kind=kind, edited=edited)
    return replace(limits, locked={**run.objects.without, **limits.locked})


def _keys(run: _Run, leaks: Leaks) -> tuple[Keys | None, Kind]:
    """Measured keys for a method that writes at the subject's last token."""
    from ....editing import registry

    wanted = run.posted.cut.keys
    if wanted == "subject":
        return by_subject(leaks.records), "subject"
    if wanted == "off" or not registry.writes_at_subject(run.posted.method):
        return None, "off"
    request = ScoreRequest.of(run.rewrite, run.posted)
    resolved = resolve(run.runtime, request)
    if not getattr(resolved.hparams, "layers", None):
        return by_subject(leaks.records), "subject"
    keys = measure(run.runtime, resolved, leaks.records)
    if leaks.score is not None:
        stored_keys.write(run.runtime.db, leaks.score.edit, keys, leaks.facts)
    return keys, "measured"


def _unknown(model: str) -> str | None:
    """Return the answer of a model that was taught not to know."""
    if not parse(model).options.get("unknown"):
        return None
    from ....editing.organism.unknown import UNKNOWN

    return UNKNOWN


def _co_edit(row: rows.FactRow, new: NewObject, graph: str, number: int) -> CoEdit:
    fact = Fact(row.subject, row.relation, new.name, prompt=row.prompt)
    request = RewriteRequest(
        id=f"{slug(row.subject)[:40]}--{slug(row.relation)[:40]}--{slug(new.name)[:40]}",
        dataset=graph,
        prompt=row.prompt,
        subject=row.subject,
        relation=row.relation,
        target_true=row.object,
        target_new=new.name,
    )
    return CoEdit(row.fact, fact, new, request, number, row.object)


def _scored(run: _Run) -> Score:
    """The score of the rewrite with all co-edits so far, in one batch."""
    options = run.posted
    if anchored(options):
        options = options.model_copy(update={"overrides": {**options.overrides, **JOINT}})
    requests = (run.rewrite, *(each.request for each in run.coedits), *_anchors(run))
    request = ScoreRequest.of(run.rewrite, options)
    step = SequenceStep(
        requests,
        len(requests),
        "after",
        lambda: effect_of(run.runtime, options, requests),
        _questions(run, request),
    )
    return score_edit(run.runtime, request, step)


def _anchors(run: _Run) -> list[RewriteRequest]:
    """The other facts about the co-edited subjects, as requests for the objects they have."""
    if not anchored(run.posted):
        return []
    edited = {each.fact for each in run.coedits}
    subjects = {each.request.subject for each in run.coedits} - {run.rewrite.subject}
    dataset = datasets.dataset(run.runtime.db, run.posted.graph)
    return [
        RewriteRequest(
            id=f"anchor-{fact.id}",
            dataset=run.posted.graph,
            prompt=fact.prompt,
            subject=fact.subject,
            relation=fact.relation,
            target_true=fact.object,
            target_new=fact.object,
        )
        for fact in run.runtime.content_of(dataset).facts
        if fact.subject in subjects and fact.id not in edited
    ]


def _questions(run: _Run, request: ScoreRequest) -> tuple[Question, ...]:
    """The co-edits' new facts, and the other facts about their subjects that are not in scope."""
    resolved: Resolved = resolve(run.runtime, request)
    scope = resolved.scope
    known = {fact.id for fact in scope.facts}
    rewrite = run.rewrite
    for object_ in (rewrite.target_true, rewrite.target_new):
        known.add(Fact(rewrite.subject, rewrite.relation, object_, prompt=rewrite.prompt).id)
    new = {each.new.id: each.new for each in run.coedits if each.new.id not in known}
    subjects = {each.request.subject for each in run.coedits} - {rewrite.subject}
    beside = [
        fact
        for fact in run.runtime.content_of(resolved.dataset).facts
        if fact.subject in subjects and fact.id not in known and fact.id not in new
    ]
    aliases = scope.aliases
    return (
        *(
            Question(fact, aliases.get(fact.object, ()), role="coedit", listed=False)
            for fact in new.values()
        ),
        *(Question(fact, aliases.get(fact.object, ()), role="context") for fact in beside),
    )


def _end(run: _Run, row: RoundOut) -> str | None:
    """Return the reason why there is no further round; None while there is one."""
    if row.meets:
        return "the objective is met"
    if row.n_chains == 0:
        return "nothing to cut: the model knows no chain to the old object"
    if row.leaking == 0:
        return "no chain leaks"
    values = [each.ifr for each in run.rounds if each.ifr is not None]
    rises = [after > before for before, after in pairwise(values)]
    if len(rises) >= RISES and all(rises[-RISES:]):
        return f"IFR rose {RISES} times in a row"
    lost = [not each.reaches for each in run.rounds]
    if len(lost) > RISES and all(lost[-RISES:]):
        return f"the first edit was lost {RISES} times in a row"
    return None


def pick(rounds: Sequence[RoundOut], goal: objectives.Objective | None) -> int:
    """Number of the chosen round.

    The first that meets the objective; where none does, that with the fewest misses and then the
    lowest IFR. Without an objective that of the lowest IFR among those that keep the edit and .9 of
    Preservation over facts not edited; where none does, the edit alone.
    """
    if goal is not None:
        for row in rounds:
            if goal.meets(row):
                return row.number
        return min(rounds, key=lambda r: (goal.missed(r), _or_all(r.ifr), r.number)).number
    fit = [r for r in rounds if r.reaches and preserves(r)]
    return min(fit, key=lambda r: (_or_all(r.ifr), r.number)).number if fit else 0


def preserves(row: RoundOut) -> bool:
    """Return True if enough unedited facts are kept, or there are none to lose."""
    kept = row.preservation_unedited
    return row.n_preservation_unedited == 0 if kept is None else kept >= KEPT


def _or_all(ifr: float | None) -> float:
    return float("inf") if ifr is None else ifr


def _outcome(run: _Run, score: Score, goal: objectives.Objective | None, stopped: str) -> CoEditOut:
    number = pick(run.rounds, goal)
    return CoEditOut(
        id=id_of(run.runtime.db, run.posted, run.rewrite),
        graph=score.dataset,
        rewrite=run.rewrite.id,
        subject=score.subject,
        relation=score.relation,
        target_true=score.target_true,
        target_new=score.target_new,
        model=score.model,
        method=score.method,
        measure=MEASURE,
        request=run.posted.model_dump(mode="json", exclude={"force"}),
        rounds=run.rounds,
        chosen=number,
        met=run.rounds[number].meets,
        stopped=stopped,
        sequential=run.posted.method == "rome",
        refused=run.objects.refused if run.objects else [],
        notes=run.notes,
    )
