"""Precision, recall and F1 of the judge: ThinkEval's Table 11 from its counts."""

from __future__ import annotations

import pytest

from thinkeval.service.growth.review import quality

TABLE_11 = [(5, 0, 0), (13, 1, 2), (20, 4, 3), (48, 7, 2), (71, 10, 12)]
"""True positives, false positives and false negatives by iteration."""


def rounded(counts: tuple[int, int, int]) -> list[float]:
    return [round(value or 0, 3) for value in quality(*counts).values()]


def test_the_published_figures_are_those_of_the_last_iteration_not_of_the_sum() -> None:
    assert rounded(TABLE_11[-1]) == [0.877, 0.855, 0.866]
    tp, fp, fn = (sum(row[i] for row in TABLE_11) for i in range(3))
    assert rounded((tp, fp, fn)) == [0.877, 0.892, 0.885]
    assert quality(tp, fp, fn)["f1"] == pytest.approx(314 / 355)


def test_what_is_undefined_is_none() -> None:
    assert quality(0, 0, 0) == {"precision": None, "recall": None, "f1": None}
    assert quality(0, 3, 0) == {"precision": 0, "recall": None, "f1": None}
    assert quality(0, 0, 2) == {"precision": None, "recall": 0, "f1": None}
    assert quality(0, 1, 1)["f1"] == 0
