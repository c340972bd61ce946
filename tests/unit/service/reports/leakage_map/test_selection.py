"""Chains of an edit that a leakage map shows, and the address of the same view."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest
from tests.unit.service.reports.test_chain_tree import chain

from thinkeval.service.reports.leakage_selection import Selection

ROWS = [
    chain("SAO", ratio=0.9),
    chain("SABO", ratio=0.5),
    chain("SBAO", ratio=0.005),
    chain("SO", pre=0.0),
]


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        ({}, [1, 2, 3, 4]),
        ({"through": ("A",)}, [1, 2, 3]),
        ({"through": ("A", "B")}, [2, 3]),
        ({"first": "SA"}, [1, 2]),
        ({"fact": "AO"}, [1, 3]),
        ({"chain": 3}, [3]),
        ({"steps": (1, 2)}, [1, 4]),
        ({"min_ratio": 0.5}, [1, 2]),
        ({"surviving": True}, [1, 2, 4]),
        ({"through": ("A",), "steps": (3,), "surviving": True}, [2]),
    ],
)
def test_each_condition_that_is_given_holds(asked: dict, numbers: list[int]) -> None:  # type: ignore[type-arg]
    selection = Selection(**asked)
    assert [number for number, _ in selection.chosen(ROWS)] == numbers
    back = {key: found if key in ("through", "steps") else found[0]
            for key, found in parse_qs(selection.query()).items()}  # fmt: skip
    assert Selection.model_validate(back) == selection


def test_a_selection_in_words() -> None:
    asked = Selection(through=("A",), first="SA", steps=(2, 3), min_ratio=0.5, surviving=True)
    assert asked.in_words(ROWS) == (
        "through A, that begin with S r A, of 2 or 3 facts, of retention 0.5 or more, that survive"
    )
    assert Selection().in_words(ROWS) == ""
