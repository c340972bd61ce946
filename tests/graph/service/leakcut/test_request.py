"""The cut that a user names: of an edit by its method's keys, or of a rewrite."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest

from support.closure_rules import stored
from support.own_graphs import hogwarts_as, own_graphs
from support.references.closure_reference import PlainRule
from support.stored_edits import probed, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.base.errors import NotFoundError, NothingStoredError
from thinkeval.service.leakcut import words
from thinkeval.service.leakcut.hitting_set import Problem
from thinkeval.service.leakcut.leaks import of_edit
from thinkeval.service.leakcut.request import cut_of, key_kind, marked
from thinkeval.service.models.leakcut import CutIn
from thinkeval.service.rules import store

FACTS = [
    probed(("Harry", "studied at", "Hogwarts"), 0.9, 0.01, "target_true"),
    probed(("Harry", "studied at", "Durmstrang"), 0.0, 0.9, "target_new", listed=False),
    probed(("Harry", "friend of", "Ron"), 0.9, 0.8),
    probed(("Harry", "is in", "Gryffindor"), 0.8, 0.7),
    probed(("Ron", "studied at", "Hogwarts"), 0.9, 0.9),
    probed(("Gryffindor", "is a house of", "Hogwarts"), 0.9, 0.8),
]


@pytest.fixture
def graph(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield prefix


def test_keys_follow_the_edits_method(db: Database, graph: str) -> None:
    for method, kind in (("memit", "subject"), ("mend", "off"), ("one that left", "off")):
        edit = store_edit(db, f"{graph}-{method}", FACTS, dataset=graph, method=method).edit
        found = cut_of(db, edit)
        assert (found.edit, found.keys, found.measure) == (edit, kind, "likelihood")
        assert len(found.facts) == 2
        about = [fact for fact in found.facts if fact.subject == "Harry"]
        assert not (about and kind == "subject")
        assert cut_of(db, edit, CutIn(keys="off")).keys == "off"
        assert cut_of(db, edit, CutIn(keys="subject")).keys == "subject"
    assert key_kind("rome") == "subject"


def test_a_rewrite_is_named_by_id_or_subject(db: Database, graph: str) -> None:
    hogwarts = hogwarts_as(db, f"{graph}-hogwarts")
    found = cut_of(db, "Harry-Potter--studied", graph=hogwarts)
    assert (found.edit, found.measure, found.ifr, found.expected) == (None, None, None, None)
    assert (found.keys, found.graph, found.optimal) == ("off", hogwarts, True)
    assert found.leaking == found.paths > len(found.facts) > 0
    assert cut_of(db, found.rewrite, graph=hogwarts).facts == found.facts


def test_what_cannot_be_cut(db: Database, graph: str) -> None:
    edit = store_edit(db, f"{graph}-edit", FACTS, dataset=graph).edit
    with pytest.raises(NotFoundError, match=r"Ronn.*Ron"):
        cut_of(db, edit, CutIn(lock=("Ronn",)))
    with pytest.raises(NothingStoredError, match="'p'"):
        cut_of(db, edit, measure="p")
    with pytest.raises(NotFoundError, match="edit"):
        cut_of(db, f"{graph}-none")
    with pytest.raises(NotFoundError, match="rewrite"):
        cut_of(db, "Draco", graph=hogwarts_as(db, f"{graph}-hogwarts"))


def test_leakage_maps_mark_the_facts_of_the_cut_in_the_edits_graph(
    db: Database, graph: str
) -> None:
    score = store_edit(db, f"{graph}-marked", FACTS, dataset=graph)
    ids = {
        row.id: (row.subject, row.object)
        for row in db.read(rows.FactRow, "graph/facts", graph=score.edit)
    }
    found = marked(db, score, "likelihood")
    assert {ids[each] for each in found} == {("Ron", "Hogwarts"), ("Gryffindor", "Hogwarts")}
    assert not marked(db, score, "p"), "not taken"


def test_the_curve_of_a_budget_starts_at_ifr(db: Database, graph: str) -> None:
    score = store_edit(db, f"{graph}-edit", FACTS, dataset=graph)
    found = cut_of(db, score.edit, CutIn(budget=2, keys="off"))
    assert found.budget is not None
    assert found.budget.ifr == pytest.approx(found.ifr)
    counted = Problem(
        of_edit(db, score, "likelihood").counted,
        efficacy=dict.fromkeys(found.names, found.options.efficacy),
    )
    for point in found.budget.points:
        best = min(counted.leakage(some) for some in combinations(found.names, point.m))
        assert point.exact == pytest.approx(best)
        assert point.ifr == pytest.approx(counted.leakage(point.facts))
        assert set(point.facts) <= found.names.keys()
    assert [point.m for point in found.budget.points] == [1, 2]
    assert cut_of(db, score.edit).budget is None


def test_proofs_by_rules_are_broken_too(db: Database, graph: str) -> None:
    """George's brother studied where George did; no chain of facts leads over George."""
    further = [
        probed(("George", "brother of", "Harry"), 0.9, 0.9),
        probed(("George", "studied at", "Hogwarts"), 0.9, 0.9),
    ]
    edit = store_edit(db, f"{graph}-edit", [*FACTS, *further], dataset=graph, method="mend").edit
    with db.transaction() as tx:
        tx.run(rows.MergeGraphRow, "graph/merge_graph", graph=graph, kind="dataset", dataset=graph)
        tx.run(rows.CompleteGraphRow, "graph/complete_graph", graph=graph)
    none = cut_of(db, edit, CutIn(rules=True))
    assert none.rules is not None
    assert none.rules.why
    rule = PlainRule("brother of", True, "studied at", False, "studied at")
    store.save(db, graph, [stored(rule).rule], status="kept")
    chains, both = cut_of(db, edit), cut_of(db, edit, CutIn(rules=True))
    assert (len(chains.facts), len(both.facts)) == (2, 3)
    assert both.rules is not None
    assert both.optimal
    (fact,) = [each for each in both.facts if each.subject == "George"]
    assert both.rules.facts == [fact.id]
    assert (fact.closes, fact.alone, fact.pre) == (0, 0, 0.9)
    assert both.rules.rules == 1
    assert words.headline(both).startswith(
        "3 further facts close all 2 chains that keep more than 10 %,"
        " and break every one of the proofs by"
        " rules (proved fewest)"
    )
    locked = cut_of(db, edit, CutIn(rules=True, lock=("George",)))
    (proof,) = locked.open
    assert (proof.entities, len(proof.facts)) == ([], 2)
    assert proof.why.endswith("it is locked")
    assert "close all 2 chains that keep more than 10 %, and break all but 1 of" in words.headline(
        locked
    )
    strict = cut_of(db, edit, CutIn(rules=True, leak=0.99))
    assert "further facts break every one of the proofs" in words.headline(strict).replace(
        "fact breaks", "facts break"
    )
