"""Names that can be the new answer of a request to append."""

from __future__ import annotations

import pytest

from thinkeval.service.graphs import requests
from thinkeval.service.graphs.requests import Key


def key(*names: str, correct: tuple[str, ...]) -> Key:
    return Key("s", "r", correct, "{} r", None, (), (), names)


def test_what_the_model_gives_already_is_no_new_answer() -> None:
    names = tuple(f"n{i}" for i in range(10))
    prior = {name: i / 10 for i, name in enumerate(names)}
    of = key(*names, correct=("n8",))
    assert requests.new_answers(of, None) == (*names[:8], "n9")
    # Of 10 values the 90th percentile is the ninth.
    assert requests.new_answers(of, prior) == names[:8]
    many = key(*(f"n{i}" for i in range(99)), correct=())
    assert len(requests.new_answers(many, None)) == requests.TRIED


@pytest.mark.parametrize(
    ("values", "wanted"), [([0.5], 0.5), ([3, 1, 2], 3), (list(range(20)), 17), ([1, 1, 1], 1)]
)
def test_the_quantile_is_a_value(values: list[float], wanted: float) -> None:
    assert requests.quantile(values) == wanted
