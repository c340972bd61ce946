"""Sums over co-edits of several rewrites, beside random controls."""

from __future__ import annotations

import pytest

from support.stored_edits import frontier, round_of
from thinkeval.service.leakcut import coedit_sweep
from thinkeval.service.leakcut.coedit_sweep import CoEditCell
from thinkeval.service.models.leakcut import CoEditOut


def out(*ifr: float, chosen: int = 0, **last: object) -> CoEditOut:
    rounds = [round_of(number, ifr=value) for number, value in enumerate(ifr)]
    rounds[-1] = rounds[-1].model_copy(update=last)
    return frontier(rounds=rounds, chosen=chosen)


CELLS = [
    CoEditCell(method="memit", rewrite="a", chosen=out(0.4, 0.1, 0.02, chosen=2, leaking=0),
               controls=[out(0.4, 0.3, 0.2), out(0.4, 0.2, 0.1)]),
    CoEditCell(method="memit", rewrite="b", chosen=out(0.5, 0.4, chosen=1),
               controls=[out(0.5, 0.3), out(0.5, 0.3)]),
    CoEditCell(method="memit", rewrite="c", chosen=out(0.2, 0.1, preservation_unedited=0.5)),
    CoEditCell(method="memit", rewrite="d", error="it cannot be edited"),
]  # fmt: skip


def test_each_row_is_over_the_same_rewrites() -> None:
    alone, one, two = coedit_sweep.frontier("memit", CELLS, 2)
    assert [row.n for row in (alone, one, two)] == [3, 3, 3]
    assert (alone.ifr, one.ifr, two.ifr) == (0.4, 0.1, 0.1)
    assert one.ratio == pytest.approx(0.5)
    assert two.ratio == pytest.approx(0.5)  # of .05, .8 and .5; b and c ended with one fact
    assert (alone.clean, two.clean) == (0, 1)
    # Against the mean of the controls: a is lower, b is higher, c has none.
    assert (alone.lower, alone.higher, alone.p) == (0, 0, None)
    assert (one.lower, one.higher, one.p) == (1, 1, 1.0)
    assert one.random_ifr == pytest.approx((0.25 + 0.3) / 2)
    assert coedit_sweep.frontier("rome", CELLS, 2) == []


def test_what_the_chosen_rounds_reach() -> None:
    found = coedit_sweep.chosen("memit", CELLS)
    assert (found.n, found.kept, found.alone) == (3, 2, 0)
    assert found.reduction == pytest.approx(0.2)  # of .95, .2 and 0
    assert found.missed == {"c": "Preservation of the rest falls to 0.50 with one further fact"}
    assert (found.facts_to_clean, found.n_clean) == (2, 1)


def test_the_sign_test_is_exact() -> None:
    assert coedit_sweep.sign_test(15, 1) == pytest.approx(2 * (1 + 16) / 2**16)
    assert coedit_sweep.sign_test(0, 0) is None
