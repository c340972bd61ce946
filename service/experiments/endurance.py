"""Long sequences: thousands of edits of one model, its health at intervals, an alarm at a limit.

The sequence begins with the rewrites whose IFR and Preservation are followed (`Plan.followed`), one
request each. All later requests are generated (`generated`): round by round, every subject and
relation of the graph is edited once, to another object than the round before. The facts that are
followed, and those on the chains of the followed rewrites, are never edited again; so what is
measured on them is what the other edits did to them.

The updates so far, the method's state and the measured points are on disk (`deltas.progress`); a
killed sequence resumes there and finds the same numbers, as each batch depends on these alone.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ...loaders.records import Fact, KnowledgeGraph, RewriteRequest, digest, unique
from ..base.errors import UsageError
from ..base.formatting import pluralize
from ..reports.gate import Limit, misses
from ..scoring import method_inputs
from ..scoring import plan as planning
from ..scoring.probe import Question, probe
from ..scoring.request import ScoreRequest, SequenceStep
from ..scoring.resolved import facts_in_scope, resolve
from ..scoring.score import score_edit

if TYPE_CHECKING:
    from ...editing.deltas import EditEffect
    from ...editing.deltas.progress import Progress
    from ..models.edit import EditOptions, Score
    from ..scoring.plan import Plan as EditPlan
    from ..scoring.runtime import Runtime

METRICS = ("efficacy", "newest", "ifr", "preservation", "kept")
"""Values of a point; each can have a limit."""
KEPT = 0.5
"""A fact that has this fraction of its probability of before is kept."""
DIGITS = 12
"""Decimals of IFR and Preservation."""
HELD_OUT = 200
"""Facts that are never edited and asked at each point, at most."""

Pair = tuple[str, str]
"""Subject and relation."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A long sequence.

    Attributes:
        options: of each edit.
        followed: rewrites whose IFR and Preservation are measured at each point; edited first.
        edits: number of edits.
        batch: edits that are made together.
        every: edits between two points.
        sample: subject-relation pairs whose newest edit is asked at each point, at most.
        save_every: edits between two writes of the progress; a point is written too.
    """

    options: EditOptions
    followed: tuple[RewriteRequest, ...]
    edits: int
    batch: int
    every: int
    sample: int
    save_every: int


@dataclass(frozen=True, slots=True)
class Point:
    """The model's health after so many edits; each value with the number it is over.

    Attributes:
        efficacy: mean p(new) of the pairs in the sample that were edited, by the newest edit of
            each; without those of `newest`.
        newest: mean p(new) of the last batch.
        ifr: IFR of the followed rewrites over their chains (`n_ifr`), pooled.
        preservation: mean Preservation of the followed rewrites (`n_preservation`).
        kept: fraction of the known facts that are never edited which are kept.
    """

    edits: int
    efficacy: float | None
    n_efficacy: int
    newest: float | None
    n_newest: int
    ifr: float | None
    n_ifr: int
    preservation: float | None
    n_preservation: int
    kept: float | None
    n_kept: int


@dataclass(frozen=True, slots=True)
class Endurance:
    """A long sequence, as far as it went.

    Attributes:
        pairs: subject-relation pairs that generated requests edit.
        resumed: edits that were found on disk.
        alarms: the limits that the first point to miss any misses, in words; empty if none did.
    """

    method: str
    model: str
    edits: int
    pairs: int
    resumed: int
    points: list[Point]
    alarms: list[str]


def generated(
    graph: KnowledgeGraph, reserved: set[Pair], n: int, seed: int
) -> list[RewriteRequest]:
    """N requests: in each round every pair of the graph once, in an order drawn anew.

    The new object is drawn from the objects of the relation other than the pair's own and that of
    the round before; where there are fewer than two, from all objects of the graph. `target_true`
    is the graph's object in every round.

    Raises:
        UsageError: no pair is left.
    """
    own: dict[Pair, list[Fact]] = {}
    for fact in graph.facts:
        if (fact.subject, fact.relation) not in reserved:
            own.setdefault((fact.subject, fact.relation), []).append(fact)
    if not own:
        raise UsageError(
            f"No fact of {graph.name!r} is left to edit: all are followed, or on followed chains.",
            remedy="Name fewer rewrites, shorten chains with --max-steps, or use a larger graph.",
        )
    objects = {
        relation: unique(sorted(f.object for f in graph.facts if f.relation == relation))
        for _, relation in own
    }
    every = unique(sorted(fact.object for fact in graph.facts))
    draw, pairs, last = random.Random(seed), sorted(own), dict.fromkeys(own, "")
    found: list[RewriteRequest] = []
    while len(found) < n:
        draw.shuffle(pairs)
        for pair in pairs[: n - len(found)]:
            used = {last[pair], pair[0], *(fact.object for fact in own[pair])}
            choice = [each for each in objects[pair[1]] if each not in used]
            if len(choice) < 2:
                choice = [each for each in every if each not in used]
            if not choice:
                raise UsageError(f"{graph.name!r} has too few objects to edit facts to others.")
            last[pair] = draw.choice(choice)
            fact = own[pair][0]
            found.append(
                RewriteRequest(
                    id=f"edit-{len(found) + 1}", dataset=graph.name, prompt=fact.prompt,
                    subject=fact.subject, relation=fact.relation, target_true=fact.object,
                    target_new=last[pair],
                )
            )  # fmt: skip
    return found


@dataclass(frozen=True, slots=True)
class _Step(SequenceStep):
    """A followed rewrite at a point; thousands of requests are named by their digest."""

    made: int = 0
    made_digest: str = ""

    @property
    def identity(self) -> dict[str, object]:
        """The values that differ from the same rewrite edited alone or elsewhere in a sequence."""
        return {"endurance": self.made_digest, "edited": self.made, "batch": self.batch}

    @property
    def about(self) -> dict[str, object]:
        """For the record; the followed rewrites are the first of the requests."""
        ids = [request.id for request in self.requests]
        return {"when": self.when, "edited": self.made, "batch": self.batch, "requests": ids}


class _Run:
    """One sequence with everything that its points are measured with."""

    def __init__(self, runtime: Runtime, wanted: Plan) -> None:
        self.runtime, self.wanted = runtime, wanted
        options = wanted.options
        first = ScoreRequest.of(wanted.followed[0], options)
        self.plan: EditPlan = planning.plan_edit(resolve(runtime, first))
        resolved = self.plan.resolved
        graph = runtime.content_of(resolved.dataset)
        self.aliases = resolved.scope.aliases
        reserved: set[Pair] = set()
        for rewrite in wanted.followed:
            scope = facts_in_scope(runtime.db, ScoreRequest.of(rewrite, options))
            reserved |= {(fact.subject, fact.relation) for fact in scope.facts}
            reserved.add((rewrite.subject, rewrite.relation))
        rest = generated(graph, reserved, max(0, wanted.edits - len(wanted.followed)), options.seed)
        self.requests = [*wanted.followed, *rest][: wanted.edits]
        pairs = sorted({_pair(each) for each in rest})
        self.n_pairs = len(pairs)
        draw = random.Random(options.seed)
        self.sample = set(draw.sample(pairs, min(wanted.sample, len(pairs))))
        untouched = sorted(
            (f for f in graph.facts if (f.subject, f.relation) not in {*map(_pair, self.requests)}),
            key=lambda fact: fact.id,
        )
        self.held = [
            Question(fact, self.aliases.get(fact.object, ()))
            for fact in draw.sample(untouched, min(HELD_OUT, len(untouched)))
        ]
        self.known: list[tuple[Question, float]] | None = None
        self.id = digest(
            [
                self.plan.identity, [r.identity for r in self.requests], wanted.batch,
                wanted.every, wanted.sample,
            ],
            16,
        )  # fmt: skip

    @property
    def path(self) -> Path:
        """The file of the progress."""
        return self.runtime.settings.home / "endurance" / f"{self.id}.safetensors"

    def batches(self) -> list[list[RewriteRequest]]:
        """The requests, those of a batch together."""
        size = self.wanted.batch
        return [self.requests[i : i + size] for i in range(0, len(self.requests), size)]

    def effects(self, begun: Progress | None) -> Iterator[EditEffect]:
        """The cumulative effect after each batch that is not on disk."""
        from ...editing.sequence import edit_in_sequence

        plan, resolved = self.plan, self.plan.resolved
        done = begun.batches if begun else 0
        model = resolved.model
        return edit_in_sequence(
            model.loaded.model,
            model.loaded.tokenizer,
            self.batches()[done:],
            resolved.method,
            resolved.hparams,
            method_inputs.covariance_of(self.runtime, plan.corpus, model, plan.layers),
            state=planning.state_of(plan, self.wanted.followed),
            seed=self.wanted.options.seed,
            before=begun.effect if begun else None,
            done=done,
        )

    def point(self, made: int, effect: EditEffect) -> Point:
        """The model's health after the first `made` requests."""
        from ...editing.deltas import applied

        loaded = self.plan.resolved.model.loaded
        before = self._known()
        last = self.requests[max(0, made - self.wanted.batch) : made]
        new = {_pair(each) for each in last}
        newest = {_pair(each): each for each in self.requests[:made]}
        old = [newest[pair] for pair in sorted(self.sample - new) if pair in newest]
        with applied(loaded.model, effect):
            efficacy = self._p([self._about(each) for each in old])
            latest = self._p([self._about(each) for each in last])
            after = self._p([question for question, _ in before])
        kept = [now >= KEPT * was for now, (_, was) in zip(after, before, strict=True)]
        scores = self._scores(made, effect)
        return Point(
            made,
            *_mean(efficacy),
            *_mean(latest),
            *_pooled(scores),
            *_mean([bool(each) for each in kept]),
        )

    def _scores(self, made: int, effect: EditEffect) -> list[Score]:
        """The followed rewrites that were edited by now, scored on the edited model."""
        followed = self.wanted.followed[:made]
        options = self.wanted.options.model_copy(update={"side_effects": False})
        named = digest([request.identity for request in self.requests[:made]])
        step = _Step(followed, self.wanted.batch, "end", lambda: effect, (), made, named)
        return [score_edit(self.runtime, ScoreRequest.of(each, options), step) for each in followed]

    def _known(self) -> list[tuple[Question, float]]:
        """The facts that are never edited and that the unedited model knows, with p."""
        if self.known is None:
            found = zip(self.held, self._p(self.held), strict=True)
            self.known = [(q, p) for q, p in found if p >= self.wanted.options.known]
        return self.known

    def _about(self, request: RewriteRequest) -> Question:
        """The question whether the new object of a request is the answer."""
        fact = Fact(request.subject, request.relation, request.target_new, request.prompt)
        return Question(fact, self.aliases.get(fact.object, ()), role="target_new", listed=False)

    def _p(self, questions: Sequence[Question]) -> list[float]:
        if not questions:
            return []
        settings = replace(self.plan.resolved.request.probe, measures=("likelihood",))
        loaded = self.plan.resolved.model.loaded
        return [each.values["likelihood"] for each in probe(loaded, questions, settings)]


def run(
    runtime: Runtime, wanted: Plan, limits: Sequence[Limit] = (), *, force: bool = False
) -> Endurance:
    """Edit, measure and store; resume with what is on disk.

    Args:
        limits: on `METRICS`; the first point that misses one is the last.
        force: begin anew.

    Raises:
        UsageError: no edits, no followed rewrite, or no pair that can be edited.
        EditingError: a request cannot be edited; or what is on disk is damaged.
    """
    if not wanted.followed or min(wanted.edits, wanted.batch, wanted.every) < 1:
        raise UsageError("A long sequence needs a rewrite to follow and at least one edit.")
    if wanted.every % wanted.batch or wanted.save_every % wanted.batch:
        raise UsageError(
            f"The model is looked at every {wanted.every} edits, and saved every"
            f" {wanted.save_every}; {wanted.batch} are made together.",
            remedy="Make --every and --save-every multiples of --batch.",
        )
    from ...editing.deltas import progress
    from ...editing.deltas.progress import Progress

    going = _Run(runtime, wanted)
    if force:
        going.path.unlink(missing_ok=True)
    begun = progress.read(going.path, going.id)
    points = [Point(**each) for each in begun.about["points"]] if begun else []
    made = min(begun.batches * wanted.batch, wanted.edits) if begun else 0
    resumed = made

    def ended() -> Endurance:
        model = going.plan.resolved.model.name
        found = alarms(points, limits)
        return Endurance(wanted.options.method, model, made, going.n_pairs, resumed, points, found)

    if resumed:
        runtime.log(f"{pluralize(resumed, 'edit')} found on disk")
    if made >= wanted.edits or alarms(points, limits):
        return ended()
    runtime.progress(made, wanted.edits, "edits")
    for number, effect in enumerate(going.effects(begun), start=begun.batches if begun else 0):
        made = min((number + 1) * wanted.batch, wanted.edits)
        looked = made % wanted.every == 0 or made == wanted.edits or number == 0
        if looked:
            points.append(going.point(made, effect))
            runtime.log(f"after {pluralize(made, 'edit')}: {in_brief(points[-1])}")
        if looked or made % wanted.save_every == 0:
            about: dict[str, Any] = {"points": [asdict(each) for each in points]}
            progress.write(going.path, going.id, Progress(number + 1, effect, about))
        runtime.progress(made, wanted.edits, "edits")
        if looked and alarms(points, limits):
            break
    return ended()


def alarms(points: Sequence[Point], limits: Sequence[Limit]) -> list[str]:
    """The limits that the first point to miss any misses, in words.

    At the first point nothing is old yet, so a limit on what is undefined there is not missed.
    """
    for place, point in enumerate(points):
        values = asdict(point)
        checked = [each for each in limits if place or values[each.metric] is not None]
        if found := misses(values, checked):
            return [f"after {pluralize(point.edits, 'edit')} {each}" for each in found]
    return []


def in_brief(point: Point) -> str:
    """The values of a point in one line."""
    values = ((name, getattr(point, name), getattr(point, f"n_{name}")) for name in METRICS)
    return ", ".join(f"{name} {_shown(value)} over {n}" for name, value, n in values)


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _pair(request: RewriteRequest) -> Pair:
    return request.subject, request.relation


def _mean(values: Sequence[float]) -> tuple[float | None, int]:
    return (fmean(values), len(values)) if values else (None, 0)


def _pooled(scores: Sequence[Score]) -> tuple[float | None, int, float | None, int]:
    """IFR over all chains and mean Preservation of scores, each with the number it is over."""
    from ..reports.pooling import POOLED, pooled, terms

    values = dict(zip(POOLED, pooled(terms(scores, "likelihood")), strict=True))
    ifr, preservation = (values[name] for name in ("ifr", "preservation"))
    defined = [
        {name: found.n for name in ("ifr", "preservation")
         if (found := score.get(name, "likelihood")) is not None and found.value is not None}
        for score in scores
    ]  # fmt: skip
    chains = sum(each.get("ifr", 0) for each in defined)
    kept = sum("preservation" in each for each in defined)
    return _rounded(ifr), chains, _rounded(preservation), kept


def _rounded(value: float) -> float | None:
    """A value that the database summed: in an order of its own, so that its last bits vary."""
    return None if math.isnan(value) else round(float(value), DIGITS)
