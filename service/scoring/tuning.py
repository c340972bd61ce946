"""Tune a method for a model: the least damage at which edits of known facts take.

One number, the strength, scales the keys that decide how far a method goes (`KNOBS`); 1 is where
the search begins. A setting is tried on `FACTS` known facts, one edit each, until it is known to
miss: mean efficacy `REACHED`, and `LEAST` for each fact, at a KL divergence that is no damage, and
with the facts around it kept. The strength is halved or doubled until one setting reaches and one
misses, then bisected on a log scale. The best setting edits `HELD_OUT` further facts once: it
reached only if each of them takes too. Nothing of it is stored as a score.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from ...editing import hparams, registry
from ...editing.errors import EditFailedError
from ...loaders.records import Fact, RewriteRequest, digest, unique
from .. import __version__
from ..base.errors import UsageError
from ..base.formatting import pluralize, short
from ..graphs import datasets
from . import damage, model_graph
from . import plan as planning
from .chat import settled
from .hyperparameters import Chosen, Tuned, chosen, store_tuned, tuned_for
from .probe import Question, edited_facts, probe
from .request import ScoreRequest, probe_settings
from .resolved import Resolved, resolve

if TYPE_CHECKING:
    from ..models.edit import EditOptions
    from .runtime import Runtime


FACTS, HELD_OUT = 5, 2
EDITS = 12
"""Edits of a method at most, those of held-out facts included. Writing a target that was found
before into the weights once more costs little, and does not count."""
SETTINGS = 8
"""Settings of a method at most."""
KNOWN = 0.2
"""Least probability of a fact that is edited."""
REACHED, LEAST = 0.9, 0.5
"""Mean efficacy that a setting must reach, and that of each fact."""
CLOSE = 1.2
"""Ratio of two strengths between which no further one is tried."""
RUIN = next(line for line, word in damage.LINES if word == "damaged")
"""KL divergence from which on a setting ruins the model."""
AROUND = 20
"""Known facts with the subject or the old object at one end, at most, that are asked again."""

Values = Mapping[str, Any]


class Outcome(NamedTuple):
    """The result of one edit.

    Attributes:
        kl: mean KL divergence a token; None where each text names the subject.
        kept: mean of min(r, 1/r), r = p_post / p_pre, of known facts around it; None without one.
    """

    efficacy: float
    kl: float | None
    kept: float | None = None


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _step(values: Values, strength: float) -> dict[str, float]:
    key = "v_lr" if values.get("v_step") is None else "v_step"
    return {key: _rounded(values[key] * strength)}


def _rome(values: Values, strength: float) -> dict[str, float]:
    """The size of a step towards the target vector."""
    return _step(values, strength)


def _memit(values: Values, strength: float) -> dict[str, float]:
    """λ, by the odds of the share that the update reaches; above 1 the step too."""
    steps = _step(values, strength) if strength > 1 else {}
    share = values.get("update_share")
    if share is None:
        return steps | {"mom2_update_weight": _rounded(values["mom2_update_weight"] / strength**2)}
    odds = share / (1 - share) * strength**2
    return steps | {"update_share": _rounded(odds / (1 + odds))}


def _alphaedit(values: Values, strength: float) -> dict[str, float]:
    """The size of the null space; above 1 the step too."""
    steps = _step(values, strength) if strength > 1 else {}
    rank = values.get("nullspace_rank")
    if rank is not None:
        return steps | {"nullspace_rank": _rounded(max(0.02, 1 - (1 - rank) / strength**0.5))}
    given = values.get("nullspace_threshold") is not None
    key = "nullspace_threshold" if given else "nullspace_relative"
    return steps | {key: _rounded(values[key] * strength)}


def _fine_tuning(values: Values, strength: float) -> dict[str, float]:
    """Learning rate and, where there is one, the bound on the change of a weight."""
    bound = values.get("norm_constraint")
    bounded = {"norm_constraint": _rounded(bound * strength)} if bound else {}
    return {"lr": _rounded(values["lr"] * strength)} | bounded


def _ultraedit(values: Values, strength: float) -> dict[str, float]:
    """The size of the value updates."""
    key = "eta" if values.get("value_length") is None else "value_length"
    return {key: _rounded(values[key] * strength)}


KNOBS: dict[str, Callable[[Values, float], dict[str, float]]] = {
    "rome": _rome,
    "memit": _memit,
    "alphaedit": _alphaedit,
    "fine_tuning": _fine_tuning,
    "ultraedit": _ultraedit,
}
"""Method → the keys that a strength changes, with their values. Of others nothing is tuned."""


def _mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are defined; None without one."""
    found = [value for value in values if value is not None]
    return fmean(found) if found else None


@dataclass(slots=True)
class Trial:
    """One setting, as far as it was tried.

    Attributes:
        outcomes: by number of the fact.
        failed: the method's error, where it has one.
    """

    strength: float
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    failed: str | None = None

    @property
    def efficacy(self) -> dict[int, float]:
        """Efficacy by number of the fact."""
        return {place: outcome.efficacy for place, outcome in self.outcomes.items()}

    @property
    def mean(self) -> float:
        """Mean efficacy over the facts that were edited; 0 without one."""
        return _mean(self.efficacy.values()) or 0.0

    @property
    def mean_kl(self) -> float | None:
        """Mean KL divergence over the facts where it is defined."""
        return _mean(outcome.kl for outcome in self.outcomes.values())

    @property
    def kept(self) -> float | None:
        """Mean over the facts of what is kept around them, where it is defined."""
        return _mean(outcome.kept for outcome in self.outcomes.values())

    @property
    def ruins(self) -> bool:
        """True if the mean KL divergence is damage, or the facts around are lost."""
        lost = self.kept is not None and self.kept < damage.LOST_AROUND
        return lost or (self.mean_kl or 0.0) >= RUIN

    def misses(self, n: int) -> bool:
        """Return True if no efficacy of the facts that are left can let the setting reach."""
        if self.failed:
            return True
        values = self.efficacy.values()
        return min(values, default=1.0) < LEAST or sum(values) + n - len(values) < REACHED * n

    def reaches(self, n: int) -> bool:
        """Return True if all facts were edited, and well enough, without ruin."""
        return len(self.efficacy) == n and not self.misses(n) and not self.ruins


@dataclass
class Search:
    """A search over strengths; what it has found stays when it is interrupted.

    Attributes:
        edit: (strength, number of the fact) → outcome.
        is_found: (strength, number of the fact) → True if the edit has to find no target.
        budget: edits that find a target.
        spent: those so far.
    """

    edit: Callable[[float, int], Outcome]
    is_found: Callable[[float, int], bool]
    n: int = FACTS
    budget: int = EDITS - HELD_OUT
    trials: list[Trial] = field(default_factory=list)
    spent: int = 0

    @property
    def best(self) -> Trial | None:
        """The setting of the least KL divergence that reaches; None as long as none does."""
        reached = [trial for trial in self.trials if trial.reaches(self.n)]
        return min(reached, key=lambda trial: trial.mean_kl or 0.0, default=None)

    @property
    def nearest(self) -> Trial | None:
        """Where none reaches: the setting of the highest efficacy that does not ruin the model."""
        whole = [trial for trial in self.trials if trial.efficacy]
        gentle = [trial for trial in whole if not trial.ruins] or whole
        return max(gentle, key=lambda trial: (trial.mean, len(trial.efficacy)), default=None)

    def run(self) -> None:
        """Try settings until the budget is spent, or the strength is known closely enough."""
        low = high = None  # a strength that misses, and one that reaches or goes too far
        strength = 1.0
        while len(self.trials) < SETTINGS:
            order = self._order()
            needed = sum(not self.is_found(strength, place) for place in order)
            if self.spent + needed > self.budget:
                return
            if self._try(strength, order):
                high = strength
            else:
                low = strength
            if low is None or high is None:
                strength = strength / 2 if low is None else strength * 2
            elif max(high / low, low / high) < CLOSE:
                return
            else:
                strength = (low * high) ** 0.5

    def _order(self) -> list[int]:
        """The facts that were edited worst come first: they end a setting that misses."""
        seen = {place: value for trial in self.trials for place, value in trial.efficacy.items()}
        return sorted(range(self.n), key=lambda place: (seen.get(place, 1.0), place))

    def _try(self, strength: float, order: Sequence[int]) -> bool:
        """Try a setting; returns True if a gentler one is to be tried next."""
        best, trial = self.best, Trial(strength)
        self.trials.append(trial)
        most = RUIN if best is None else (best.mean_kl or 0.0)
        for place in order:
            new = not self.is_found(strength, place)
            try:
                trial.outcomes[place] = self.edit(strength, place)
            except EditFailedError as error:
                trial.failed = error.detail
            self.spent += new
            if trial.failed:
                return strength > 1
            total = sum(outcome.kl or 0.0 for outcome in trial.outcomes.values())
            if trial.misses(self.n):
                return trial.ruins
            if total >= most * self.n:  # damage, or more than the best setting does
                return best is None
        return True


@dataclass(frozen=True)
class Plan:
    """The plan of a tuning: what is edited, and where each method begins.

    Attributes:
        rewrites: those that decide, then those that are held out.
        starts: by method.
        around: for each rewrite, known facts with its subject or its old object at one end, with
            their probabilities.
    """

    options: EditOptions
    rewrites: tuple[RewriteRequest, ...]
    starts: Mapping[str, Chosen]
    around: tuple[Mapping[Fact, float], ...]


def plan(
    runtime: Runtime, options: EditOptions, methods: Sequence[str], files: Mapping[str, str]
) -> Plan:
    """Choose the facts that are edited, and the values that each method begins with.

    Args:
        methods: of `KNOBS`.
        files: of hyperparameters, by method, that the search begins with.

    Raises:
        UsageError: the model knows too few facts of the graph.
        HparamsError: a file cannot be read.
    """
    dataset = datasets.get_or_import(runtime.db, options.graph)
    model = runtime.model_of(options, dataset)
    content = runtime.content_of(dataset)
    asking = probe_settings(options, options.seed)
    settings, _ = settled(runtime, dataset, model.loaded, asking)
    aliases = {entity.name: entity.aliases for entity in content.entities}
    asked = model_graph.asked_model(model, runtime.progress)
    stored = model_graph.ensure(runtime, dataset, asked, settings, content.facts, aliases)
    answers = model_graph.stored_answers(runtime, stored)
    p = {fact: answer.values["likelihood"] for fact, answer in answers.items()}
    known = {fact for fact, value in p.items() if value >= KNOWN}
    edited = {request.subject for request in datasets.list_rewrites(runtime.db, dataset.id)}
    found = rewrites_of(dataset.id, content.facts, known, edited, options.seed)
    if len(found) < FACTS + HELD_OUT:
        raise UsageError(
            f"{model.name} knows {pluralize(len(found), 'fact')} of {dataset.id} of different"
            f" subjects that can be edited (p of {KNOWN} or more); tuning needs"
            f" {FACTS + HELD_OUT}.",
            remedy="Tune on another graph; `thinkeval probe GRAPH --model MODEL` shows what the"
            " model knows.",
        )
    starts: dict[str, Chosen] = {}
    for method in methods:
        named = files.get(method)
        starts[method] = chosen(
            runtime,
            method,
            named or model.listed_as,
            {},
            name=None if named else model.name,
            config=lambda: model.loaded.model.config,
        )
    around = tuple(_around(rewrite, content.facts, p) for rewrite in found)
    return Plan(options.model_copy(update={"chat": settings.chat}), tuple(found), starts, around)


def _around(
    rewrite: RewriteRequest, facts: Sequence[Fact], p: Mapping[str, float]
) -> dict[Fact, float]:
    """Return the likeliest known facts around a rewrite, without those of its relation."""
    ends = {rewrite.subject, rewrite.target_true}
    near = [
        fact
        for fact in facts
        if ends & {fact.subject, fact.object}
        and (fact.subject, fact.relation) != (rewrite.subject, rewrite.relation)
        and p.get(fact.id, 0.0) >= KNOWN
    ]
    near.sort(key=lambda fact: (-p[fact.id], fact.id))
    return {fact: p[fact.id] for fact in near[:AROUND]}


def rewrites_of(
    graph: str, facts: Sequence[Fact], known: set[str], edited: set[str], seed: int
) -> list[RewriteRequest]:
    """Known facts to edit, each to another object of its relation; as many as tuning needs.

    Their subjects differ, and so do their relations as far as the graph has enough. Facts about
    subjects that the graph's own rewrites edit come last: scores are to be of other facts.

    Args:
        known: ids of facts.
        edited: subjects of the graph's rewrites.
    """
    objects: dict[str, list[str]] = {}
    answers: dict[tuple[str, str], set[str]] = {}
    for fact in facts:
        objects.setdefault(fact.relation, []).append(fact.object)
        answers.setdefault((fact.subject, fact.relation), set()).add(fact.object)
    left = [fact for fact in facts if fact.id in known]
    left = [fact for fact in left if len(answers[fact.subject, fact.relation]) == 1]
    left.sort(key=lambda fact: digest([seed, fact.id]))
    used: Counter[str] = Counter()
    found: list[RewriteRequest] = []
    while left and len(found) < FACTS + HELD_OUT:
        fact = min(left, key=lambda each: (used[each.relation], each.subject in edited))
        new = [o for o in unique(objects[fact.relation]) if o not in (fact.object, fact.subject)]
        if not new:
            left.remove(fact)
            continue
        target = random.Random(digest([seed, fact.id])).choice(sorted(new))
        used[fact.relation] += 1
        left = [each for each in left if each.subject != fact.subject]
        found.append(
            RewriteRequest(
                id=RewriteRequest.make_id(fact.subject, fact.relation, target),
                dataset=graph,
                prompt=fact.prompt,
                subject=fact.subject,
                relation=fact.relation,
                target_true=fact.object,
                target_new=target,
            )
        )
    return found


def tune(runtime: Runtime, planned: Plan, method: str, *, force: bool = False) -> Tuned:
    """Tune a method, and store the result; what is stored for this model and graph is found.

    Interrupted, it stores the best setting so far, without held-out facts.

    Raises:
        KeyboardInterrupt: no setting had reached the target; nothing is stored.
    """
    start = planned.starts[method]
    editor = registry.get(method)
    edits = [
        resolve(runtime, ScoreRequest.of(rewrite, planned.options, method="none"))
        for rewrite in planned.rewrites
    ]
    state, content = edits[0].model.loaded.info.digest, edits[0].dataset.digest
    stored = tuned_for(runtime.settings, method, state, content)
    if stored is not None and stored.content == content and not (force or stored.interrupted):
        return stored
    began, values = time.monotonic(), start.values.as_dict()
    corpus: list[str] = []

    def setting(strength: float) -> dict[str, Any]:
        return {} if strength == 1 else KNOBS[method](values, strength)

    def at(strength: float, place: int) -> Resolved:
        new = hparams.from_values(method, values, setting(strength), source="tuning")
        request = edits[place].request.model_copy(update={"method": method})
        return replace(
            edits[place], request=request, method=editor, hparams=new, chosen=Chosen(new)
        )

    def is_found(strength: float, place: int) -> bool:
        return planning.targets_key(at(strength, place)) in runtime.targets

    def edit(strength: float, place: int) -> Outcome:
        best = search.best
        so_far = "no setting reaches .9 yet"
        if best is not None:
            so_far = f"best {short(best.mean)} at KL {short(best.mean_kl)}"
        runtime.progress(search.spent, EDITS, f"tuning {method}: {so_far}")
        outcome, name = measured(at(strength, place), planned.around[place])
        corpus[:] = [name] if name else []
        return outcome

    search = Search(edit, is_found)
    held_out: list[float] = []
    interrupted = False
    try:
        search.run()
        if (best := search.best) is not None:
            for place in range(FACTS, FACTS + HELD_OUT):
                search.spent += 1
                held_out.append(_efficacy(edit, best.strength, place))
    except KeyboardInterrupt:
        if search.best is None:
            raise
        held_out, interrupted = [], True
    runtime.progress(EDITS, EDITS, f"tuning {method}")
    trial = search.best or search.nearest
    if trial is None:
        failed = next(trial.failed for trial in search.trials)
        raise EditFailedError(f"{method} could not be tuned: {failed}")
    info = edits[0].model.loaded.info
    found = Tuned(
        method=method,
        model=edits[0].model.name,
        state=state,
        graph=edits[0].dataset.id,
        content=content,
        values=hparams.from_values(method, values, setting(trial.strength), source="").as_dict(),
        changed=setting(trial.strength),
        reached=len(held_out) == HELD_OUT and min(held_out) >= LEAST,
        efficacy=trial.mean,
        least=min(trial.efficacy.values()),
        n=len(trial.efficacy),
        kl=trial.mean_kl,
        kept=trial.kept,
        held_out=held_out,
        interrupted=interrupted,
        edits=search.spent,
        settings=len(search.trials),
        facts=[rewrite.id for rewrite in planned.rewrites],
        covariance=next(iter(corpus), None),
        seed=planned.options.seed,
        dtype=info.dtype,
        seconds=round(time.monotonic() - began, 1),
        version=__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return store_tuned(runtime.settings, found)


def _efficacy(edit: Callable[[float, int], Outcome], strength: float, place: int) -> float:
    """The efficacy on a fact; 0 where the method fails on it."""
    try:
        return edit(strength, place).efficacy
    except EditFailedError:
        return 0.0


def measured(resolved: Resolved, around: Mapping[Fact, float]) -> tuple[Outcome, str | None]:
    """Edit one fact: the outcome, and the source of the covariance, if any.

    The model is as it was afterwards.

    Args:
        around: facts that are asked again, with their probabilities before the edit.
    """
    from ...editing.deltas import applied

    planned = planning.plan_edit(resolved)
    effect = planning.execute(planned)
    rewrite, loaded = resolved.request.rewrite, resolved.model.loaded
    new = edited_facts(rewrite, ())[1]
    assert new is not None
    aliases = resolved.scope.aliases
    questions = [
        Question(new, aliases.get(new.object, ()), role="target_new", listed=False),
        *(Question(fact, aliases.get(fact.object, ()), listed=False) for fact in around),
    ]
    with applied(loaded.model, effect):
        answer, *after = probe(loaded, questions, resolved.request.probe)
    ratios = [
        each.values["likelihood"] / before
        for each, before in zip(after, around.values(), strict=True)
    ]
    kept = _mean(min(ratio, 1 / ratio) if ratio else 0.0 for ratio in ratios)
    changed = damage.measured(resolved, effect, [rewrite])
    corpus = planned.corpus.name if planned.layers else None
    return Outcome(answer.values["likelihood"], changed.kl, kept), corpus
