"""Values of documents before and after, paired: by the definitions, with scipy's own tests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from thinkeval.service.base.errors import UsageError
from thinkeval.service.base.statistics import wilson
from thinkeval.service.models.edit import EditIn
from thinkeval.service.models.tasks import TaskOut
from thinkeval.service.scoring import tasks


def result(values: list[float], value: float | None = None) -> Any:
    mean = float(np.mean(values)) if value is None else value
    given = tuple(values) if value is None else ()
    return SimpleNamespace(
        task="task", metric="acc", value=mean, values=given, n=len(values), higher_is_better=True
    )


def one(before: list[float], after: list[float]) -> TaskOut:
    (row,) = tasks.paired([result(before)], [result(after)])
    return row


def test_right_and_wrong_are_tested_by_mcnemar() -> None:
    rng = np.random.default_rng(0)
    before = rng.integers(0, 2, 60).astype(float).tolist()
    after = [value if rng.random() < 0.8 else 1 - value for value in before]
    row = one(before, after)
    lost = sum(b > a for b, a in zip(before, after, strict=True))
    won = sum(b < a for b, a in zip(before, after, strict=True))
    assert (row.test, row.rose, row.fell, row.n) == ("McNemar", won, lost, 60)
    assert row.p == pytest.approx(stats.binomtest(won, won + lost).pvalue)
    interval = stats.ttest_rel(after, before).confidence_interval()
    assert (row.low, row.high) == pytest.approx((interval.low, interval.high))
    assert row.difference == pytest.approx((won - lost) / 60)


def test_numbers_are_tested_by_the_paired_t_test() -> None:
    rng = np.random.default_rng(1)
    before, after = rng.random(40).tolist(), rng.random(40).tolist()
    row, wanted = one(before, after), stats.ttest_rel(after, before)
    assert row.test == "paired t"
    assert row.p == pytest.approx(wanted.pvalue)
    interval = wanted.confidence_interval()
    assert (row.low, row.high) == pytest.approx((interval.low, interval.high))


def test_no_flip_is_no_proof_of_no_difference() -> None:
    """The t interval would be [0, 0], although of other documents some may flip."""
    row = one([0, 1, 1, 0], [0, 1, 1, 0])
    assert (row.difference, row.p, row.rose, row.fell) == (0, 1, 0, 0)
    assert row.high == wilson(0, 4)[1] == -(row.low or 0)
    unbounded = one([0.1, 0.2], [0.1, 0.2])
    assert (unbounded.low, unbounded.high, unbounded.reason) == (None, None, tasks.UNCHANGED)
    same = [result([0, 1])]
    (of_one_model,) = tasks.paired(same, same)
    assert (of_one_model.low, of_one_model.high, of_one_model.p) == (0, 0, 1)


def test_one_document_and_metrics_that_are_no_means_have_reasons() -> None:
    row = one([0], [1])
    assert (row.difference, row.low, row.high, row.reason) == (1, None, None, tasks.ONE)
    (row,) = tasks.paired([result([1, 2], 8.0)], [result([1, 2], 9.0)])
    assert (row.difference, row.p, row.reason) == (1, None, tasks.NOT_A_MEAN)


def test_p_is_adjusted_over_all_rows() -> None:
    before = [result([0.0] * 12)] * 3 + [result([1.0], 3.0)]
    after = [result([1.0] * n + [0.0] * (12 - n)) for n in (12, 8, 1)] + [result([1.0], 3.0)]
    rows = tasks.paired(before, after)
    p = [row.p or 0 for row in rows[:3]]
    assert [row.p_adjusted for row in rows] == pytest.approx(
        [3 * p[0], max(3 * p[0], 2 * p[1]), max(2 * p[1], p[2]), None]
    )


def test_a_service_reads_no_task_files() -> None:
    def wanted(text: str) -> EditIn:
        return EditIn(rewrite="r", tasks=text)

    assert tasks.named(wanted("hellaswag, arc_easy,hellaswag")) == ["hellaswag", "arc_easy"]
    tasks.require_no_files(wanted("hellaswag,arc_easy"))
    for text in ("mine.yaml", "hellaswag,./mine", "a.yml", "..\\mine", "~mine"):
        with pytest.raises(UsageError, match="service's machine"):
            tasks.require_no_files(wanted(text))
