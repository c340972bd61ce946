"""Agreement over the labels of rules; tests/unit/service/test_agreement.py has the formulas."""

from __future__ import annotations

import pytest

from thinkeval.loaders.rule_records import Atom, Rule
from thinkeval.service.rules.review import agreement
from thinkeval.service.rules.store import StoredRule

RULE = Rule(Atom("x", "r", "y"), Atom("y", "s", "z"), Atom("x", "t", "z"))


def stored(*labels: str) -> StoredRule:
    return StoredRule(RULE.id, "g", RULE, "kept", tuple(zip("pqrs", labels, strict=False)))


def test_rules_with_one_label_say_nothing() -> None:
    found = agreement([stored("a"), stored(), stored("a", "b"), stored("c", "d", "e")])
    assert found.n == 2
    assert found.raw == 0.0
    assert found.raw_plausible == 1.0
    assert found.ac1_plausible == pytest.approx(1.0)


def test_over_nothing_it_is_undefined() -> None:
    found = agreement([stored("a")])
    assert (found.n, found.raw, found.ac1, found.ac1_plausible) == (0, None, None, None)
