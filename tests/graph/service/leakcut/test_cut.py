"""The leak cut of stored edits: what it closes, what it may not touch, and what stays open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from support.own_graphs import own_graphs
from support.stored_edits import probed, random_facts, store_edit
from support.stored_graphs import set_properties
from thinkeval.cypher.run import Database
from thinkeval.service.base.errors import NotFoundError, UsageError
from thinkeval.service.graphs import datasets
from thinkeval.service.leakcut import keys, leaks, request
from thinkeval.service.leakcut.cut import leak_cut
from thinkeval.service.leakcut.hitting_set import Problem
from thinkeval.service.leakcut.keys import Keys
from thinkeval.service.leakcut.words import facts_table
from thinkeval.service.models.edit import AppendOut
from thinkeval.service.models.leakcut import CutIn

FACTS = [
    probed(("Harry", "studied at", "Hogwarts"), 0.9, 0.01, "target_true"),
    probed(("Harry", "studied at", "Durmstrang"), 0.0, 0.9, "target_new", listed=False),
    probed(("Harry", "friend of", "Ron"), 0.9, 0.8),
    probed(("Harry", "friend of", "Luna"), 0.8, 0.7),
    probed(("Ron", "studied at", "Hogwarts"), 0.9, 0.9),
    probed(("Luna", "is in", "Ravenclaw"), 0.9, 0.8),
    probed(("Luna", "studied at", "Hogwarts"), 0.5, 0.01),
    probed(("Ravenclaw", "is a house of", "Hogwarts"), 0.9, 0.9),
    probed(("Ravenclaw", "belongs to", "Hogwarts"), 0.8, 0.9),
]
"""Leaks by Ron and by Luna's house, on two parallel facts; Luna's school itself was cut."""


@pytest.fixture
def graph(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield prefix


@pytest.fixture
def read(db: Database, graph: str) -> leaks.Leaks:
    score = store_edit(db, f"{graph}-edit", FACTS, dataset=graph)
    return leaks.of_edit(db, score, "likelihood")


def id_of(read: leaks.Leaks, subject: str, object_: str) -> str:
    (fact,) = [k for k, f in read.facts.items() if (f.subject, f.object) == (subject, object_)]
    return fact


def test_the_fewest_facts_close_all_paths_that_leak(read: leaks.Leaks) -> None:
    found = leak_cut(read, CutIn())
    assert (found.paths, found.leaking, len(found.facts)) == (4, 3, 2)
    assert (found.optimal, found.open, found.keys) == (True, [], "off")
    # Either of two facts on the way by Ron with either of two by Luna; of the house two parallel
    # facts would have to be edited.
    assert {fact.subject for fact in found.facts} <= {"Harry", "Ron", "Luna"}
    # The two parallel facts make two paths, and one chain as the score counts chains.
    assert (found.chains, found.chains_leaking) == (3, 2)
    assert [fact.closes for fact in found.facts] == [1, 1]
    assert [fact.alone for fact in found.facts] == [1, 1]
    assert len(found.alternatives) == 3
    assert not found.more
    assert found.expected is not None
    assert found.ifr is not None
    assert found.expected < 0.1 < found.ifr


def test_facts_of_a_cut_have_the_models_own_answers(db: Database, graph: str) -> None:
    score = store_edit(db, f"{graph}-edit", FACTS, dataset=graph)
    (cut, *_) = leak_cut(leaks.of_edit(db, score, "likelihood"), CutIn()).facts
    assert cut.says_post is None
    assert "answer now" not in [column.header for column in facts_table([cut]).columns]
    said = {"says_pre": cut.object, "says_post": "another"}
    set_properties(db, {"id": f"{score.edit}|{cut.id}", **said})
    (cut, *_) = leak_cut(leaks.of_edit(db, score, "likelihood"), CutIn()).facts
    assert (cut.says_pre, cut.says_post) == (cut.object, "another")
    assert "answer now" in [column.header for column in facts_table([cut]).columns]


@pytest.mark.parametrize("seed", range(3))
def test_each_fact_has_the_ifr_expected_after_it(db: Database, graph: str, seed: int) -> None:
    facts = random_facts(seed, others=3, links=16)
    read = leaks.of_edit(db, store_edit(db, f"{graph}-{seed}", facts, dataset=graph), "likelihood")
    found = leak_cut(read, CutIn(efficacy=0.8))
    names = [fact.id for fact in found.facts]

    def left(edited: Sequence[str]) -> float:
        chains = [(c.weight, c.retention, len(c.facts & set(edited))) for c in read.counted]
        return sum(w * t * 0.2**n for w, t, n in chains) / sum(w for w, _, _ in chains)

    for n, fact in enumerate(found.facts, 1):
        assert fact.expected == pytest.approx(left(names[:n]), abs=1e-12)
        best = min(left([*names[: n - 1], other]) for other in names[n - 1 :])
        assert fact.expected == pytest.approx(best, abs=1e-12), "no other lowers IFR more"
    if names:
        assert found.expected == pytest.approx(found.facts[-1].expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_without_any_fact_edited_the_leakage_is_ifr(db: Database, graph: str, seed: int) -> None:
    score = store_edit(db, f"{graph}-{seed}", random_facts(seed), dataset=graph)
    read = leaks.of_edit(db, score, "likelihood")
    found = leak_cut(read, CutIn(seconds=60, alternatives=0))
    if not read.counted:
        assert (found.ifr, found.expected) == (None, None)
    else:
        assert Problem(read.counted).leakage(()) == pytest.approx(found.ifr, abs=1e-12)
    left = [c for c in read.leaking(0.1) if not c.facts & {fact.id for fact in found.facts}]
    assert (left, found.open) == ([], [])


def test_no_smaller_choice_closes_all_paths(db: Database, graph: str) -> None:
    facts = random_facts(5, others=3, links=16)
    read = leaks.of_edit(db, store_edit(db, f"{graph}-edit", facts, dataset=graph), "likelihood")
    found = leak_cut(read, CutIn())
    paths = [chain.facts for chain in read.leaking(0.1)]
    for smaller in combinations(read.facts, len(found.facts) - 1):
        assert [path for path in paths if not path & set(smaller)]


def test_locks_and_sides(read: leaks.Leaks) -> None:
    about = leak_cut(read, CutIn(only_subject=True))
    assert {fact.subject for fact in about.facts} == {"Harry"}
    elsewhere = leak_cut(read, CutIn(not_subject=True))
    assert {fact.subject for fact in elsewhere.facts} == {"Ron", "Luna"}
    locked = leak_cut(read, CutIn(not_subject=True, lock=("Luna",)))
    assert {fact.subject for fact in locked.facts} == {"Ron", "Ravenclaw"}
    assert len(locked.facts) == 3, "both parallel facts"
    ron = id_of(read, "Harry", "Ron"), id_of(read, "Ron", "Hogwarts")
    found = leak_cut(read, CutIn(lock=ron))
    (left,) = found.open
    assert left.entities == ["Harry", "Ron", "Hogwarts"]
    assert left.why == "it is locked"
    with pytest.raises(NotFoundError, match="Hagrid"):
        leak_cut(read, CutIn(lock=("Hagrid",)))
    neither = leak_cut(read, CutIn(only_subject=True, not_subject=True))
    assert (neither.facts, len(neither.open)) == ([], neither.leaking)
    assert all("it is not about Harry" in each.why for each in neither.open)


def test_facts_that_share_a_key_are_not_edited_together(read: leaks.Leaks) -> None:
    found = leak_cut(read, CutIn(keys="subject"))
    assert {fact.subject for fact in found.facts} == {"Ron", "Luna"}
    assert found.keys == "subject"
    luna = next(fact for fact in found.facts if fact.subject == "Luna")
    assert (luna.n_collateral, luna.collateral) == (0, 0.0) or luna.n_collateral == 1
    keys = Keys.of_groups([{id_of(read, "Ron", "Hogwarts"), id_of(read, "Luna", "Ravenclaw")}])
    measured = leak_cut(read, CutIn(not_subject=True), keys=keys)
    assert measured.keys == "measured"
    assert len(measured.facts) == 3


def test_collateral_weighs(read: leaks.Leaks) -> None:
    """Harry has two facts on the chains, each with the other as its collateral; Ron has one."""
    cheap = leak_cut(read, CutIn(collateral=1))
    assert {fact.subject for fact in cheap.facts} == {"Ron", "Luna"}
    (ron,) = [fact for fact in cheap.facts if fact.subject == "Ron"]
    assert ron.cost == pytest.approx(1 / 0.95)
    assert all(fact.cost >= 1 / 0.95 for fact in cheap.facts)


def test_an_append_has_nothing_to_cut(db: Database, graph: str) -> None:
    about = AppendOut.model_construct(loss="none")
    score = store_edit(db, f"{graph}-edit", FACTS, dataset=graph)
    with pytest.raises(UsageError, match="nothing to cut"):
        leaks.of_edit(db, score.model_copy(update={"append": about}), "likelihood")
    with pytest.raises(UsageError, match="not measured"):
        leaks.of_edit(db, score, "p")


def test_measured_keys_are_stored_with_the_edit(db: Database, read: leaks.Leaks) -> None:
    edit = read.score.edit if read.score else ""
    assert keys.read(db, edit) is None
    pair = {id_of(read, "Ron", "Hogwarts"), id_of(read, "Luna", "Ravenclaw")}
    keys.write(db, edit, Keys.of_groups([pair]), read.facts)
    found = keys.read(db, edit)
    assert found is not None
    assert found.groups == (frozenset(pair),)
    assert read.score is not None
    made = request.edit_cut(db, read.score, "likelihood", CutIn(not_subject=True))
    assert made.keys == "measured"
    assert len(made.facts) == 3
    assert request.edit_cut(db, read.score, "likelihood", CutIn(keys="subject")).keys == "subject"


@pytest.fixture(scope="module")
def knowgic(db: Database, data_dir: Path) -> Iterator[str]:
    with own_graphs(db) as prefix:
        read = datasets.read(data_dir / "knowgic", name=f"{prefix}-knowgic")
        datasets.store(db, read)
        yield f"{prefix}-knowgic"


@pytest.mark.parametrize(
    ("options", "total"),
    [
        ({}, 111), ({"only_subject": True}, 119), ({"not_subject": True}, 151),
        ({"not_subject": True, "keys": "subject"}, 154),
    ],
)  # fmt: skip
def test_the_cuts_of_knowgic_as_a_user_asks_for_them(
    db: Database, knowgic: str, options: dict[str, Any], total: int
) -> None:
    rewrites_ = datasets.list_rewrites(db, knowgic)
    assert len(rewrites_) == 26
    found = [request.rewrite_cut(db, knowgic, each, CutIn(**options)) for each in rewrites_]
    assert all(each.optimal and not each.open for each in found)
    assert sum(len(each.facts) for each in found) == total
