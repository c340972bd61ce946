"""Co-edits: edit further facts together with a rewrite, score again, round by round.

    0 edit     the rewrite alone, scored as ever
    1 choose   further facts of the leak cut of the edit alone, with new objects that lead nowhere
    2 edit     all requests at once from the unedited model, never on top of an edit
    3 score    the first rewrite again, beside it the edited facts and those they moved
    … again    until the objective is met, nothing leaks, or more edits only cost

Each round is a stored edit, found by its id: run again, a co-edit resumes where it stopped.
"""

from __future__ import annotations

import operator
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from ...cypher import rows
from ...editing import registry
from ...loaders.records import Fact, RewriteRequest, digest, slug
from .. import NUMBERS_VERSION
from ..base.errors import UsageError
from ..base.formatting import pluralize
from ..experiments import store
from ..graphs import datasets
from ..models.edit import Measure, Score
from ..models.leakcut import CoEditFact, CoEditIn, CoEditOut, RoundOut
from ..rules import implications
from ..rules.store import kept_rules
from ..scoring import method_inputs, metrics, templates
from ..scoring import plan as planning
from ..scoring.probe import Question
from ..scoring.request import ScoreRequest, SequenceStep
from ..scoring.resolved import Resolved, resolve
from ..scoring.runtime import parse as parse_model
from ..scoring.score import score_edit
from . import budget, hitting_set, keys
from . import leaks as reading
from .cut import Constraints, Kind, constraints
from .hitting_set import Chain
from .keys import Keys, by_subject, measure
from .leaks import Leaks, of_edit
from .request import edit_cut

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...editing.deltas import EditEffect
    from ..base.leases import Lease
    from ..models.edit import EditOptions
    from ..scoring.runtime import Runtime


COLUMNS = (
    "ifr", "efficacy", "coedit_efficacy", "preservation", "preservation_unedited",
    "subject_retention", "coedited_retention", "leaking", "surviving", "facts",
)  # fmt: skip
"""Values of a round that an objective may name."""

_COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_TERM = re.compile(r"\s*(\w+)\s*(<=|>=|<|>)\s*([-+.\deE]+)\s*")


@dataclass(frozen=True, slots=True)
class Term:
    """One comparison."""

    column: str
    sign: str
    bound: float

    def holds(self, row: RoundOut) -> bool:
        """Return True if a round meets it; an undefined value does not."""
        value = getattr(row, self.column)
        return value is not None and _COMPARE[self.sign](value, self.bound)


@dataclass(frozen=True, slots=True)
class Objective:
    """All comparisons have to hold."""

    terms: tuple[Term, ...]

    def meets(self, row: RoundOut) -> bool:
        """Return True if a round meets it."""
        return all(term.holds(row) for term in self.terms)

    def missed(self, row: RoundOut) -> int:
        """Number of comparisons that a round fails."""
        return sum(not term.holds(row) for term in self.terms)


def parse(text: str) -> Objective:
    """The objective of a text.

    Raises:
        UsageError: a part is no comparison of a round's value with a number.
    """
    terms = []
    for part in text.split(","):
        found = _TERM.fullmatch(part)
        if found is None or found[1] not in COLUMNS:
            raise UsageError(
                f"The objective {part.strip()!r} is no comparison of a round's value.",
                remedy=f'For example "ifr<=.1,preservation>=.95"; values: {", ".join(COLUMNS)}.',
            )
        try:
            terms.append(Term(found[1], found[2], float(found[3])))
        except ValueError:
            raise UsageError(
                f"{found[3]!r} in the objective is no number.", remedy="For example ifr<=.1."
            ) from None
    return Objective(tuple(terms))


# The identity of a co-edit; refusal of one that no round could follow.

WITH_JOINT_TARGETS = ("memit", "alphaedit", "rect", "prune")
"""Methods with the hyperparameter `joint_targets`."""


def id_of(db: Database, posted: CoEditIn, rewrite: RewriteRequest) -> str:
    """The id of a co-edit: the same for the same request of the same graph."""
    about = [
        posted.digested("rewrite"),
        rewrite.identity,
        datasets.dataset(db, posted.graph).digest,
        NUMBERS_VERSION,
    ]
    return f"coedit-{slug(posted.method)}-{slug(rewrite.subject)[:32]}-{digest(about, 10)}"


def anchored(posted: CoEditIn) -> bool:
    """Return True if the other facts about co-edited subjects are edited to their own objects."""
    return posted.method in WITH_JOINT_TARGETS if posted.anchors is None else posted.anchors


def check(posted: CoEditIn, rewrite: RewriteRequest) -> None:
    """Refuse a request that no round could follow.

    Raises:
        UsageError: see `co_edit`.
    """
    if rewrite.kind == "append":
        raise UsageError(
            f"{rewrite.id} appends an answer: no old fact can leak, so there is nothing to cut.",
            remedy=f"`thinkeval graph rewrites {posted.graph}` lists the rewrites.",
        )
    if rewrite.kind == "forget":
        raise UsageError(
            f"{rewrite.id} asks to forget, and names no new object that a co-edit could install.",
            remedy="`thinkeval lab leakcut EDIT` lists what else gives the old object away;"
            " forget that too.",
        )
    if posted.method == "none" or registry.info(posted.method).kind == "control":
        raise UsageError(
            f"{posted.method} is a control, which edits nothing for good.",
            remedy="Take an editing method, for example memit; `thinkeval model methods`"
            " lists them.",
        )
    if registry.forgets(posted.method):
        raise UsageError(
            f"{posted.method} makes a model forget and installs no object, so no fact follows.",
            remedy="Take a method that replaces, for example memit.",
        )
    if posted.strength != 1:
        raise UsageError("A co-edit edits as the method computes it, so its strength is 1.")
    if posted.anchors and posted.method not in WITH_JOINT_TARGETS:
        raise UsageError(
            f"{posted.method} has no joint target vectors, which anchors need.",
            remedy=f"Take {', '.join(WITH_JOINT_TARGETS)}, or leave out anchors.",
        )
    if posted.objective:
        parse(posted.objective)


# One update for several requests, computed from the unedited model.
#
# MEMIT and its family find a target vector for each request by itself: the vectors are found one
# request at a time, so that a round finds those of earlier rounds again, and the same numbers
# come out whether a run was interrupted or not.


def effect_of(
    runtime: Runtime, options: EditOptions, requests: Sequence[RewriteRequest]
) -> EditEffect:
    """The effect of editing all requests at once; the model is the same afterwards.

    A method without batches (ROME) edits them one after the other, in order.

    Raises:
        EditingError: a request cannot be edited.
    """
    plan = planning.plan_edit(resolve(runtime, ScoreRequest.of(requests[0], options)))
    resolved = plan.resolved
    loaded = resolved.model.loaded
    key = templates.key_of(resolved.model, options.method, resolved.hparams, options.seed)
    found: dict[str, Any] = {"context_templates": templates.stored(runtime, key)}
    apart = getattr(resolved.method, "TARGET_SITE", None) == "layer"
    if apart and not getattr(resolved.hparams, "joint_targets", False):
        targets: dict[str, Any] = {}
        for number, request in enumerate(requests):
            runtime.progress(number, len(requests), "target vectors")
            alone = planning.plan_edit(resolve(runtime, ScoreRequest.of(request, options)))
            effect = planning.execute(alone)
            targets |= effect.targets
            found = {"targets": targets, "context_templates": effect.templates}
    runtime.progress(0, 1, f"editing {pluralize(len(requests), 'fact')} with {options.method}")
    together = resolved.method.execute(
        loaded.model,
        loaded.tokenizer,
        list(requests),
        resolved.hparams,
        method_inputs.covariance_of(runtime, plan.corpus, resolved.model, plan.layers),
        state=planning.state_of(plan),
        seed=options.seed,
        **found,
    )
    templates.keep(runtime, key, together.templates)
    return together


def chosen(
    leaks: Leaks,
    limits: Constraints,
    posted: CoEditIn,
    number: int,
    leaking: Sequence[Chain],
    listed: Collection[str],
) -> list[str]:
    """The facts that a round adds, at most `per_round` unless a whole cut is chosen.

    Args:
        number: of the round; a random choice differs between rounds.
        leaking: paths above the request's `leak`.
        listed: facts of the leak cut of the edit alone.
    """
    free = {fact for chain in leaking for fact in chain.facts} - limits.locked.keys()
    if posted.choose == "cut":
        to_cut = limits.problem(leaking, posted.cut.efficacy)
        return list(hitting_set.cut(to_cut, limit_s=posted.cut.seconds).facts)
    problem = limits.problem(leaks.counted, posted.cut.efficacy)
    if posted.choose in ("listed", "budget"):
        if posted.choose == "listed":
            free &= frozenset(listed)
        others = frozenset(problem.facts) - free
        within = replace(problem, locked=problem.locked | others)
        return budget.greedy(within, posted.per_round, by_cost=True)
    order = sorted(free)
    if posted.choose == "random":
        random.Random(f"{posted.draw} {number}").shuffle(order)
    else:
        through = {fact: _through(problem.chains, fact) for fact in order}
        order.sort(key=lambda fact: (-through[fact], fact))
    return budget.first_allowed(problem, order, posted.per_round)


def _through(chains: Collection[Chain], fact: str) -> float:
    """Return the sum of the IFR terms of all chains that contain this fact."""
    return sum(chain.weight * chain.retention for chain in chains if fact in chain.facts)


# New objects of co-edits: none from which the old object can be reached, each its own if possible.
#
# In this order: the object that was given; the one that follows by an If-Then rule from the edit;
# another object of the same relation; the answer of a model taught not to know; another entity of
# the graph, of the same kind where it has kinds. A shared object makes a conflicting batch look
# installed, so an object is used again only where a fact has no other (there are few continents),
# and is shown as shared.

Source = Literal["given", "rule", "relation", "entity", "unknown", "shared"]


@dataclass(frozen=True, slots=True)
class NewObject:
    """The new object of a fact."""

    name: str
    source: Source


@dataclass
class NewObjects:
    """The objects that the facts on a rewrite's paths may get; `take` uses each once if it can.

    Attributes:
        refused: a line for each object or fact that was refused, with the reason.
        used: how many facts each object was given to.
    """

    found: Mapping[str, Sequence[NewObject]]
    refused: list[str] = field(default_factory=list)
    used: Counter[str] = field(default_factory=Counter)

    @property
    def without(self) -> dict[str, str]:
        """{fact: reason} of the facts that have no object: they cannot be edited."""
        return {
            fact: "every object leads on to the old one"
            for fact, objects in self.found.items()
            if not objects
        }

    def take(self, fact: str) -> NewObject:
        """The first object of a fact that no other has, else the one that fewest others have."""
        taken = min(self.found[fact], key=lambda each: self.used[each.name])
        self.used[taken.name] += 1
        shared = self.used[taken.name] > 1 and taken.source != "given"
        return replace(taken, source="shared") if shared else taken


def new_objects(
    db: Database,
    leaks: Leaks,
    max_steps: int,
    *,
    given: Mapping[str, str] | None = None,
    unknown: str | None = None,
) -> NewObjects:
    """The objects for each fact on the paths, best first.

    Args:
        given: {fact: object} by the user.
        unknown: the model's answer for unknown facts; None without one.

    Raises:
        UsageError: a given object opens a chain to the old object, is the object that the fact has
            already, or belongs to a fact that is on no path.
    """
    given = given or {}
    facts = list(leaks.facts)
    stray = sorted(given.keys() - leaks.facts.keys())
    if stray:
        raise UsageError(
            f"The fact {stray[0]!r} is on no chain, so it gets no new object.",
            remedy="`thinkeval lab leakcut … --json` lists the facts with their ids.",
        )
    safe = _safe(db, leaks, facts, max_steps)
    leading = _leading(db, leaks, max_steps, [*given.values()])
    due = _due(db, leaks)
    kinds = {
        row.name: row.kind for row in db.read(rows.EntityRow, "graph/entities", graph=leaks.dataset)
    }
    others = db.read(
        rows.HarmlessEntityRow,
        "leakcut/entities",
        graph=leaks.dataset,
        object=leaks.ends[1],
        max_steps=max_steps,
    )
    out: dict[str, list[NewObject]] = {}
    refused: dict[str, None] = {}
    for fact, row in zip(facts, safe, strict=True):
        about = leaks.facts[fact]
        label = f"{about.subject} | {about.relation}"
        refused |= dict.fromkeys(f"{label} → {name}: opens a chain" for name in row.refused)
        if fact in given:
            out[fact] = [_given(given[fact], leading, about)]
            continue
        follows = due.get((about.subject, about.relation))
        ranked = [NewObject(follows, "rule")] if follows in row.safe and follows else []
        ranked += [NewObject(name, "relation") for name in row.safe if name != follows]
        if unknown is not None:
            ranked.append(NewObject(unknown, "unknown"))
        ranked = [each for each in ranked if each.name != leaks.target_new]
        known = {about.subject, about.object, leaks.target_new, *row.safe}
        ranked += [
            NewObject(other.name, "entity")
            for other in others
            if other.kind == kinds.get(about.object) and other.name not in known
        ]
        if not ranked:
            refused[f"{label} → {about.object}: stays, as every entity leads on"] = None
        out[fact] = ranked
    return NewObjects(out, list(refused))


def _safe(
    db: Database, leaks: Leaks, facts: Sequence[str], max_steps: int
) -> list[rows.SafeObjectsRow]:
    """The safe objects of each fact in the data set's graph."""
    if not facts:
        return []
    asked = [
        {"subject": row.subject, "relation": row.relation, "object": row.object}
        for row in (leaks.facts[fact] for fact in facts)
    ]
    return db.read(
        rows.SafeObjectsRow, "leakcut/objects",
        graph=leaks.dataset, object=leaks.ends[1], max_steps=max_steps, facts=asked,
    )  # fmt: skip


def _leading(db: Database, leaks: Leaks, max_steps: int, names: Sequence[str]) -> set[str]:
    """Those of the given objects from which the old object can be reached, or that are it."""
    found = db.read(
        str, "leakcut/leading",
        graph=leaks.dataset, object=leaks.ends[1], max_steps=max_steps, names=list(names),
    )  # fmt: skip
    return {*found, leaks.ends[1]}


def _given(name: str, leading: set[str], about: rows.FactRow) -> NewObject:
    label = f"{about.subject} | {about.relation} | {about.object}"
    if name == about.object:
        raise UsageError(
            f"The new object of {label!r} is the one it has.", remedy="Give another with --new."
        )
    if name in leading:
        raise UsageError(
            f"{name!r} as the new object of {label!r} opens a chain to the old object.",
            remedy="Give one from which it cannot be reached, or none: one is found then.",
        )
    return NewObject(name, "given")


def _due(db: Database, leaks: Leaks) -> dict[tuple[str, str], str]:
    """Return {(subject, relation): object} of the edit's conclusions by the data set's rules."""
    rules = kept_rules(db, leaks.dataset)
    edited = (leaks.ends[0], leaks.relation, leaks.ends[1], leaks.target_new)
    found = implications.read(db, leaks.dataset, edited, rules)
    return {(r.subject, r.relation): r.conclusion for r in found if r.object == leaks.target_new}


# A round of co-edits as a point of the frontier, read off the stored edit.

MEASURE: Measure = "likelihood"
"""Of all figures: taken of every edit, and without sampling noise."""

KEPT = 0.9
"""A round counts only if the first request keeps this part of its efficacy alone; a round is chosen
without an objective only if Preservation over facts not edited is at least this."""


@dataclass(frozen=True, slots=True)
class CoEdit:
    """A further fact to edit, and its request.

    Attributes:
        fact: its id within the data set.
        new: id of the fact with its new object.
    """

    fact: str
    new: Fact
    object: NewObject
    request: RewriteRequest
    added: int
    old: str


def point(
    db: Database,
    posted: CoEditIn,
    score: Score,
    number: int,
    coedits: Sequence[CoEdit],
    first: Sequence[RoundOut],
    anchors: int,
) -> RoundOut:
    """A point of the frontier.

    Args:
        score: of the round's edit.
        coedits: of this round and all before it.
        first: the edit alone; empty where this is it.
        anchors: facts that were edited to the object they have.
    """
    leaks = of_edit(db, score, MEASURE, posted.cut.max_steps)
    cost = _cost(db, score, coedits)
    ifr = score.get("ifr", MEASURE)
    facts = [_described(each, found) for each, found in zip(coedits, cost.coedits, strict=True)]
    installed = [fact.new_post for fact in facts if fact.new_post is not None]
    preservation = score.get("preservation", MEASURE)
    efficacy = score.number("efficacy", MEASURE)
    before = first[0].efficacy if first else efficacy
    alive = metrics.chain_rows(db, score, MEASURE, surviving=True)
    return RoundOut(
        number=number,
        edit=score.edit,
        facts=1 + len(coedits),
        anchors=anchors,
        coedits=facts,
        ifr=ifr.value if ifr else None,
        ifr_low=ifr.low if ifr else None,
        ifr_high=ifr.high if ifr else None,
        n_chains=ifr.n if ifr else 0,
        leaking=sum(chain.retention > posted.cut.leak for chain in leaks.counted),
        surviving=len(alive),
        efficacy=efficacy,
        coedit_efficacy=sum(installed) / len(installed) if installed else None,
        n_coedits=len(installed),
        preservation=preservation.value if preservation else None,
        n_preservation=preservation.n if preservation else 0,
        preservation_unedited=cost.preservation,
        n_preservation_unedited=cost.n_preservation,
        **{name: getattr(cost, name) for name in rows.Retention.model_fields},
        opened=_opened(db, posted, score, coedits),
        reaches=None not in (efficacy, before) and (efficacy or 0) >= KEPT * (before or 0),
        seconds=round(sum(score.seconds.values()), 3),
    )


def _cost(db: Database, score: Score, coedits: Sequence[CoEdit]) -> rows.CoEditRoundRow:
    (found,) = db.read(
        rows.CoEditRoundRow,
        "leakcut/round",
        graph=score.edit,
        subject=score.subject,
        object=score.target_true,
        relation=score.relation,
        max_steps=score.options.max_steps,
        bare=score.options.bare,
        pre=f"{MEASURE}_pre",
        post=f"{MEASURE}_post",
        known=score.options.counted["known"],
        edited=[
            {"fact": each.fact, "new": each.new.id, "subject": each.request.subject}
            for each in coedits
        ],
    )
    return found


def _described(each: CoEdit, found: rows.CoEditedFact) -> CoEditFact:
    return CoEditFact(
        id=each.fact,
        subject=each.request.subject,
        relation=each.request.relation,
        object=each.old,
        prompt=each.request.prompt,
        target_new=each.object.name,
        source=each.object.source,
        added=each.added,
        old_pre=found.old_pre,
        old_post=found.old_post,
        new_pre=found.new_pre,
        new_post=found.new_post,
    )


def _opened(db: Database, posted: CoEditIn, score: Score, coedits: Sequence[CoEdit]) -> int:
    """Co-edits whose new object leads to the old one by the facts of the edit's graph."""
    names = [each.object.name for each in coedits]
    if not names:
        return 0
    found = db.read(
        str, "leakcut/leading",
        graph=score.edit, object=score.target_true, max_steps=posted.cut.max_steps, names=names,
    )  # fmt: skip
    return len(found)


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
    goal = parse(posted.objective) if posted.objective else None
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
    from ...editing import registry

    wanted = run.posted.cut.keys
    if wanted == "subject":
        return by_subject(leaks.records), "subject"
    if wanted == "off" or not registry.writes_at_subject(run.posted.method):
        return None, "off"
    request = ScoreRequest.of(run.rewrite, run.posted)
    resolved = resolve(run.runtime, request)
    if not getattr(resolved.hparams, "layers", None):
        return by_subject(leaks.records), "subject"
    measured = measure(run.runtime, resolved, leaks.records)
    if leaks.score is not None:
        keys.write(run.runtime.db, leaks.score.edit, measured, leaks.facts)
    return measured, "measured"


def _unknown(model: str) -> str | None:
    """Return the answer of a model that was taught not to know."""
    if not parse_model(model).options.get("unknown"):
        return None
    from ...editing.organism.unknown import UNKNOWN

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


def pick(rounds: Sequence[RoundOut], goal: Objective | None) -> int:
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


def _outcome(run: _Run, score: Score, goal: Objective | None, stopped: str) -> CoEditOut:
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
