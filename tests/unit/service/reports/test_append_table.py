"""The table of requests to append, and its paired tests, from scores written by hand."""

from __future__ import annotations

import csv
import io
import json
import math
from statistics import mean, stdev

import numpy as np
import pytest

from thinkeval.service.base.errors import NothingStoredError
from thinkeval.service.models.edit import AppendLoss, AppendOut, MetricValue, Score
from thinkeval.service.reports import by_kind as table
from thinkeval.service.reports.formats import Table, frame_table, render
from thinkeval.service.reports.pooling import Mean

BARE = [0.9, 0.7, 0.5, 0.6]
WITH_APP = [0.4, 0.3, 0.2, 0.4]


def score(
    request: str,
    aff: float | None,
    *,
    loss: AppendLoss = "none",
    method: str = "rome",
    alpha: float | None = None,
    neighbours: str = "all",
) -> Score:
    weights = {"alpha": alpha, "beta": 0.2, "gamma": 0.1} if loss == "app" else {}
    return Score(
        edit=f"{method}-{request}-{loss}",
        dataset="typed",
        rewrite=request,
        subject="s",
        relation="r",
        prompt="{} r",
        target_true="a",
        target_new="b",
        model="organism",
        method=method,
        values=[
            MetricValue(
                metric="aff_hard", measure="likelihood_norm", value=aff, n=0 if aff is None else 2
            )
        ],
        n_facts=3,
        append=AppendOut(
            loss=loss, n_correct=3, n_hard=2, n_random=2, neighbours=neighbours, **weights
        ),
    )


def scores() -> list[Score]:
    return [score(f"r{i}", value) for i, value in enumerate(BARE)] + [
        score(f"r{i}", value, loss="app", alpha=0.5) for i, value in enumerate(WITH_APP)
    ]


def test_a_row_a_variant_with_its_mean_and_interval() -> None:
    bare, app = table.appended_table(scores()).rows
    assert (bare.name, app.name) == ("rome", "rome APP")
    found = bare.means["aff_hard"]
    assert found.value == pytest.approx(mean(BARE))
    assert found.n == 4
    assert found.low is not None
    assert found.high is not None
    assert min(BARE) <= found.low < mean(BARE) < found.high <= max(BARE)
    assert bare.means["append_es"] == Mean(None, 0)  # it was never taken: not 0


def test_rows_are_over_the_requests_that_all_have_unless_each_shall_have_its_own() -> None:
    more = [*scores(), score("r9", 0.0)]
    bare, _ = table.appended_table(more).rows
    assert len(bare.values) == 4
    assert (
        "1 score of requests that some row lacks is left out" in table.appended_table(more).caption
    )
    assert len(table.appended_table(more, all_requests=True).rows[0].values) == 5


def test_an_undefined_value_is_left_out_and_its_mean_says_so() -> None:
    found = table.appended_table([score("r0", 0.5), score("r1", None)]).rows[0].means["aff_hard"]
    assert (found.value, found.n, found.low) == (0.5, 1, None)


def test_other_weights_are_another_row() -> None:
    rows = table.appended_table([*scores(), score("r0", 0.1, loss="app", alpha=0.7)]).rows
    assert [row.variant for row in rows] == ["bare", "APP (0.5, 0.2, 0.1)", "APP (0.7, 0.2, 0.1)"]


def test_without_scores_of_appends_there_is_no_table() -> None:
    with pytest.raises(NothingStoredError):
        table.appended_table([])


def test_the_table_in_every_format() -> None:
    found = table.appended_table(scores())
    text = render(Table("means", "", found.columns, found.rows), "markdown")
    assert "| 67.50 [" in text
    assert "| – |" in text
    data = frame_table(found.frame())
    rows = list(csv.DictReader(io.StringIO(render(data, "csv"))))
    assert float(rows[1]["AFF hard"]) == pytest.approx(mean(WITH_APP))
    assert (rows[1]["Variant"], rows[1]["AFF hard.n"]) == ("APP", "4")
    assert rows[1]["ES"] == ""
    assert json.loads(render(data, "json"))[0]["LS"] is None


def test_a_variant_is_tested_against_the_bare_method_request_by_request() -> None:
    found = {d.metric: d for d in table.differences(table.appended_table(scores()))}
    each = [b - a for a, b in zip(BARE, WITH_APP, strict=True)]
    aff = found["aff_hard"]
    found_mean = aff.difference
    assert found_mean.value == pytest.approx(mean(each))
    assert found_mean.n == 4
    assert found_mean.high is not None
    assert found_mean.high < 0
    # Student's t with three degrees of freedom has a distribution in closed form.
    t = abs(mean(each)) / (stdev(each) / math.sqrt(4))
    x = t / math.sqrt(3)
    assert aff.p == pytest.approx(1 - 2 / math.pi * (math.atan(x) + x / (1 + x * x)), abs=1e-12)
    assert found["append_gs"].difference == Mean(None, 0)


def test_the_interval_of_differences_is_near_the_normal_one_where_there_are_many() -> None:
    found = np.random.default_rng(1).normal(0.2, 0.1, 60)
    taken, _ = table.compare(found)
    half = 1.96 * found.std() / math.sqrt(60)
    assert taken.value is not None
    assert taken.low == pytest.approx(taken.value - half, abs=0.15 * half)
    assert taken.high == pytest.approx(taken.value + half, abs=0.15 * half)


def test_equal_differences_have_no_p_value() -> None:
    taken, p = table.compare(np.array([0.2, 0.2, 0.2]))
    assert (taken.value, taken.low, taken.high, p) == (
        pytest.approx(0.2), pytest.approx(0.2), pytest.approx(0.2), None
    )  # fmt: skip
