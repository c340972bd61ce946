"""Scores with forms: what is stored and shown, against the stored units; no edit, no change."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any

import neo4j
import pytest

from support.scored_walk import Walk, walked
from thinkeval.cypher import rows
from thinkeval.service.base.errors import UsageError
from thinkeval.service.base.statistics import wilson
from thinkeval.service.graphs import datasets
from thinkeval.service.models.edit import Score
from thinkeval.service.models.forms import KNOWN_CLOZE, weakest
from thinkeval.service.scoring.probe import probe, questions_for
from thinkeval.service.scoring.request import posted
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel

FORMS = "cloze,question/0-shot,negated,fact_check,reversed/no-object,composed/phrase,prefixed"


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, 12) as walk:
        yield walk


@pytest.fixture(scope="module")
def scores(walk: Walk) -> dict[str, Score]:
    options = {"samples": 0, "side_effects": False, "forms": FORMS}
    return {method: walk.score(method, **options) for method in ("none", "rome")}


@pytest.fixture(scope="module")
def units(scores: dict[str, Score], server: dict[str, str]) -> list[dict[str, Any]]:
    """The stored units of ROME's edit, by a driver of the test's own."""
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as driver:
        found, _, _ = driver.execute_query(
            "MATCH (:Edit {id: $id})-[:ANSWERED]->(x:FormAnswer) RETURN properties(x)",
            id=scores["rome"].edit,
        )
    return [dict(record[0]) for record in found]


def test_without_forms_a_score_has_none_and_another_id(
    walk: Walk, scores: dict[str, Score]
) -> None:
    plain = walk.score("none", samples=0, side_effects=False)
    assert plain.forms == []
    assert plain.edit != scores["none"].edit
    assert [v.value for v in plain.values] == pytest.approx(
        [v.value for v in scores["none"].values], rel=1e-12, nan_ok=True
    )


def test_forms_that_do_not_exist_are_refused_before_anything_is_asked(walk: Walk) -> None:
    with pytest.raises(UsageError, match="no form 'clozes'"):
        walk.score("none", forms="clozes")


def test_the_same_request_finds_the_stored_score(walk: Walk, scores: dict[str, Score]) -> None:
    again = walk.score("rome", samples=0, side_effects=False, forms=FORMS)
    assert again.reused
    assert again.forms == scores["rome"].forms
    assert posted(again)["forms"] == FORMS


def test_no_edit_changes_no_number(scores: dict[str, Score]) -> None:
    asked = [form for form in scores["none"].forms if form.n]
    assert asked
    for form in asked:
        for name in ("p_new", "p_old", "margin", "wins", "further"):
            assert getattr(form, name) == getattr(form, f"{name}_pre"), form.form
        assert form.right == form.right_pre
        assert form.p == form.p_pre


def test_the_cloze_is_that_of_the_metrics(
    walk: Walk, scores: dict[str, Score], units: list[dict[str, Any]]
) -> None:
    score = scores["rome"]
    cloze = next(form for form in score.forms if form.form == "cloze/0-shot")
    stored = walk.roles(score)
    if cloze.p_new is not None:
        assert cloze.p_new == pytest.approx(stored["target_new"].likelihood_post, rel=1e-4)
        assert cloze.p_old_pre == pytest.approx(stored["target_true"].likelihood_pre, rel=1e-4)
    own = [u for u in units if u["form"] == "cloze/0-shot"]
    (edited,) = (u for u in own if u["role"] == "edited")
    assert edited["p_post"] == pytest.approx(stored["target_new"].likelihood_post, rel=1e-4)
    others = [u for u in own if u["role"] != "edited"]
    facts = walk.runtime.db.read(rows.FactRow, "graph/facts", graph=score.edit)
    by_id = {row.fact: row for row in facts}
    assert others
    for unit in others:
        row = by_id[unit["fact"]]
        assert unit["p_pre"] == pytest.approx(row.likelihood_pre, rel=1e-3, abs=1e-7)
        assert unit["p_post"] == pytest.approx(row.likelihood_post, rel=1e-3, abs=1e-7)
        assert row.likelihood_pre >= KNOWN_CLOZE


def test_rows_are_means_of_stored_units(
    scores: dict[str, Score], units: list[dict[str, Any]]
) -> None:
    score = scores["rome"]
    for form in score.forms:
        own = [u for u in units if u["form"] == form.form and u["role"] == "edited"]
        known = [u for u in own if u["known"]]
        if form.n == 0:
            assert not known
            assert form.reason
            continue
        assert form.n == len(known)
        assert {u["protocol"] for u in own} == {form.protocol} == {form.unedited.protocol}
        if form.reason is None:
            assert form.wins == pytest.approx(fmean(u["right_post"] for u in known))
            assert (form.low, form.high) == wilson(form.wins, form.n)
        else:
            assert form.wins is form.margin is form.p_new is form.low is None
        if not form.unedited.by_probability:
            assert form.p_new is None
    least = weakest(score.forms)
    shown = [f for f in score.forms if f.margin is not None and f.unedited.accuracy is not None]
    usable = [f.margin for f in shown if not f.unedited.is_control]
    assert least is None or least.margin == min(usable)


def test_the_whole_graph_can_be_asked(walk: Walk, scores: dict[str, Score]) -> None:
    options = {"samples": 0, "side_effects": False, "forms": "cloze", "forms_scope": "graph"}
    score = walk.score("rome", **options)
    assert score.edit != walk.score("rome", **options | {"forms_scope": "edit"}).edit
    assert posted(score)["forms_scope"] == "graph"
    content = walk.runtime.content_of(datasets.dataset(walk.runtime.db, walk.graph))
    aliases = {entity.name: entity.aliases for entity in content.entities}
    edited = (walk.rewrite.subject, walk.rewrite.relation)
    others = [fact for fact in content.facts if (fact.subject, fact.relation) != edited]
    answers = probe(walk.model.loaded, questions_for(others, aliases), walk.request("none").probe)
    (form,) = score.forms
    assert form.facts == sum(each.values["likelihood"] >= KNOWN_CLOZE for each in answers)
    (before,) = (form for form in scores["rome"].forms if form.form == "cloze/0-shot")
    assert form.p_new == before.p_new
    with pytest.raises(UsageError, match="--forms-scope is of --forms"):
        walk.score("rome", forms_scope="graph")


def test_the_unedited_accuracy_is_measured_once_and_stored_with_the_model(
    scores: dict[str, Score],
) -> None:
    none, rome = scores["none"], scores["rome"]
    assert [f.unedited for f in none.forms] == [f.unedited for f in rome.forms]
    found = next(f.unedited for f in none.forms if f.form == "cloze/0-shot")
    assert found.n > 20
    assert found.measurable
    assert found.tokens is None, "a score does not count the tokens of a sample"
    for form in none.forms:
        known = form.unedited
        if known.accuracy is not None:
            assert known.low is not None
            assert known.chance is not None
            enough = known.n >= 20
            assert known.measurable == (enough and known.low > known.chance), form.form
