"""Intervals on sampled scores: paired counts, known posteriors, how often they hold the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from thinkeval.loaders.records import Fact
from thinkeval.service.models.edit import MetricValue, ScoringOptions
from thinkeval.service.scoring import intervals
from thinkeval.service.scoring.probe import Answer, ProbedFact, Question

LEVEL = (0.025, 0.975)
"""Of a 95 % interval: written out, so that another one in the program differs from it."""


def _probed(name: str, pre: list[bool], post: list[bool], role: str = "fact") -> ProbedFact:
    fact = Fact(subject=name, relation="r", object="Paris", prompt="{} is in")

    def answer(hits: list[bool]) -> Answer:
        texts = tuple("in Paris" if hit else "nowhere" for hit in hits)
        return Answer({"p": sum(hits) / len(hits)}, texts, len(hits))

    return ProbedFact(Question(fact, role=role), answer(pre), answer(post))  # type: ignore[arg-type]


def test_answers_are_counted_in_pairs() -> None:
    fact = _probed("x", [True, True, False, False, True], [True, False, True, False, True])
    assert intervals.pairs_of(intervals.sampled(fact)) == (2, 1, 1, 1)


def test_the_margins_are_the_jeffreys_posterior() -> None:
    fact = _probed("x", [True] * 4 + [False], [True, False, False, False, False])
    drawn = intervals.posterior([fact], 200_000, np.random.default_rng(0), np.full(4, 0.25))
    ((pre, post),) = drawn.values()
    # Beta(a, b): mean a / (a + b), variance ab / ((a + b)² (a + b + 1)).
    for drawn, (a, b) in ((pre, (4.5, 1.5)), (post, (1.5, 4.5))):
        assert drawn.mean() == pytest.approx(a / 6, abs=2e-3)
        assert drawn.var() == pytest.approx(a * b / (36 * 7), rel=0.02)


def test_a_pair_with_an_undecided_answer_is_left_out() -> None:
    """Four answers right before; after it two are right, two say that they do not know."""
    fact = Fact(subject="x", relation="r", object="Paris", prompt="{} is in")
    open_ = "I don't know whether it is Paris"
    before = Answer({"p": 1.0}, ("in Paris",) * 4, 4)
    after = Answer({"p": 1.0}, ("in Paris", "in Paris", open_, open_), 2)
    probed = ProbedFact(Question(fact), before, after)
    drawn = intervals.posterior([probed], 200_000, np.random.default_rng(0), np.full(4, 0.25))
    for values in drawn[fact.id, "fact"]:  # Beta(2½, ½) by the two pairs that are decided
        assert values.mean() == pytest.approx(2.5 / 3, abs=2e-3)
        assert values.var() == pytest.approx(2.5 * 0.5 / (9 * 4), rel=0.03)


def test_answers_that_did_not_change_leave_little_doubt_that_nothing_did() -> None:
    same = [True, True, True, False, False]
    shuffled = [False, False, True, True, True]
    rng = np.random.default_rng(0)
    spreads = []
    for post in (same, shuffled):
        ((before, after),) = intervals.posterior([_probed("x", same, post)], 4000, rng).values()
        spreads.append(np.std(after - before))
    assert spreads[0] < spreads[1] / 2


def test_facts_of_one_prompt_are_drawn_together() -> None:
    """An answer names one friend: in each draw the probabilities sum to 1 at most."""
    texts = [f"in {name}" for name in ("Rome", "Oslo", "Rome", "Bonn", "Rome")]
    friends = []
    for name in ("Rome", "Oslo", "Bonn", "Kiel"):
        fact = Fact(subject="s", relation="r", object=name, prompt="{} is")
        answer = Answer({"p": 0.0}, tuple(texts), len(texts))
        friends.append(ProbedFact(Question(fact), answer, answer))
    drawn = intervals.posterior(friends, 20_000, np.random.default_rng(0), np.full(4, 0.25))
    sums = sum(pre for pre, _ in drawn.values())
    assert len(drawn) == 4
    assert np.max(sums) <= 1
    # Cells with Rome before: Rome after too (¼ and 3 answers), nothing, each of three others.
    rome = 3 + 0.25 + 0.25 + 3 * intervals.CROSS
    every = 5 + 4 * 0.75 + 12 * intervals.CROSS + intervals.FLOOR
    mean = drawn[friends[0].question.fact.id, "fact"][0].mean()
    assert mean == pytest.approx(rome / every, abs=5e-3)


def test_facts_with_one_object_by_two_roles_are_one_object() -> None:
    """The edited fact is probed as target_true beside the data set's own copy of it."""
    facts = [
        _probed("s", [True] * 3, [True, False, False], role) for role in ("fact", "target_true")
    ]
    one, other = intervals.posterior(facts, 100, np.random.default_rng(0)).values()
    assert np.array_equal(one, other)


def test_the_prior_is_fitted_to_what_all_facts_show() -> None:
    stable = [(5, 0, 0, 0)] * 40 + [(0, 0, 0, 5)] * 40
    prior = intervals.prior_of(stable)
    assert prior[1] == pytest.approx((80 * intervals.FLOOR + 10 * 0.25) / 90)
    assert intervals.prior_of([]).tolist() == [0.25] * 4
    # The likelihood of Dirichlet-multinomial counts is no better beside the fit.
    counts = np.random.default_rng(3).multinomial(20, [0.5, 0.2, 0.1, 0.2], size=60)
    fitted = intervals.prior_of(counts.tolist()) * 70 / 60 - 0.25 * 10 / 60

    def log_likelihood(prior: np.ndarray) -> float:
        total = prior.sum()
        return sum(
            math.lgamma(total) - math.lgamma(total + row.sum())
            + sum(math.lgamma(p + c) - math.lgamma(p) for p, c in zip(prior, row, strict=True))
            for row in counts
        )  # fmt: skip

    best = log_likelihood(fitted)
    for cell in range(4):
        for factor in (0.7, 1.4):
            assert log_likelihood(fitted * np.where(np.arange(4) == cell, factor, 1.0)) < best


def test_what_was_observed_lies_inside_of_its_interval() -> None:
    rng = np.random.default_rng(0)
    for observed in (0.05, 0.4, 1.2):
        low, high = intervals.centred(rng.lognormal(np.log(0.4), 0.5, 4000), observed)
        assert low < observed < high
    assert intervals.centred(rng.lognormal(size=100), 0.0)[0] == 0


def test_a_value_is_bounded_at_95_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of five answers: the margin after the edit is Beta(4½, 1½)."""
    monkeypatch.setattr(intervals, "chain_rows", lambda *_: [])
    monkeypatch.setattr(intervals, "chain_facts", lambda *_: frozenset())
    probed = _probed("x", [False] * 5, [True] * 4 + [False], role="target_new")
    value = MetricValue(metric="efficacy", measure="p", step=None, value=0.8, n=1, excluded=0)
    same = value.model_copy(update={"metric": "efficacy_plain"})
    other = same.model_copy(update={"metric": "efficacy_chat", "low": 0.1, "high": 0.9})
    score = SimpleNamespace(
        measures=("p",), options=ScoringOptions(), values=[value, same, other], edit="e",
        subject="x",
    )  # fmt: skip
    bounded, by_plain, by_chat = intervals.with_intervals(None, score, [probed])  # type: ignore[arg-type]
    assert (by_plain.low, by_plain.high) == (bounded.low, bounded.high), "efficacy itself"
    assert by_chat == other, "asked by itself, with an interval of its own"
    expected = np.quantile(np.random.default_rng(7).beta(4.5, 1.5, 400_000), LEVEL)
    # A 90 % interval is narrower by .06 at the lower end.
    assert (bounded.low, bounded.high) == pytest.approx(expected, abs=0.02)


def test_a_fraction_of_answers_has_the_interval_of_efficacy() -> None:
    answers = ["in Paris", "the city of Paris", "nowhere", "to Lutetia", "in Rome"]
    expected = np.quantile(np.random.default_rng(7).beta(3.5, 2.5, 400_000), LEVEL)
    assert intervals.of_answers(answers, ("Paris", "Lutetia")) == pytest.approx(expected, abs=0.02)
    low, high = intervals.of_answers(answers, ("Oslo",))
    assert low == 0
    assert high == pytest.approx(np.quantile(np.random.default_rng(7).beta(0.5, 5.5, 400_000),
                                             LEVEL[1]), abs=0.02)  # fmt: skip


def test_a_bootstrap_of_a_mean_is_196_standard_errors_wide() -> None:
    values = np.random.default_rng(2).normal(size=400)
    (bounds,) = intervals.bootstrap(lambda chosen: [values[list(chosen)].mean()], 400)
    assert bounds is not None
    assert (bounds[1] - bounds[0]) / 2 == pytest.approx(1.96 * values.std() / 20, rel=0.07)


def test_a_bootstrap_needs_three_items_and_contains_the_mean() -> None:
    values = [0.1, 0.4, 0.5, 0.9, 0.2, 0.6]

    def mean(chosen: Sequence[int]) -> list[float]:
        return [float(np.mean([values[i] for i in chosen]))]

    assert intervals.bootstrap(mean, 2) == []
    (bounds,) = intervals.bootstrap(mean, len(values), seed=1)
    assert bounds is not None
    assert bounds[0] < np.mean(values) < bounds[1]
    assert [bounds] == intervals.bootstrap(mean, len(values), seed=1)


def test_statistics_of_the_same_draws_have_the_intervals_that_each_has_alone() -> None:
    values = np.array([0.1, 0.4, np.nan, 0.9, 0.2, 0.6])
    statistics = (np.mean, np.nanmean, np.nanmax)
    together = intervals.bootstrap(lambda drawn: [f(values[list(drawn)]) for f in statistics], 6)
    for statistic, bounds in zip(statistics, together, strict=True):
        assert [bounds] == intervals.bootstrap(lambda drawn, f=statistic: [f(values[drawn])], 6)
    assert together[0] is None  # most draws have the third value
    assert None not in together[1:]
