"""Requests to forget: named by a fact, scored without target_new, kept out of other tables."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.own_graphs import stored_edges
from support.references import reference as ref
from support.references.scoring_reference import expected, same
from support.scored_walk import Walk, walked
from thinkeval.editing.probe import MEASURES
from thinkeval.loaders.records import RewriteRequest
from thinkeval.loaders.rule_records import Atom, rule
from thinkeval.service.base.errors import NotFoundError, UsageError
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.requests import OwnRewrite, rewrites, to_forget
from thinkeval.service.models.edit import Score
from thinkeval.service.reports import by_kind
from thinkeval.service.reports.comparison import common
from thinkeval.service.rules import store
from thinkeval.service.scoring import record
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.scoring.score import score_edit

FACT = "Harry Potter|studied-at|Hogwarts School of Witchcraft and Wizardry"


@pytest.fixture(scope="module")
def walk(runtime: Runtime, organism: RuntimeModel) -> Iterator[Walk]:
    with walked(runtime, organism, 6) as walk:
        yield walk


@pytest.fixture(scope="module")
def asked(walk: Walk) -> RewriteRequest:
    (found,) = rewrites(walk.runtime.db, walk.graph, [], to_forget(FACT), False)
    return found


@pytest.fixture(scope="module")
def scored(walk: Walk, asked: RewriteRequest) -> Score:
    options = walk.request("none").model_copy(update={"samples": 5})
    return score_edit(walk.runtime, ScoreRequest.of(asked, options))


def test_a_fact_is_named_by_words_and_is_no_replacement(asked: RewriteRequest) -> None:
    assert (asked.kind, asked.target_new) == ("forget", "")
    assert asked.relation == "studied at"
    assert asked.prompt == "{} studied at"
    assert "forget" in asked.id


@pytest.mark.parametrize("text", ["Harry Potter", "a|b", "a||b", "a|b|c|d", "||"])
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="names no fact"):
        to_forget(text)


def test_a_misspelt_fact_is_refused(walk: Walk) -> None:
    with pytest.raises(NotFoundError, match="Harry Potter"):
        rewrites(walk.runtime.db, walk.graph, [], to_forget(f"Hary{FACT[5:]}"), False)


@pytest.mark.usefixtures("walking")
def test_every_number_equals_brute_force(walk: Walk, scored: Score) -> None:
    assert scored.kind == "forget"
    assert {"efficacy", "generalization"}.isdisjoint(v.metric for v in scored.values)
    for measure in MEASURES:
        edges = stored_edges(walk.runtime.db, scored.edit, measure)
        assert {edge.role for edge in edges} <= {"fact", "target_true", "subject", "outside"}
        values = {(v.metric, v.step): v for v in scored.values if v.measure == measure}
        same(values, expected(edges, scored, measure, "rewrite"))


@pytest.fixture
def walking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ref, "entity_sequences", ref.walked_sequences)


def test_nothing_is_forgotten_by_an_edit_that_changes_nothing(scored: Score) -> None:
    assert scored.number("forgetting", "likelihood") == 0
    p = scored.number("leak_at_1", "likelihood")
    assert p is not None
    assert p > 0.5
    assert scored.number("leak_at_5", "likelihood") == pytest.approx(1 - (1 - p) ** 5)
    bounds = scored.get("leak_at_1", "p")
    assert bounds is not None
    assert bounds.low is not None and bounds.high is not None  # noqa: PT018
    assert 0 <= bounds.low <= bounds.high <= 1


def test_it_is_in_no_table_of_replacements(walk: Walk, scored: Score) -> None:
    walk.score("none")
    db = walk.runtime.db
    found = record.scores(db, [], graph=walk.graph)
    assert {score.kind for score in found} == {"replace"}
    (forgotten,) = record.scores(db, [], graph=walk.graph, kind="forget")
    assert forgotten.edit == scored.edit
    both = common([*found, forgotten], "likelihood")
    assert scored.edit not in {score.edit for score in both.scores}
    table = by_kind.forgetting_table([*found, forgotten], "likelihood")
    (row,) = table.rows
    assert (len(row.values), row.unknown, row.means["forgetting"].value) == (1, 0, 0.0)
    stored, own = datasets.split_rewrites(db, walk.graph)
    assert scored.rewrite in {request.id for request in own}
    assert scored.rewrite not in {request.id for request in stored}


def test_its_table_counts_the_proofs_by_rules_that_survive(walk: Walk, scored: Score) -> None:
    """By "one who was sorted into a house at S studied at S", counted from the stored edges."""
    db, school = walk.runtime.db, scored.target_true
    assert by_kind.surviving_proofs(db, [scored], "likelihood") == {}
    assert by_kind.PROOFS not in by_kind.forgetting_table([scored], "likelihood", {}).titles
    premises = [Atom("x", "was sorted into", "y"), Atom("y", "is a house at", "z")]
    kinds = dict.fromkeys("xyz")
    houses = rule(premises, Atom("x", "studied at", "z"), kinds=kinds, support=1, body=1)
    store.save(db, walk.graph, [houses], status="kept")
    try:
        proofs = by_kind.surviving_proofs(db, [scored], "likelihood")
        edges = stored_edges(db, scored.edit, "likelihood")
        held = {(e.subject, e.relation, e.object) for e in edges if e.role == "fact"}
        wanted = sum(
            (house, "is a house at", school) in held
            for subject, relation, house in held
            if (subject, relation) == (scored.subject, "was sorted into")
        )
        assert wanted
        assert proofs == {scored.edit: wanted}, "nothing was changed: every proof survives"
        table = by_kind.forgetting_table([scored], "likelihood", proofs)
        mean = table.rows[0].means[by_kind.PROOFS]
        assert (mean.value, mean.n) == (wanted, 1)
        assert table.frame()["active proofs"].tolist() == [wanted]
    finally:
        store.delete(db, walk.graph)


def test_options_that_do_not_go_together(walk: Walk) -> None:
    own = OwnRewrite("Harry Potter", "studied-at", None, "Hogwarts", "Durmstrang", forget=True)
    with pytest.raises(UsageError, match="A rewrite of your own"):
        rewrites(walk.runtime.db, walk.graph, [], own, False)
