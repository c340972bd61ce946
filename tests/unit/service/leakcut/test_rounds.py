"""The chosen round of a frontier, and objectives."""

from __future__ import annotations

from typing import Any

import pytest

from thinkeval.service.base.errors import UsageError
from thinkeval.service.leakcut.coedit import parse, pick
from thinkeval.service.models.leakcut import RoundOut


def row(number: int, ifr: float | None, **changes: Any) -> RoundOut:
    values: dict[str, Any] = {
        "number": number, "edit": f"e{number}", "facts": number + 1, "ifr": ifr, "n_chains": 9,
        "leaking": 3, "surviving": 5, "efficacy": 0.9, "preservation": 0.9, "n_preservation": 4,
        "preservation_unedited": 0.95, "n_preservation_unedited": 4, "subject_retention": None,
        "n_subject_retention": 0,
    }  # fmt: skip
    return RoundOut(**values | changes)


def test_without_an_objective_the_lowest_ifr_that_keeps_the_edit_is_chosen() -> None:
    rounds = [
        row(0, 0.5), row(1, 0.3), row(2, 0.1, preservation_unedited=0.7),
        row(3, 0.05, reaches=False), row(4, None),
    ]  # fmt: skip
    assert pick(rounds, None) == 1
    assert pick([row(0, 0.5, preservation_unedited=None), row(1, 0.4, reaches=False)], None) == 0
    none = {"preservation_unedited": None, "n_preservation_unedited": 0}
    assert pick([row(0, 0.5), row(1, 0.4, **none)], None) == 1, "there is nothing to lose"


def test_the_first_round_that_meets_an_objective_is_chosen() -> None:
    rounds = [row(0, 0.5), row(1, 0.1, preservation=0.8), row(2, 0.08), row(3, 0.01)]
    goal = parse("ifr<=.1, preservation >= .9")
    assert [goal.meets(each) for each in rounds] == [False, False, True, True]
    assert pick(rounds, goal) == 2
    assert pick(rounds[:2], goal) == 1, "the fewest misses, then the lowest IFR"
    assert not parse("subject_retention>=0").meets(rounds[0]), "undefined meets nothing"


@pytest.mark.parametrize("text", ["", "ifr", "ifr=.1", "leak<.1", "ifr<=x", "ifr<=1e", "ifr<.1,"])
def test_an_objective_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)
