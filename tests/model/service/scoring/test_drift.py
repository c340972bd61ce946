"""Drift of a scored edit over the known facts of its graph: whole models, and a limit."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from support.own_graphs import stored_edges
from support.references import states_reference
from support.references.greedy_reference import own_answer
from support.references.reference import Edge
from support.scored_walk import Walk, walked
from thinkeval.cypher import rows
from thinkeval.editing.deltas import applied
from thinkeval.editing.deltas.files import load as saved
from thinkeval.editing.probe.matching import gives
from thinkeval.loaders.records import fill
from thinkeval.service.graphs.datasets import to_fact
from thinkeval.service.models.edit import KnownDrift, Score
from thinkeval.service.scoring import deltas
from thinkeval.service.scoring.drift import drawn, outside
from thinkeval.service.scoring.probe import probe, questions_for
from thinkeval.service.scoring.record import get_score
from thinkeval.service.scoring.resolved import resolve
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.scoring.side_effects import settings_of


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, 7) as walk:
        yield walk


def drift_of(score: Score) -> KnownDrift:
    """The drift of a score that has one."""
    assert score.side_effects.drift_reason is None
    assert score.side_effects.drift is not None
    return score.side_effects.drift


def by_hand(walk: Walk, edit: str) -> tuple[dict[states_reference.Group, Any], int]:
    """The drift over all facts, asked of two whole models one by one; and the facts not known."""
    loaded = walk.model.loaded
    facts = [to_fact(row) for row in walk.runtime.db.read(
        rows.FactRow, "graph/facts", graph=walk.graph
    )]  # fmt: skip
    names = walk.runtime.db.read(rows.EntityRow, "graph/entities", graph=walk.graph)
    questions = questions_for(facts, {entity.name: entity.aliases for entity in names})
    settings = replace(walk.request("rome", samples=0).probe, chat="never")
    before = probe(loaded, questions, settings)
    edited = replace(loaded, model=copy.deepcopy(loaded.model))
    effect = saved(deltas.path_of(walk.runtime.settings, edit)).effect
    with applied(edited.model, effect):
        after = probe(edited, questions, settings)
        now = [own_answer(edited, fill(fact.prompt, fact.subject)) for fact in facts]
    then = [own_answer(loaded, fill(fact.prompt, fact.subject)) for fact in facts]
    names = [(question.fact.object, *question.aliases) for question in questions]
    right = [[gives(text, of) for text in said] for *said, of in zip(then, now, names, strict=True)]
    edges = [
        Edge(
            id=fact.id, subject=fact.subject, object=fact.object, relation=fact.relation,
            pre=one.values["likelihood"], post=other.values["likelihood"],
            replaced=None if now is None else False if now else then or None,
        )
        for fact, one, other, (then, now) in zip(facts, before, after, right, strict=True)
    ]  # fmt: skip
    of = walk.rewrite
    own = [e.id for e in edges if (e.subject, e.relation, e.object) == (
        of.subject, of.relation, of.target_true
    )]  # fmt: skip
    assert len(own) == 1
    unknown = sum(edge.pre < 0.05 for edge in edges if edge.id not in own)
    found = states_reference.drift(edges, [of.subject], edited=own, known_before=True)
    return found, unknown


def test_the_drift_of_an_edit_is_that_of_two_whole_models(walk: Walk) -> None:
    score = walk.score("rome", samples=0)
    found = drift_of(score)
    wanted, unknown = by_hand(walk, score.edit)
    assert found.far is not None
    assert (found.excluded, found.unasked) == (unknown, 0)
    lines = {("all", None): found.total, ("far", None): found.far}
    lines |= {("relation", line.label): line for line in found.by_relation}
    lines |= {("distance", int(line.label[0])): line for line in found.by_distance}
    assert lines.keys() == wanted.keys()
    for group, line in lines.items():
        for name in ("n", "kept", "weakened", "replaced", "lost"):
            assert getattr(line, name) == wanted[group].get(name, 0), (group, name)
        for name in ("mean_moved", "median_change"):
            assert getattr(line, name) == pytest.approx(wanted[group][name], rel=1e-3, abs=1e-5)
        assert (line.added, line.unknown, line.missing) == (0, 0, 0)
    assert found.total.replaced > 0
    assert get_score(walk.runtime.db, score.edit).side_effects.drift == found
    outside = {e.id for e in stored_edges(walk.runtime.db, score.edit, "likelihood")
                 if e.role == "outside"}  # fmt: skip
    assert 0 < len(outside) < found.total.n


def test_changed_facts_have_the_own_answers_of_both_models(walk: Walk) -> None:
    """They are those of transformers' generation, and decide what became of the facts."""
    score, loaded = walk.score("rome", samples=0), walk.model.loaded
    stored = walk.runtime.db.read(rows.FactRow, "graph/facts", graph=score.edit)
    asked = [row for row in stored if row.says_post is not None]
    assert {row.role for row in asked} >= {"target_true", "target_new", "fact", "outside"}
    for row in stored:
        pre, post = row.likelihood_pre, row.likelihood_post
        assert pre is not None
        assert post is not None
        moved = pre >= 0.05 and post < 0.9 * pre
        assert (row in asked) == (moved or row.role in ("target_true", "target_new")), row
    prompts = {row.fact: fill(row.prompt, row.subject) for row in asked}
    before = {key: own_answer(loaded, prompt) for key, prompt in prompts.items()}
    effect = saved(deltas.path_of(walk.runtime.settings, score.edit)).effect
    with applied(loaded.model, effect):
        after = {key: own_answer(loaded, prompt) for key, prompt in prompts.items()}
    for row in asked:
        assert row.says_post is not None
        # An object above one half is not decoded; a longer text of the model begins with it.
        assert before[row.fact].startswith(row.says_pre or "")
        assert row.says_pre or gives(row.says_post, [row.object, *row.object_aliases])
        assert after[row.fact].startswith(row.says_post)
    about = score.about_subject
    assert about is not None
    changed = [fact for fact in about.facts if fact.change != "kept"]
    assert about.replaced == sum(fact.change == "replaced" for fact in changed) > 0
    assert about.followed == sum(fact.follows for fact in changed)
    for fact in changed:
        if fact.change == "replaced":
            assert fact.says_pre is not None
            assert fact.says_post is not None
            assert gives(fact.says_pre, [fact.object])
            assert not gives(fact.says_post, [fact.object])


def test_facts_outside_are_asked_without_writing_to_the_weights(walk: Walk) -> None:
    effect = saved(deltas.path_of(walk.runtime.settings, walk.score("rome", samples=0).edit)).effect
    resolved = resolve(walk.runtime, walk.request("rome", samples=0))
    written = {name: p._version for name, p in walk.model.loaded.model.named_parameters()}
    found = outside(resolved, effect, [], [walk.rewrite])
    assert found is not None
    assert written == {n: p._version for n, p in walk.model.loaded.model.named_parameters()}
    with applied(resolved.model.loaded.model, effect):
        asked = [fact.question for fact in found.facts]
        alone = probe(resolved.model.loaded, asked, settings_of(resolved))
    assert len(alone) > 20
    for fact, answer in zip(found.facts, alone, strict=True):
        assert fact.post is not None
        assert fact.post.values == pytest.approx(answer.values, abs=1e-5)


def test_a_sampled_edit_asks_facts_outside_by_likelihood(walk: Walk) -> None:
    score = walk.score("random_delta", samples=2)
    drift = drift_of(score)
    assert score.measures == ("likelihood", "p", "likelihood_norm")
    sampled = [e for e in stored_edges(walk.runtime.db, score.edit, "p") if e.role == "outside"]
    assert sampled
    assert {(edge.pre, edge.post) for edge in sampled} == {(None, None)}
    assert drift.total.n > len(sampled)


def test_an_edit_that_changes_nothing_keeps_every_fact(walk: Walk) -> None:
    drift = drift_of(walk.score("none", samples=0))
    assert drift.total.kept == drift.total.n > 0
    assert (drift.total.mean_moved, drift.total.median_change) == (0, 1)


@pytest.mark.parametrize("limit", [0, 3])
def test_a_limit_draws_facts_of_a_graph_too_large_to_be_probed_whole(
    walk: Walk, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    small = walk.runtime.settings.model_copy(update={"probe_all_limit": 5})
    monkeypatch.setattr(walk.runtime, "settings", small)
    score = walk.score("rome", samples=0, drift_facts=limit, force=True)
    drift = drift_of(score)
    facts = [to_fact(row) for row in walk.runtime.db.read(
        rows.FactRow, "graph/facts", graph=walk.graph
    )]  # fmt: skip
    stored = stored_edges(walk.runtime.db, score.edit, "likelihood")
    outside = {edge.id for edge in stored if edge.role == "outside"}
    chosen = {fact.id for fact in drawn(walk.graph, facts, limit)}
    assert len(chosen) == limit
    assert outside <= chosen
    assert drift.total.n + drift.excluded + drift.unasked == len(facts) - 1
    assert drift.unasked > 0


def test_facts_are_drawn_in_the_same_order_for_every_edit(walk: Walk) -> None:
    facts = [to_fact(row) for row in walk.runtime.db.read(
        rows.FactRow, "graph/facts", graph=walk.graph
    )]  # fmt: skip
    few = drawn(walk.graph, facts, 10)
    assert few == drawn(walk.graph, list(reversed(facts)), 10)
    assert few != drawn("another", facts, 10)
    assert {fact.id for fact in drawn(walk.graph, facts, 10**6)} == {fact.id for fact in facts}
