"""Figures of a crawl against the truth, by brute force over random small graphs."""

from __future__ import annotations

import itertools
import random

import pytest

from thinkeval.service.growth.crawl_report import (
    calibration,
    distances,
    grouped,
    jaccard,
    reachable,
    retrieval,
)

NAMES = "abcdef"


def random_facts(rng: random.Random) -> list[tuple[str, str, str]]:
    pairs = list(itertools.permutations(NAMES, 2))
    return [(s, rng.choice("rq"), o) for s, o in rng.sample(pairs, rng.randrange(1, 12))]


@pytest.mark.parametrize("seed", range(20))
def test_reachable_facts_are_those_on_a_walk_from_the_start(seed: int) -> None:
    facts = random_facts(random.Random(seed))
    for steps in range(4):
        on_walks: set[tuple[str, str, str]] = set()
        walks: list[list[tuple[str, str, str]]] = [[f] for f in facts if f[0] == "a"]
        for _ in range(steps):
            on_walks |= {fact for walk in walks for fact in walk}
            walks = [[*w, f] for w in walks for f in facts if f[0] == w[-1][2]]
        assert reachable(facts, ["a"], steps) == on_walks


def test_distances_in_a_circle() -> None:
    circle = [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a"), ("a", "r", "c")]
    assert distances(circle, ["a"]) == {"a": 0, "b": 1, "c": 1}
    assert distances(circle, ["x"]) == {"x": 0}
    assert distances([], []) == {}


@pytest.mark.parametrize("seed", range(20))
def test_precision_and_recall_by_counting(seed: int) -> None:
    rng = random.Random(seed)
    true, found = set(random_facts(rng)), set(random_facts(rng))
    could = reachable(true, ["a"], 2)
    told = retrieval(found, true, could)
    right = sum(fact in true for fact in found)
    recalled = sum(fact in found for fact in could)
    assert (told["found"], told["right"], told["recalled"]) == (len(found), right, recalled)
    assert told["precision"] == right / len(found)
    assert told["recall"] == (recalled / len(could) if could else None)
    if could and right + recalled:
        p, r = told["precision"], told["recall"]
        assert told["f1"] == pytest.approx(2 / (1 / p + 1 / r) if p and r else 0.0)


def test_nothing_found_or_nothing_true_is_undefined() -> None:
    assert retrieval([], {1}, {1})["precision"] is None
    assert retrieval([], {1}, {1})["f1"] is None
    assert retrieval({1}, [], [])["recall"] is None
    assert retrieval({2}, {1}, {1})["f1"] == 0.0
    assert jaccard([], []) is None
    assert jaccard([("a", "r", "b")], []) == 0.0
    assert jaccard([("a", "r", "b"), ("a", "r", "c")], [("a", "r", "b")]) == 0.5


def test_calibration_in_ten_bins() -> None:
    told = calibration([(0.0, False), (0.1, False), (0.3, True), (0.35, False), (1.0, True)])
    assert [each.n for each in told.bins] == [2, 0, 1, 1, 0, 0, 0, 0, 0, 1]
    assert told.bins[1].share is None
    assert (told.bins[2].share, told.bins[2].right) == (0.3, 1.0)
    assert told.brier == pytest.approx((0 + 0.01 + 0.49 + 0.1225 + 0) / 5)
    assert [calibration([(k / 20, True)]).bins[(k + 1) // 2 - 1].n for k in range(1, 21)] == [
        1
    ] * 20
    assert calibration([]).brier is None


def test_facts_are_grouped_by_a_key() -> None:
    facts = [("a", "r", "b"), ("a", "q", "b"), ("x", "r", "b")]
    assert grouped(facts, {facts[0]: 1, facts[2]: 1}) == {1: {facts[0], facts[2]}}
