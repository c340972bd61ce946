"""The best method of a comparison against each other one, by paired differences."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from thinkeval.service.base import inference
from thinkeval.service.base.formatting import short
from thinkeval.service.models.edit import MetricValue, Score, ScoringOptions
from thinkeval.service.reports.comparison import Comparison, common
from thinkeval.service.reports.paired import (
    by_row,
    fewest,
    further,
    notes,
    out,
    paired,
    sentences,
    table,
)


def _score(method: str, rewrite: str, ifr: float, *, efficacy: float = 1.0, n: int = 4) -> Score:
    """One rewrite with `n` chains of two steps."""
    values = [
        MetricValue(metric="efficacy", measure="likelihood", value=efficacy, n=1),
        MetricValue(metric="ifr", measure="likelihood", value=ifr, n=n),
        MetricValue(metric="ifr_by_steps", measure="likelihood", step=2, value=ifr, n=n),
    ]
    return Score(
        edit=f"{method}-{rewrite}", dataset="d", rewrite=rewrite, subject="s", relation="r",
        prompt="{} r", target_true="o", target_new="n", model="m", method=method,
        values=values, n_facts=1,
    )  # fmt: skip


REWRITES = [f"r{i}" for i in range(12)]


def _compared() -> Comparison:
    """`low` is always .2 below `high`; `like` is above or below it by chance; `none` never took."""
    rng = random.Random(0)
    scores = []
    for i, rewrite in enumerate(REWRITES):
        level = rng.uniform(0.3, 0.7)
        scores += [
            _score("low", rewrite, level - 0.2),
            _score("high", rewrite, level),
            _score("like", rewrite, level - 0.2 + (0.1 if i % 2 else -0.09)),
            _score("none", rewrite, 0.0, efficacy=0.01),
        ]
    return common(scores, "likelihood")


def test_the_best_method_is_the_lowest_of_those_that_took() -> None:
    (against,) = paired(_compared(), "likelihood")
    assert against.best == "low", "`none` has a lower IFR, and installs nothing"
    assert [row.first for row in against.of("ifr")] == ["like", "high", "none"], (
        "by IFR, what did not take last"
    )


def test_differences_are_paired_by_rewrite_and_checked_against_chance() -> None:
    found = _compared()
    (against,) = paired(found, "likelihood")
    rows = {row.first: row for row in against.of("ifr")}
    of = {(s.method, s.rewrite): s.number("ifr", "likelihood") for s in found.scores}

    def mean(method: str) -> float:
        return fmean((of[method, r] or 0) - (of["low", r] or 0) for r in REWRITES)

    for method, row in rows.items():
        assert row.value == pytest.approx(mean(method)), "equal chains: a mean over rewrites"
    # The rewrites vary by far more than .2, the paired difference not at all.
    assert rows["high"].interval == pytest.approx((0.2, 0.2))
    assert rows["high"].beyond_rewrites
    assert rows["like"].interval is not None
    assert rows["like"].beyond_rewrites is False
    (text,) = sentences([against])
    assert "low leaves least of the old fact of the methods that took and kept the model." in text
    assert "paired over 12 common rewrites" in text
    assert "high +0.200 [0.20, 0.20]" in text
    assert "exceeds chance for high, none; not for like (could have seen ≥ .080)." in text


def test_rows_of_rest_say_what_an_interval_says() -> None:
    rows = [row for row in out(paired(_compared(), "likelihood")) if row.metric == "ifr"]
    assert {(row.best, row.rewrites) for row in rows} == {("low", 12)}
    assert {row.method: row.exceeds_chance for row in rows} == {
        "none": True, "like": False, "high": True,
    }  # fmt: skip


def test_two_rewrites_are_too_few_for_an_interval() -> None:
    scores = [
        _score(method, rewrite, ifr)
        for method, ifr in (("low", 0.1), ("high", 0.9))
        for rewrite in ("r1", "r2")
    ]
    (against,) = paired(common(scores, "likelihood"), "likelihood")
    (row,) = against.of("ifr")
    assert row.value == pytest.approx(0.8)
    assert (row.interval, row.beyond_rewrites) == (None, None)
    (text,) = sentences([against], brief=True)
    assert "2 unrelated facts cannot show which method is better. Score 7 or more" in text
    assert "thinkeval" not in text, "a figure's caption"
    assert "facts: `thinkeval sweep -g d -m low -m high`" in sentences([against])[0]
    assert further(against.rows) == 5
    assert not math.isnan(out([against])[0].value)


def test_a_single_method_and_methods_that_did_not_take_are_not_compared() -> None:
    assert paired(common([_score("low", "r1", 0.1)], "likelihood"), "likelihood") == []
    weak = [_score(method, "r1", 0.1, efficacy=0.2) for method in ("low", "high")]
    assert paired(common(weak, "likelihood"), "likelihood") == []
    assert paired(Comparison([]), "likelihood") == []


def test_methods_on_different_rewrites_are_paired_over_those_both_have() -> None:
    scores = [_score("low", r, 0.1) for r in REWRITES]
    scores += [_score("high", r, 0.5) for r in REWRITES[:4]]
    for chosen in ("common", "all"):
        found = common(scores, "likelihood", chosen)
        (against,) = paired(found, "likelihood")
        assert {row.n for row in against.rows} == {4}
        assert notes(found, "likelihood")[0] == found.warnings[0]


def test_each_row_of_a_report_has_its_differences_to_the_best() -> None:
    found = _compared()
    rows = by_row([("m", "low"), ("m", "high"), ("other", "high")], paired(found, "likelihood"))
    assert rows[0] == rows[2] == [], "the best method, and a model without one"
    (ifr,) = (each for each in rows[1] if each["metric"] == "ifr")
    assert ifr["value"] == pytest.approx(0.2)
    assert (ifr["best"], ifr["rewrites"], ifr["exceeds_chance"]) == ("low", 12, True)


# Against brute force: every number of a row is computed again from the scores, one by one.

METRICS = ("efficacy", "ifr", "preservation", "subject_retention")


def _measured(method: str, rewrite: str, numbers: Mapping[str, float], chains: int) -> Score:
    score = _score(method, rewrite, numbers["ifr"], efficacy=numbers["efficacy"], n=chains)
    kept = [
        MetricValue(metric=metric, measure="likelihood", value=numbers[metric], n=3)
        for metric in METRICS[2:]
    ]
    return score.model_copy(update={"values": [*score.values, *kept]})


def _of_families(n_families: int, seed: int, shift: float = 0.1) -> Comparison:
    """Families of one to three rewrites by two methods, `b` above `a` in IFR by about `shift`."""
    rng = random.Random(seed)
    scores, families = [], {}
    for family in range(n_families):
        for i in range(1 + family % 3):
            rewrite, chains = f"f{family}-{i}", rng.randint(1, 9)
            of_a = {metric: rng.uniform(0.55, 1) for metric in METRICS} | {"ifr": rng.random() / 4}
            of_b = {m: min(1.0, max(0.0, v + rng.gauss(0, 0.2))) for m, v in of_a.items()}
            of_b["ifr"] = of_a["ifr"] + rng.gauss(shift, 0.1)
            scores += [
                _measured("a", rewrite, of_a, chains), _measured("b", rewrite, of_b, chains),
            ]  # fmt: skip
            families |= {f"{method}-{rewrite}": f"f{family}" for method in "ab"}
    return replace(common(scores, "likelihood"), families=families)


def _by_family(found: Comparison, metric: str) -> dict[str, list[tuple[float, float, float]]]:
    """{family: (value of a, value of b, weight) of each rewrite}; chains of two steps."""
    of: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    by = {(s.method, s.rewrite): s for s in found.scores}
    for rewrite in sorted({s.rewrite for s in found.scores}):
        a, b = by["a", rewrite], by["b", rewrite]
        value = a.get("ifr_by_steps", "likelihood", 2)
        weight = value.n / math.sqrt(2) if metric == "ifr" and value else 1.0
        numbers = [score.number(metric, "likelihood") or 0.0 for score in (a, b)]
        of[found.families[a.edit]].append((numbers[0], numbers[1], weight))
    return of


def _difference(families: Sequence[Sequence[tuple[float, float, float]]]) -> float:
    """b minus a of the rewrites of all families, weighed."""
    every = [each for family in families for each in family]
    return sum((b - a) * w for a, b, w in every) / sum(w for *_, w in every)


@pytest.mark.parametrize(("families", "seed"), [(6, 0), (9, 1), (11, 2)])
def test_every_number_of_a_difference_is_that_of_brute_force(families: int, seed: int) -> None:
    found = _of_families(families, seed)
    (against,) = paired(found, "likelihood", best="a")
    rows = {row.metric: row for row in against.rows}
    assert set(rows) == set(METRICS)
    for metric, row in rows.items():
        of = list(_by_family(found, metric).values())
        observed = _difference(of)
        assert row.value == pytest.approx(observed)
        assert (row.n, row.families) == (sum(map(len, of)), families)
        exchanged = [
            _difference([
                [(b, a, w) if swap else (a, b, w) for a, b, w in family]
                for swap, family in zip(swaps, of, strict=True)
            ])
            for swaps in product((False, True), repeat=families)
        ]  # fmt: skip
        reached = [abs(each) >= abs(observed) - 1e-12 for each in exchanged]
        assert row.p == pytest.approx(fmean(reached))
        sums = np.array([sum((b - a) * w for a, b, w in family) for family in of])
        sizes = np.array([sum(w for *_, w in family) for family in of])
        _, error, bounds = inference.cluster_t(sums, sizes)
        assert row.interval == pytest.approx(bounds)
        assert row.detectable == pytest.approx(2.8 * error)
        line = {"efficacy": 0.5, "ifr": 0.2}.get(metric, 0.9)
        good = [
            (a < line, b < line) if metric == "ifr" else (a >= line, b >= line)
            for family in of
            for a, b, _ in family
        ]
        assert row.flips is not None
        assert (row.flips.gained, row.flips.lost) == (
            sum(b and not a for a, b in good),
            sum(a and not b for a, b in good),
        )
    p = inference.holm([row.p for row in against.rows])
    assert [row.p_adjusted for row in against.rows] == p
    assert {row.comparisons for row in against.rows} == {len(METRICS)}


def test_two_equal_methods_have_no_difference() -> None:
    scores = [_score(m, r, 0.1 + i / 30) for i, r in enumerate(REWRITES) for m in ("a", "b")]
    (against,) = paired(common(scores, "likelihood"), "likelihood")
    for row in against.rows:
        assert (row.value, row.p, row.p_adjusted, row.interval) == (0, 1, 1, (0, 0))
        assert row.beyond_rewrites is False
        assert row.answer == "no difference: equal on 12 rewrites"


def test_five_families_cannot_show_a_difference_and_six_can() -> None:
    for families, answer in (
        (5, "unknown"),
        (6, "real; G = 6: interval unreliable"),
    ):
        found = _of_families(families, 3, shift=0.5)
        (against,) = paired(found, "likelihood", best="a", metrics=["ifr"])
        (row,) = against.rows
        assert row.answer == answer
        assert row.beyond_rewrites is (None if families == 5 else True)
        told = "5 unrelated facts cannot show which method is better. Score 6 or more"
        assert (told in table(against).note) == (families == 5)


def test_many_comparisons_need_more_families() -> None:
    """Six families give .031 at best, and five metrics are compared."""
    (against,) = paired(_of_families(6, 3, shift=0.5), "likelihood", best="a")
    (row,) = against.of("ifr")
    assert (row.p, row.p_adjusted) == (0.03125, 0.125)
    assert row.answer == "unknown"
    assert fewest(row.comparisons) == 8


def test_a_small_difference_says_what_could_have_been_seen() -> None:
    (against,) = paired(_of_families(14, 7, shift=0.0), "likelihood", best="a")
    (row,) = against.of("ifr")
    assert row.detectable is not None
    assert abs(row.value) < row.detectable
    assert row.answer == f"no difference found; could have seen ≥ {short(row.detectable)}"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"provenance": {"seed": 1}}, "seed 1 and 0 (1 rewrite)"),
        ({"provenance": {"seed": 0, "graph_digest": "y"}}, "graph_digest y and x (1 rewrite)"),
        ({"options": {"max_steps": 2}}, "max_steps 2 and 5 (1 rewrite)"),
    ],
)
def test_runs_that_differ_in_more_than_the_method_are_refused(
    change: dict[str, Any], reason: str
) -> None:
    alike = {"seed": 0, "graph_digest": "x"}
    scores = []
    for rewrite in REWRITES:
        for method, ifr in (("low", 0.1), ("high", 0.3), ("other", 0.4)):
            score = _score(method, rewrite, ifr)
            stored: dict[str, Any] = {"provenance": alike}
            if (method, rewrite) == ("low", "r3"):
                stored["provenance"] = alike | change.get("provenance", {})
                stored["options"] = ScoringOptions(**change.get("options", {}))
            scores.append(score.model_copy(update=stored))
    (against,) = paired(common(scores, "likelihood"), "likelihood", best="high")
    assert {row.first for row in against.rows} == {"other"}
    assert against.refused == (f"low is not paired with high: {reason}.",)
    assert against.refused[0] in sentences([against])[0]
    assert against.refused[0] in table(against).note


def test_samples_decide_on_sampled_answers_alone() -> None:
    scores = []
    for rewrite in REWRITES:
        for method, samples in (("a", 5), ("b", 20)):
            score = _score(method, rewrite, 0.1)
            values = [v.model_copy(update={"measure": "p"}) for v in score.values]
            taken = ["likelihood"] if samples < 20 else ["p", "likelihood"]
            probe = {"ask": "cloze", "samples": samples, "measures": taken}
            update = {"provenance": {"probe": probe}, "values": [*score.values, *values]}
            scores.append(score.model_copy(update=update))
    (exact,) = paired(common(scores, "likelihood"), "likelihood")
    assert exact.refused == ()
    found = common(scores, "p")
    assert {score.method for score in found.scores} == {"a"}
    assert found.warnings[0] == (
        f"{scores[0].model}: 12 edits left out, asked by cloze/auto/p:20x?@1/v3, which is not"
        " comparable with cloze/auto/p:5x?@1/v3."
    )


def test_equal_methods_are_told_apart_by_chance_in_one_of_twenty_seeds_at_most() -> None:
    """The level of the test, over families, of one comparison."""
    real = 0
    for seed in range(60):
        (against,) = paired(_of_families(12, seed, shift=0.0), "likelihood", best="a",
                            metrics=["ifr"])  # fmt: skip
        real += bool(against.rows[0].beyond_rewrites)
    assert real <= 6
