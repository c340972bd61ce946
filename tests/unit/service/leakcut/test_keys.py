"""Keys by subject, and the collateral of a fact; measured keys are tested on a model."""

from __future__ import annotations

import pytest

from thinkeval.loaders.records import Fact
from thinkeval.service.leakcut.keys import Keys, by_subject, collateral


def fact(subject: str, relation: str) -> Fact:
    return Fact(subject, relation, "x", "{} " + relation)


HARRY = [fact("Harry", "studied at"), fact("Harry", "is a friend of"), fact("Harry", "lives in")]
RON = [fact("Ron", "studied at"), fact("Ron", "is a friend of")]
LILY = fact("Lily", "studied at")


def test_one_key_a_subject() -> None:
    keys = by_subject([HARRY[0], RON[0], HARRY[1], LILY, RON[1], HARRY[2], HARRY[0]])
    assert keys.groups == (frozenset(f.id for f in HARRY), frozenset(f.id for f in RON))
    assert keys.near[HARRY[1].id] == (HARRY[0].id, HARRY[2].id)
    assert keys.near[RON[0].id] == (RON[1].id,)
    assert keys.near[LILY.id] == ()
    assert len(keys.near) == 6
    assert by_subject([]) == Keys((), {})


def test_collateral_is_the_sum_over_the_others() -> None:
    # Not transitive: b is near a and c, which are not near each other.
    keys = Keys((frozenset("abc"),), {"a": ("b",), "b": ("a", "c"), "c": ("b",), "d": ()})
    found = collateral(keys, {"a": 0.25, "b": 0.5, "d": 1.0})
    assert found == {"a": 0.5, "b": pytest.approx(0.25), "c": 0.5, "d": 0.0}
