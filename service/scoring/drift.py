"""Drift: how far two states of a model differ on the facts of a graph, by relation and distance.

A comparison asks both states for all facts. A score asks the edited model, by likelihood, for the
facts that the unedited one knows: those on chains and about the subject are asked anyway, the
others here. They are stored in the edit's graph with the role `outside`, which no chain passes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...cypher import rows
from ...loaders.records import Fact
from ..graphs.edges import KEPT_RATIO, LOST_RATIO
from ..models.edit import KNOWN, DriftLine, DriftOut, KnownDrift, Measure, SideEffects
from . import model_graph
from .probe import EXACT, Answer, ProbedFact, Question, probe_with
from .side_effects import settings_of

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...editing.deltas import EditEffect
    from ...loaders.records import RewriteRequest
    from .resolved import Resolved

DISTANCES = {
    0: "0 steps: facts with the subject at one end",
    1: "1 step",
    2: "2 steps",
    3: "3 steps and more, or not connected",
}
"""Labels of distances."""
ALL = "all facts"
FAR = "2 steps and more"


def drift(
    db: Database,
    graph: str,
    measure: Measure,
    subjects: Sequence[str],
    known: float = KNOWN,
    *,
    around: str | None = None,
    edited: Sequence[str] = (),
    known_before: bool = False,
) -> DriftOut:
    """The drift over a stored graph that has the probabilities of both states.

    Args:
        subjects: of the requests; distances are counted from them.
        known: probability from which a fact counts as known.
        around: the graph that has the facts, and their distances; None: the same.
        edited: ids of facts that do not count.
        known_before: count only facts that the first state knows.
    """
    found = db.read(
        rows.DriftRow,
        "states/drift",
        graph=graph,
        around=graph if around is None else around,
        subjects=sorted(set(subjects)),
        edited=list(edited),
        known_before=known_before,
        pre=f"{measure}_pre",
        post=f"{measure}_post",
        known=known,
        kept=KEPT_RATIO,
        lost=LOST_RATIO,
    )
    lines: dict[str, list[DriftLine]] = {"all": [], "far": [], "distance": [], "relation": []}
    for row in found:
        label = row.relation or (ALL if row.by == "all" else FAR)
        if row.distance is not None:
            label = DISTANCES[row.distance]
        counts = row.model_dump(exclude={"by", "relation", "distance"})
        lines[row.by].append(DriftLine(label=label, **counts))
    return DriftOut(
        total=next(iter(lines["all"]), NOTHING),
        far=next(iter(lines["far"]), None),
        by_distance=lines["distance"],
        by_relation=lines["relation"],
    )


NOTHING = DriftLine(
    label=ALL, n=0, missing=0, kept=0, weakened=0, replaced=0, lost=0, added=0, unknown=0,
    mean_moved=None, mean_shift=None,
)  # fmt: skip
"""The drift of a graph without a fact that counts."""


@dataclass(frozen=True, slots=True)
class Outside:
    """Known facts of the graph that are asked for no other number of a score.

    Attributes:
        facts: with both answers.
        excluded: facts of the graph that the model did not know before.
        unasked: facts that were not drawn.
    """

    facts: list[ProbedFact]
    excluded: int = 0
    unasked: int = 0


def outside(
    resolved: Resolved,
    effect: EditEffect,
    asked: Sequence[ProbedFact],
    edited: Sequence[RewriteRequest],
) -> Outside | None:
    """Ask the edited model for known facts that are not asked yet; it is restored.

    None where side effects are left out, and of a method that shows facts in its prompts.

    Args:
        asked: facts that are asked for other numbers, with the answers before.
        edited: all requests that the effect carries out.
    """
    if not resolved.request.side_effects or effect.prompt_change is not None:
        return None
    facts = resolved.runtime.content_of(resolved.dataset).facts
    without, least = edited_ids(edited), resolved.request.known
    before = {each.question.fact.id: each.pre.values[EXACT] for each in asked}
    chosen = drawn(resolved.dataset.id, facts, resolved.request.drift_facts)
    answers = _before(resolved, chosen)
    new = [fact for fact in chosen if fact.id not in before and fact.id not in without]
    before |= {fact.id: answers[fact.id].values[EXACT] for fact in new}
    known = {id for id, value in before.items() if value > 0 and value >= least}
    aliases = resolved.scope.aliases
    questions = [
        Question(fact, aliases.get(fact.object, ()), role="outside", listed=False)
        for fact in new
        if fact.id in known
    ]
    pre = [Answer({EXACT: before[question.fact.id]}) for question in questions]
    post: Sequence[Answer] = pre
    if questions and not effect.changes_nothing:
        post = _after(resolved, effect, questions)
    ids = {fact.id for fact in facts} - without
    return Outside(
        [ProbedFact(*each) for each in zip(questions, pre, post, strict=True)],
        excluded=len(ids & before.keys() - known),
        unasked=len(ids - before.keys()),
    )


def _after(
    resolved: Resolved, effect: EditEffect, questions: Sequence[Question]
) -> Sequence[Answer]:
    """The edited model's answers, by likelihood; its weights are not changed.

    Prompts that begin alike are read together: these are most of the prompts of a score.
    """
    from ...editing.probe.edited_states import probe_states

    def shown(done: float, states: int, stage: str) -> None:
        n = len(questions)
        resolved.runtime.progress(int(n * done / states), n, stage)

    return probe_with(
        questions,
        lambda items: probe_states(
            resolved.model.loaded, [[effect]], items, settings_of(resolved), progress=shown
        )[0],
    )


def drawn(graph: str, facts: Sequence[Fact], limit: int) -> list[Fact]:
    """At most `limit` of the facts of a graph, the same for every edit."""
    ordered = sorted(facts, key=lambda fact: fact.id)
    if len(ordered) > limit:
        random.Random(graph).shuffle(ordered)
    return ordered[:limit]


def _before(resolved: Resolved, facts: Sequence[Fact]) -> dict[str, Answer]:
    """The unedited model's answers about facts: of the model graph, or of one of these facts."""
    runtime, dataset = resolved.runtime, resolved.dataset
    if dataset.n_facts <= runtime.settings.probe_all_limit:
        return model_graph.answers(resolved)
    asked = model_graph.asked_model(resolved.model, runtime.progress)
    aliases = resolved.scope.aliases
    graph = model_graph.ensure(runtime, dataset, asked, settings_of(resolved), facts, aliases)
    return model_graph.stored_answers(runtime, graph)


def edited_ids(edited: Sequence[RewriteRequest]) -> set[str]:
    """The ids of the facts that requests edit; of a request to append, the old answers stay."""
    return {
        Fact(request.subject, request.relation, name, prompt=request.prompt).id
        for request in edited
        for name in (request.target_new, request.target_true * (request.kind != "append"))
        if name
    }


def measured(
    resolved: Resolved,
    edit: str,
    edited: Sequence[RewriteRequest],
    found: Outside | None,
    effects: SideEffects,
) -> SideEffects:
    """The side effects with the drift over the known facts of a stored edit graph."""
    if found is None:
        return effects
    graph = drift(
        resolved.runtime.db,
        edit,
        EXACT,
        [request.subject for request in edited],
        resolved.request.known,
        around=resolved.dataset.id,
        edited=sorted(edited_ids(edited)),
        known_before=True,
    )
    known = KnownDrift(**dict(graph), excluded=found.excluded, unasked=found.unasked)
    return effects.model_copy(update={"drift": known, "drift_reason": None})
