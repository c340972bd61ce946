"""The six steps on a trained model and the real database: numbers, records, and what goes wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.own_graphs import stored_edges
from support.references import reference as ref
from support.references.scoring_reference import expected, same
from support.scored_walk import Walk, number, walked
from thinkeval.cypher import names, rows
from thinkeval.cypher.metric_options import of_kind
from thinkeval.editing.errors import CovarianceError, EditFailedError, EditingError
from thinkeval.editing.probe import MEASURES
from thinkeval.service.base.errors import NothingStoredError
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.requests import OwnRewrite
from thinkeval.service.graphs.requests import rewrites as chosen_rewrites
from thinkeval.service.models.edit import Score
from thinkeval.service.scoring import record as editrecords
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel

METHODS = ("none", "fine_tuning", "rome", "memit")
SEED = 5


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, SEED) as walk:
        yield walk


@pytest.fixture(scope="module")
def scored(walk: Walk) -> dict[str, Score]:
    """The demo's edit by every method; the weights are compared around each of them."""
    before = walk.digest()
    scores = {}
    for method in METHODS:
        scores[method] = walk.score(method)
        assert walk.digest() == before, f"{method} left the model changed"
    assert before == walk.model.loaded.info.weights_digest
    return scores


def case(score: Score) -> dict[str, Any]:
    return {
        "id": "it",
        "graph": score.edit,
        "subject": score.subject,
        "object": score.target_true,
        "relation": score.relation,
        "rewrite": None,
    }


@pytest.mark.parametrize("measure", MEASURES)
def test_an_edit_that_changes_nothing_scores_exactly_one(
    scored: dict[str, Score], measure: str
) -> None:
    score = scored["none"]
    ifr, preservation = score.get("ifr", measure), score.get("preservation", measure)
    assert ifr is not None
    assert preservation is not None
    assert (ifr.value, preservation.value) == (1.0, 1.0)
    assert ifr.n + ifr.excluded == 103
    assert ifr.n > 50
    assert all(v.value == 1.0 for v in score.by_step("ifr_by_steps", measure).values() if v.n)


@pytest.mark.parametrize("measure", ["likelihood", "p"])
def test_efficacy_tells_an_edit_that_took_from_one_that_did_not(
    scored: dict[str, Score], measure: str
) -> None:
    assert number(scored["none"], "efficacy", measure) < 0.05
    for method in ("rome", "memit"):
        assert number(scored[method], "efficacy", measure) > 0.8
        assert number(scored[method], "efficacy_score", measure) == 1.0
        assert number(scored[method], "generalization", measure) > 0.5


def test_the_old_fact_still_leaks_after_the_edit(scored: dict[str, Score]) -> None:
    for method in ("rome", "memit"):
        ifr = number(scored[method], "ifr", "likelihood")
        assert 0.0 < ifr < 1.0
        assert number(scored[method], "active_chains", "likelihood") > 0
        assert number(scored[method], "deep_edited", "likelihood") == 0.0
        assert 0.5 < number(scored[method], "preservation", "likelihood") < 1.5


@pytest.fixture
def walking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brute force over the few ways there are; trying all sequences of 50 entities takes days."""
    monkeypatch.setattr(ref, "entity_sequences", ref.walked_sequences)


@pytest.mark.usefixtures("walking")
@pytest.mark.parametrize("method", METHODS)
def test_every_stored_number_equals_brute_force(
    walk: Walk, scored: dict[str, Score], method: str
) -> None:
    score = scored[method]
    assert set(score.measures) == set(MEASURES)
    for measure in MEASURES:
        edges = stored_edges(walk.runtime.db, score.edit, measure)
        values = {(v.metric, v.step): v for v in score.values if v.measure == measure}
        same(values, expected(edges, score, measure, "rewrite"))


@pytest.mark.usefixtures("walking")
@pytest.mark.parametrize(("unit", "bare"), [("record", "listed"), ("rewrite", "exclude")])
def test_other_options_on_the_same_graph_equal_brute_force(
    walk: Walk, scored: dict[str, Score], unit: str, bare: str
) -> None:
    score = scored["rome"]
    for measure in MEASURES:
        options = {
            "pre": f"{measure}_pre",
            "post": f"{measure}_post",
            "unit": unit,
            "bare": bare,
            "threshold": 0.0 if measure == "p" else 0.01,
        }
        found = {
            (metric.removeprefix("metrics/"), row.step): row
            for metric in names("metrics/")
            if metric.removeprefix("metrics/") in of_kind(score.kind)
            for row in walk.runtime.db.metric(metric, cases=[case(score)], **options)
        }
        wanted = expected(
            stored_edges(walk.runtime.db, score.edit, measure), score, measure, unit, bare
        )
        same(found, wanted)


def test_the_edit_graph_holds_both_sides_of_every_edge(
    walk: Walk, scored: dict[str, Score]
) -> None:
    score = scored["rome"]
    stored = walk.runtime.db.read(rows.FactRow, "graph/facts", graph=score.edit)
    # Facts on no chain are asked by likelihood only.
    facts = [row for row in stored if row.role not in ("subject", "outside")]
    roles = {row.role: row for row in facts if row.role != "fact"}
    assert set(roles) == {"target_true", "target_new"}
    assert roles["target_true"].listed
    assert roles["target_new"].change == "added"
    assert roles["target_new"].object == score.target_new
    assert len(facts) == score.n_facts + 1
    for row in facts:
        assert row.answers_pre is not None
        assert row.answers_post is not None
        assert len(row.answers_pre) == len(row.answers_post) == 5
        assert row.n_samples is not None
        assert 0 < row.n_samples <= 5, "the decided ones"
        assert row.change in ("kept", "weakened", "replaced", "lost", "added")
    new = roles["target_new"]
    assert number(score, "efficacy", "likelihood") == new.likelihood_post
    assert new.paraphrases_likelihood_post is not None
    assert len(new.paraphrases_likelihood_post) == len(walk.rewrite.paraphrases) == 2


def test_scope_and_pre_side_come_from_the_stored_graphs(
    walk: Walk, scored: dict[str, Score]
) -> None:
    """The model is asked once before all edits: one model graph, with the edits' pre side."""
    db = walk.runtime.db
    known = [
        g
        for g in db.read(rows.GraphRow, "graph/list_graphs", kind="model")
        if g.dataset == walk.graph
    ]
    assert len(known) == 1
    pre = {
        row.fact: row.likelihood_pre
        for row in db.read(rows.FactRow, "graph/facts", graph=known[0].graph)
    }
    for score in scored.values():
        for row in db.read(rows.FactRow, "graph/facts", graph=score.edit):
            if row.role == "fact":
                assert row.likelihood_pre == pre[row.fact]


def test_the_record_says_what_was_done(walk: Walk, scored: dict[str, Score]) -> None:
    record = walk.runtime.db.read(rows.GetEditRow, "edits/get_edit", id=scored["memit"].edit)[0]
    assert (record.status, record.progress, record.graph) == ("succeeded", 1.0, record.id)
    told = json.loads(record.provenance or "")
    assert told["model"]["weights_digest"] == walk.digest()
    assert told["probe"]["samples"] == 5
    assert told["seed"] == SEED
    assert told["queries"]["metrics/ifr"]
    assert editrecords.get_score(walk.runtime.db, record.id).values == scored["memit"].values


def test_scored_twice_is_found_and_forced_gives_the_same(
    walk: Walk, scored: dict[str, Score]
) -> None:
    first = scored["rome"]
    again = walk.score("rome")
    assert (again.edit, again.reused, first.reused) == (first.edit, True, False)
    assert again.values == first.values
    db = walk.runtime.db
    before = db.read(rows.FactRow, "graph/facts", graph=first.edit)
    forced = walk.score("rome", force=True)
    assert (forced.edit, forced.reused) == (first.edit, False)
    assert db.read(rows.FactRow, "graph/facts", graph=first.edit) == before
    # The server adds up a metric's terms in any order, so the last digit may differ.
    for one, other in zip(first.values, forced.values, strict=True):
        numbers = {name: getattr(one, name) for name in ("value", "low", "high")}
        for name, known in numbers.items():
            same = None if known is None else pytest.approx(known, rel=1e-12)
            assert getattr(other, name) == same
        assert other.model_copy(update=numbers) == one


def test_another_seed_is_another_edit_with_other_samples(
    walk: Walk, scored: dict[str, Score]
) -> None:
    other = walk.score("none", seed=SEED + 1)
    first = scored["none"]
    assert other.edit != first.edit
    db = walk.runtime.db
    said = [
        {
            row.fact: row.answers_pre
            for row in db.read(rows.FactRow, "graph/facts", graph=score.edit)
        }
        for score in (first, other)
    ]
    assert said[0].keys() == said[1].keys()
    assert said[0] != said[1]
    exact = [
        {
            row.fact: row.likelihood_pre
            for row in db.read(rows.FactRow, "graph/facts", graph=score.edit)
        }
        for score in (first, other)
    ]
    assert exact[0] == exact[1]


def test_options_are_part_of_what_an_edit_is(walk: Walk, scored: dict[str, Score]) -> None:
    short = walk.score("none", max_steps=2, unit="record", samples=2)
    assert short.edit != scored["none"].edit
    assert sorted(short.by_step("chains_by_steps", "likelihood")) == [1, 2]
    assert short.n_facts < scored["none"].n_facts
    assert number(short, "ifr", "likelihood") == 1.0


def test_without_samples_only_exact_measures_are_taken(walk: Walk) -> None:
    score = walk.score("none", samples=0)
    assert set(score.measures) == {"likelihood", "likelihood_norm"}
    assert number(score, "ifr", "likelihood") == 1.0


OWN = OwnRewrite(
    subject="Draco Malfoy",
    relation="studied at",
    target_true="Hogwarts School of Witchcraft and Wizardry",
    target_new="Durmstrang Institute",
)


def test_a_rewrite_of_ones_own_leaves_the_data_set_as_it_is(
    walk: Walk, scored: dict[str, Score]
) -> None:
    db = walk.runtime.db
    before = datasets.stored_graph(db, walk.graph).content_digest
    everything = chosen_rewrites(db, walk.graph, [], OwnRewrite(), everything=True)
    mine = chosen_rewrites(db, walk.graph, [], OWN, everything=False)[0]
    score = walk.score("rome", rewrite=mine)
    ifr = score.get("ifr", "likelihood")
    assert ifr is not None
    assert ifr.n == 5
    assert number(score, "efficacy", "likelihood") > 0.8
    assert mine.paraphrases, "the relation's own paraphrases measure its generalization"
    assert datasets.stored_graph(db, walk.graph).content_digest == before
    assert chosen_rewrites(db, walk.graph, [], OwnRewrite(), everything=True) == everything
    assert walk.score("none").edit == scored["none"].edit, "an edit's id changed meanwhile"
    assert walk.score("rome", rewrite=mine).reused


def test_a_rewrite_of_ones_own_does_not_replace_a_stored_one(walk: Walk) -> None:
    """Same subject, relation and new object as a stored one, but another prompt."""
    db = walk.runtime.db
    stored = datasets.list_rewrites(db, walk.graph)
    own = OwnRewrite(
        subject=walk.rewrite.subject,
        relation=walk.rewrite.relation,
        prompt="{} went to school at",
        target_true=walk.rewrite.target_true,
        target_new=walk.rewrite.target_new,
    )
    mine = chosen_rewrites(db, walk.graph, [], own, everything=False)[0]
    score = walk.score("none", rewrite=mine)
    assert score.prompt == "{} went to school at"
    assert datasets.list_rewrites(db, walk.graph) == stored
    found = chosen_rewrites(db, walk.graph, ["harry-potter--studied-at"], OwnRewrite(), False)
    assert found == [walk.rewrite]


def test_a_rewrite_without_any_chain_is_undefined_and_says_why(walk: Walk) -> None:
    own = OwnRewrite(
        subject="Draco Malfoy",
        prompt="{} collected stamps from",
        target_true="Uagadou",
        target_new="Castelobruxo",
    )
    mine = chosen_rewrites(walk.runtime.db, walk.graph, [], own, everything=False)[0]
    score = walk.score("rome", rewrite=mine, anyway=True)
    for measure in MEASURES:
        ifr, preservation = score.get("ifr", measure), score.get("preservation", measure)
        assert ifr is not None
        assert preservation is not None
        assert (ifr.value, ifr.n, ifr.excluded) == (None, 0, 0)
        assert ifr.reason == "no chain of at most 5 facts leads to the old object"
        assert (preservation.value, preservation.n) == (None, 0)
        assert preservation.reason == "the graph has no such fact"
    assert sorted(walk.roles(score)) == ["target_new", "target_true"]
    facts = walk.runtime.db.read(rows.FactRow, "graph/facts", graph=score.edit)
    assert {row.role for row in facts} <= {"target_new", "target_true", "subject", "outside"}


def ended(walk: Walk, known: set[str]) -> rows.EditRow:
    """The one edit recorded since; nothing of it may be visible but its record."""
    db = walk.runtime.db
    new = [
        e
        for e in db.read(rows.EditRow, "edits/list_edits", dataset=walk.graph)
        if e.id not in known
    ]
    assert len(new) == 1
    assert new[0].graph is None
    assert not db.read(rows.GraphRow, "graph/get_graph", graph=new[0].id, incomplete=True)
    assert not db.read(rows.FactRow, "graph/facts", graph=new[0].id)
    with pytest.raises(NothingStoredError, match=new[0].status):
        editrecords.get_score(db, new[0].id)
    return new[0]


def test_an_edit_that_fails_stores_its_reason_and_nothing_else(
    walk: Walk, scored: dict[str, Score], tmp_path: Path
) -> None:
    """The covariance of three words is singular."""
    corpus = tmp_path / "three.txt"
    corpus.write_text("Three short words\n", encoding="utf-8")
    changes: dict[str, Any] = {"overrides": {"mom2_ridge": 0.0}, "covariance": str(corpus)}
    known = {e.id for e in walk.runtime.db.read(rows.EditRow, "edits/list_edits")}
    with pytest.raises(EditingError) as caught:
        walk.score("rome", **changes)
    assert isinstance(caught.value, EditFailedError | CovarianceError)
    record = ended(walk, known)
    assert record.status == "failed"
    assert record.error == caught.value.detail
    assert record.remedy == caught.value.remedy
    assert record.finished_at is not None
    assert walk.digest() == walk.model.loaded.info.weights_digest
    once = number(scored["rome"], "ifr", "p")
    assert number(walk.score("rome"), "ifr", "p") == pytest.approx(once, rel=1e-12)


def test_interrupted_between_edit_and_record_nothing_is_left(
    walk: Walk, scored: dict[str, Score], monkeypatch: pytest.MonkeyPatch
) -> None:
    edited: list[str] = []

    def impatient(done: int, total: int, stage: str) -> None:
        if stage.startswith("editing"):
            edited.append(stage)
        elif edited and stage == "likelihood":
            assert walk.digest() != walk.model.loaded.info.weights_digest, "the edit is not on"
            raise KeyboardInterrupt

    known = {e.id for e in walk.runtime.db.read(rows.EditRow, "edits/list_edits")}
    with monkeypatch.context() as patch:
        patch.setattr(walk.runtime, "progress", impatient)
        with pytest.raises(KeyboardInterrupt):
            walk.score("memit", samples=4)
    assert edited
    record = ended(walk, known)
    assert (record.status, record.error) == ("cancelled", "interrupted")
    assert walk.digest() == walk.model.loaded.info.weights_digest
    after = walk.score("memit", samples=4)
    assert (after.edit, after.reused) == (record.id, False)
    once = number(scored["memit"], "ifr", "likelihood")
    assert number(after, "ifr", "likelihood") == pytest.approx(once, rel=1e-12)
    assert walk.runtime.db.read(rows.GetEditRow, "edits/get_edit", id=record.id)[0].error is None
