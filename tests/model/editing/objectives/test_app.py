"""APP's formulas (Ma et al. 2024, eq. 7–10) on numbers; what its objective reads and refuses."""

from __future__ import annotations

import math

import hypothesis
import hypothesis.strategies as st
import pytest
import torch

from thinkeval.editing.errors import EditingError, HparamsError, RequestError
from thinkeval.editing.objectives.all_answers import AllAnswers
from thinkeval.editing.objectives.app import App
from thinkeval.loaders.records import RewriteRequest

REQUEST = RewriteRequest("r", "test", "{} wrote", "Ann", "wrote", "A", "N", correct=("A", "B"))
CORRECT, HARD = {"r": ("A", "B")}, {"r": ("X", "Y", "Z")}
LOG_P = st.floats(-12, 0)


def total(weights, nll, correct, hard, before, hard_before):
    """L as the paper writes it, by loops over floats."""
    n, m = len(correct), len(hard)
    pairs = [max(0, 2 - c + f) for c in correct for f in hard]
    l1 = sum(pairs) / (n * m)
    l2 = sum(max(0, b - c) for c, b in zip(correct, before, strict=True)) / n
    l3 = sum(max(0, f - b) for f, b in zip(hard, hard_before, strict=True)) / m
    return nll + weights[0] * l1 + weights[1] * l2 + weights[2] * l3


@hypothesis.given(
    st.tuples(*[st.floats(0, 2)] * 3), st.lists(LOG_P, min_size=10, max_size=10), st.floats(0, 9)
)
def test_the_loss_is_that_of_the_equations(weights, values, nll):
    now = [torch.tensor(part, dtype=torch.float64) for part in (values[:5], values[5:])]
    app = App(*weights, correct=CORRECT, hard=HARD)
    needed = app.rows(REQUEST).names
    keep = [("A", "B", "X", "Y", "Z").index(name) for name in needed]
    found = nll
    if needed:
        wide = torch.tensor(nll, dtype=torch.float64)
        found = float(app.loss(REQUEST, wide, now[0][keep], now[1][keep]))
    expected = total(weights, nll, values[:2], values[2:5], values[5:7], values[7:])
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_at_the_start_the_maxima_of_l2_and_l3_have_no_gradient():
    now = torch.tensor([-1.0, -2.0, -3.0], requires_grad=True)
    app = App(0, 1, 1, {"r": ("A", "B")}, {"r": ("X",)})
    loss = app.loss(REQUEST, now.sum() * 0, now, now.detach())
    (gradient,) = torch.autograd.grad(loss, now)
    assert float(loss.detach()) == 0
    assert gradient.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("weights", "correct", "hard", "names"),
    [
        ((0, 0, 0), CORRECT, HARD, ()),
        ((1, 1, 1), {}, {}, ()),
        ((1, 0, 0), CORRECT, {}, ()),
        ((1, 0, 0), {}, HARD, ()),
        ((0, 1, 0), CORRECT, HARD, ("A", "B")),
        ((0, 0, 1), CORRECT, HARD, ("X", "Y", "Z")),
        ((1, 0, 0), CORRECT, HARD, ("A", "B", "X", "Y", "Z")),
        ((1, 1, 1), CORRECT, {"other": ("X",)}, ("A", "B")),
    ],
)
def test_only_answers_that_a_term_needs_are_read(weights, correct, hard, names):
    assert App(*weights, correct, hard).rows(REQUEST).names == names


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
@pytest.mark.parametrize("name", ["alpha", "beta", "gamma"])
def test_a_weight_that_is_no_weight_is_refused(name, value):
    weights = {"alpha": 1.0, "beta": 1.0, "gamma": 1.0, name: value}
    with pytest.raises(HparamsError, match=f"'{name}', a weight of APP, is {value}"):
        App(**weights)


@pytest.mark.parametrize("lists", [{"correct": {"r": ("A", " ")}}, {"hard": {"r": ("",)}}])
def test_an_empty_name_is_refused(lists):
    with pytest.raises(RequestError, match="request 'r': one of its answers is empty"):
        App(1, 1, 1, **lists)
    if "correct" in lists:
        with pytest.raises(EditingError):
            AllAnswers(**lists)


def test_all_answers_counts_each_answer_once():
    mixed = AllAnswers({"r": ("A", "B", "N", "A")})
    assert mixed.rows(REQUEST).names == ("A", "B")
    assert mixed.rows(REQUEST).as_targets
    now = torch.tensor([-2.0, -4.0])
    assert float(mixed.loss(REQUEST, torch.tensor(3.0), now, now)) == 3.0
    assert mixed.rows(RewriteRequest("s", "test", "{} is", "Ann", "r", "A", "B")).names == ()


def test_digests_tell_objectives_apart():
    made = [
        App(1, 1, 1, CORRECT, HARD),
        App(1, 1, 0.5, CORRECT, HARD),
        App(1, 1, 1, HARD, CORRECT),
        App(1, 1, 1, {"r": ("B", "A")}, HARD),
        AllAnswers(CORRECT),
        AllAnswers(HARD),
    ]
    assert len({each.digest for each in made}) == len(made)
    assert App(1, 1, 1, CORRECT, HARD).digest == App(1.0, 1, 1, {"r": ("A ", "B")}, HARD).digest
