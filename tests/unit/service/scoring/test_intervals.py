"""Intervals on sampled scores: paired counts, known posteriors, how often they hold the truth."""

from __future__ import annotations

import random
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from thinkeval.loaders.records import Fact
from thinkeval.service.schemas import MetricValue
from thinkeval.service.scoring import intervals
from thinkeval.service.scoring.probe import Answer, ProbedFact, Question

LEVEL = (0.025, 0.975)
"""Of a 95 % interval: written out, so that another one in the program differs from it."""
TRUE = {"a": (0.9, 0.5), "b": (0.8, 0.8), "c": (0.7, 0.6), "d": (0.95, 0.2), "e": (0.6, 0.9)}
CHAINS = (("a", "b"), ("d", "c", "e"), ("d", "b"), ("a", "c", "b", "e"))


@dataclass(frozen=True)
class _Link:
    id: str


@dataclass(frozen=True)
class _Chain:
    links: tuple[_Link, ...]

    @property
    def steps(self) -> int:
        return len(self.links)


def _probed(name: str, pre: list[bool], post: list[bool], role: str = "fact") -> ProbedFact:
    fact = Fact(subject=name, relation="r", object="Paris", prompt="{} is in")

    def answer(hits: list[bool]) -> Answer:
        texts = tuple("in Paris" if hit else "nowhere" for hit in hits)
        return Answer({"p": sum(hits) / len(hits)}, texts, len(hits))

    return ProbedFact(Question(fact, role=role), answer(pre), answer(post))  # type: ignore[arg-type]


def _ifr(chains: list[_Chain], p: dict[str, tuple[float, float]]) -> float:
    ratios = [np.prod([p[link.id][1] / p[link.id][0] for link in c.links]) for c in chains]
    weights = [c.steps**-0.5 for c in chains]
    return float(np.average(ratios, weights=weights))


def test_answers_are_counted_in_pairs() -> None:
    fact = _probed("x", [True, True, False, False, True], [True, False, True, False, True])
    assert intervals.pairs_of(fact) == (2, 1, 1, 1)


def test_the_margins_are_the_jeffreys_posterior() -> None:
    fact = _probed("x", [True] * 4 + [False], [True, False, False, False, False])
    ((pre, post),) = intervals.posterior([fact], 200_000, np.random.default_rng(0)).values()
    # Beta(a, b): mean a / (a + b), variance ab / ((a + b)² (a + b + 1)).
    for drawn, (a, b) in ((pre, (4.5, 1.5)), (post, (1.5, 4.5))):
        assert drawn.mean() == pytest.approx(a / 6, abs=2e-3)
        assert drawn.var() == pytest.approx(a * b / (36 * 7), rel=0.02)


def test_answers_that_did_not_change_leave_little_doubt_that_nothing_did() -> None:
    same = [True, True, True, False, False]
    shuffled = [False, False, True, True, True]
    rng = np.random.default_rng(0)
    spreads = []
    for post in (same, shuffled):
        ((before, after),) = intervals.posterior([_probed("x", same, post)], 4000, rng).values()
        spreads.append(np.std(after - before))
    assert spreads[0] < spreads[1] / 2


def test_the_interval_holds_the_true_ifr_about_as_often_as_it_says() -> None:
    chains = [_Chain(tuple(_Link(x) for x in names)) for names in CHAINS]
    truth, source = _ifr(chains, TRUE), random.Random(0)
    held, tried = 0, 0
    for _ in range(300):
        probed = []
        for name, (pre, post) in TRUE.items():
            numbers = [source.random() for _ in range(20)]
            probed.append(_probed(name, [u < pre for u in numbers], [u < post for u in numbers]))
        draws = intervals.posterior(probed, 400, np.random.default_rng(tried))
        by_name = {
            probe.question.fact.subject: pair
            for probe, pair in zip(probed, draws.values(), strict=True)
        }
        low, high = np.quantile(
            intervals.ifr_draws(chains, by_name),  # type: ignore[arg-type]
            LEVEL,
        )
        held, tried = held + bool(low <= truth <= high), tried + 1
    # 95 % nominal; 300 trials have a standard error of 1.3 %.
    assert 0.90 <= held / tried <= 0.99


def test_a_value_is_bounded_at_95_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of five answers: the margin after the edit is Beta(4½, 1½)."""
    monkeypatch.setattr(intervals, "chain_rows", lambda *_: [])
    probed = _probed("x", [False] * 5, [True] * 4 + [False], role="target_new")
    value = MetricValue(metric="efficacy", measure="p", step=None, value=0.8, n=1, excluded=0)
    score = SimpleNamespace(
        measures=("p",), options=SimpleNamespace(unit="rewrite"), values=[value], edit="e",
        subject="x",
    )  # fmt: skip
    (bounded,) = intervals.with_intervals(None, score, [probed])  # type: ignore[arg-type]
    expected = np.quantile(np.random.default_rng(7).beta(4.5, 1.5, 400_000), LEVEL)
    # A 90 % interval is narrower by .06 at the lower end.
    assert (bounded.low, bounded.high) == pytest.approx(expected, abs=0.02)


def test_a_bootstrap_of_a_mean_is_196_standard_errors_wide() -> None:
    values = np.random.default_rng(2).normal(size=400)
    bounds = intervals.bootstrap(lambda chosen: float(values[list(chosen)].mean()), 400)
    assert bounds is not None
    assert (bounds[1] - bounds[0]) / 2 == pytest.approx(1.96 * values.std() / 20, rel=0.07)


def test_a_bootstrap_needs_three_things_and_holds_the_mean() -> None:
    values = [0.1, 0.4, 0.5, 0.9, 0.2, 0.6]

    def mean(chosen: object) -> float:
        return float(np.mean([values[i] for i in chosen]))  # type: ignore[attr-defined]

    assert intervals.bootstrap(mean, 2) is None
    bounds = intervals.bootstrap(mean, len(values), seed=1)
    assert bounds is not None
    assert bounds[0] < np.mean(values) < bounds[1]
    assert bounds == intervals.bootstrap(mean, len(values), seed=1)
