"""Limits of a run: how many requests may be asked, and the end of a call within it."""

from __future__ import annotations

import time

import pytest

from thinkeval.editing import interruption
from thinkeval.service.growth.context import BYTES, FRAME, Budget, BudgetReached
from thinkeval.service.growth.endpoint import Message, Request, Sampling

REQUEST = Request((Message("user", "x" * 30),), Sampling(1.0, 50), 0, "direct")
LONGEST = 30 // BYTES + FRAME + 50


def test_requests_are_allowed_whose_longest_answers_fit() -> None:
    assert Budget().allowed([REQUEST] * 5) == 5
    assert Budget(max_calls=3).allowed([REQUEST] * 5) == 3
    for left, n in ((LONGEST, 1), (2 * LONGEST - 1, 1), (2 * LONGEST, 2), (100 * LONGEST, 5)):
        assert Budget(max_tokens=left + 7, tokens=7).allowed([REQUEST] * 5) == n
    with pytest.raises(BudgetReached, match="token budget"):
        Budget(max_tokens=LONGEST - 1).allowed([REQUEST])
    with pytest.raises(BudgetReached, match="call budget"):
        Budget(max_calls=3, calls=3).allowed([REQUEST])


def test_time_is_looked_at_within_a_call() -> None:
    budget = Budget(max_seconds=60, started=time.monotonic() - 61)
    with (
        pytest.raises(BudgetReached, match="time budget of 60 s"),
        interruption.checked(budget.check_time),
    ):
        interruption.check()


def test_an_inner_check_keeps_the_outer_one() -> None:
    seen: list[str] = []
    with interruption.checked(lambda: seen.append("outer")):
        with interruption.checked(lambda: seen.append("inner")):
            interruption.check()
        interruption.check()
    interruption.check()
    assert seen == ["outer", "inner", "outer"]
