"""The facts that a round of co-edits adds, by each way to choose them."""

from __future__ import annotations

from typing import Any

import pytest

from thinkeval.cypher import rows
from thinkeval.service.leakcut.coedit import chosen
from thinkeval.service.leakcut.cut import Constraints
from thinkeval.service.leakcut.leaks import Leaks
from thinkeval.service.models.leakcut import CoEditIn

PATHS = ({"hub", "a"}, {"hub", "b"}, {"b", "c"}, {"hub", "locked"})
"""Three of four chains pass `hub`, two pass `b`; all leak whole."""
COSTS = {"hub": 9.0, "a": 1.0, "b": 1.0, "c": 1.0, "locked": 1.0}


@pytest.fixture
def leaks() -> Leaks:
    paths = tuple(
        rows.LeakPathRow(("s", *sorted(facts), "o"), tuple(sorted(facts)), None, None, None, True)
        for facts in PATHS
    )
    return Leaks("g", "r", ("s", "o"), "relation", "new", paths, {})


def choice(
    leaks: Leaks, choose: str, *, number: int = 1, listed: str = "", **more: Any
) -> list[str]:
    posted = CoEditIn(graph="g", rewrite="r", choose=choose, **more)
    limits = Constraints({"locked": "it is locked"}, (), COSTS, {}, {}, "off")
    return chosen(leaks, limits, posted, number, leaks.leaking(0.1), listed.split())


def test_a_path_leaks_above_the_bound_and_not_at_it(leaks: Leaks) -> None:
    assert len(leaks.leaking(0.99)) == len(PATHS)
    assert leaks.leaking(1.0) == ()


def test_the_largest_share_of_the_leakage_goes_first(leaks: Leaks) -> None:
    assert choice(leaks, "share") == ["hub"]
    assert choice(leaks, "share", per_round=3) == ["hub", "b", "a"]


def test_the_facts_that_lower_ifr_most_for_their_cost_go_first(leaks: Leaks) -> None:
    assert choice(leaks, "budget") == ["b"], "two chains at a cost of 1, not three at one of 9"
    assert choice(leaks, "listed", listed="c hub") == ["c"]
    assert choice(leaks, "listed", listed="hub locked", per_round=2) == ["hub"]


def test_a_whole_cut_is_as_large_as_it_must_be(leaks: Leaks) -> None:
    assert sorted(choice(leaks, "cut")) in (["b", "hub"], ["c", "hub"])


def test_a_random_choice_is_the_same_of_one_draw_and_another_in_each_round(leaks: Leaks) -> None:
    orders = [tuple(choice(leaks, "random", number=n, per_round=4)) for n in range(8)]
    assert [tuple(choice(leaks, "random", number=n, per_round=4)) for n in range(8)] == orders
    assert len(set(orders)) > 2
    assert {frozenset(order) for order in orders} == {frozenset("abc") | {"hub"}}
