"""Gwet's AC1 against values computed by hand from its definition."""

from __future__ import annotations

import pytest

from thinkeval.loaders.rule_records import Atom, Rule
from thinkeval.service.rules.review import ac1, agreement, raw
from thinkeval.service.rules.store import StoredRule

RULE = Rule(Atom("x", "r", "y"), Atom("y", "s", "z"), Atom("x", "t", "z"))


def stored(*labels: str) -> StoredRule:
    return StoredRule(RULE.id, "g", RULE, "kept", tuple(zip("pqrs", labels, strict=False)))


def test_two_raters_two_categories_by_hand() -> None:
    # 40 both yes, 5 + 5 apart, 50 both no: p_a = .9; π(yes) = .45, so
    # p_e = 2 · .45 · .55 = .495 and AC1 = .405 / .505.
    items = [["y", "y"]] * 40 + [["y", "n"]] * 5 + [["n", "y"]] * 5 + [["n", "n"]] * 50
    assert raw(items) == (pytest.approx(0.9), 100)
    assert ac1(items, ["y", "n"]) == pytest.approx(0.405 / 0.505)


def test_high_agreement_on_one_category_is_not_punished() -> None:
    # Cohen's kappa is below 0 here (−.0101); π = .99, p_e = 2 · .99 · .01 = .0198.
    items = [["y", "y"]] * 98 + [["y", "n"], ["n", "y"]]
    assert ac1(items, ["y", "n"]) == pytest.approx((0.98 - 0.0198) / (1 - 0.0198))


def test_five_categories_by_hand() -> None:
    # p_a = 2/4; π = (a 3/8, b 3/8, c 1/8, d 0, e 1/8);
    # Σ π(1 − π) = 2 · 15/64 + 2 · 7/64 = 44/64; p_e = 11/64; AC1 = (1/2 − 11/64) / (53/64) = 21/53.
    items = [["a", "a"], ["b", "b"], ["a", "b"], ["c", "e"]]
    assert ac1(items, "abcde") == pytest.approx(21 / 53)


def test_three_raters_by_hand() -> None:
    # Pairs that agree: 1, 1/3; p_a = 2/3. π(y) = (1 + 2/3)/2 = 5/6; p_e = 2 · 5/6 · 1/6 = 5/18.
    items = [["y", "y", "y"], ["y", "y", "n"]]
    assert ac1(items, ["y", "n"]) == pytest.approx((2 / 3 - 5 / 18) / (13 / 18))


def test_rules_with_one_label_say_nothing() -> None:
    found = agreement([stored("a"), stored(), stored("a", "b"), stored("c", "d", "e")])
    assert found.n == 2
    assert found.raw == 0.0
    assert found.raw_plausible == 1.0
    assert found.ac1_plausible == pytest.approx(1.0)


def test_over_nothing_it_is_undefined() -> None:
    found = agreement([stored("a")])
    assert (found.n, found.raw, found.ac1, found.ac1_plausible) == (0, None, None, None)
    with pytest.raises(ValueError, match="two categories"):
        ac1([["a", "a"]], ["a"])
