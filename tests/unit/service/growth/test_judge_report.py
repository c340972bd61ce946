"""The judge's report over given counts: ThinkEval's Table 11, and tables that are none."""

from __future__ import annotations

import pytest

from thinkeval.service.errors import UsageError
from thinkeval.service.growth.review import judge_report
from thinkeval.service.growth.review.schemas import JudgeRow

TABLE = """iteration,tp,fp,fn,triplets
1,5,0,0,5
2,13,1,2,15
3,20,4,3,23
4,48,7,2,51
5,71,10,12,83
"""


def rounded(row: JudgeRow | None) -> list[str]:
    assert row is not None
    return [f"{value:.3f}" for value in (row.precision, row.recall, row.f1)]


def test_table_11_by_its_last_iteration_and_in_sum() -> None:
    found = judge_report.read_csv(TABLE)
    assert rounded(found.last) == ["0.877", "0.855", "0.866"]
    # F1 of the sums is 314 / 355 = .8845; only from rounded precision and recall it is .884.
    assert rounded(found.sum) == ["0.877", "0.892", "0.885"]
    assert found.sum.f1 == pytest.approx(314 / 355)
    assert (found.sum.tp, found.sum.fp, found.sum.fn, found.sum.tn) == (157, 22, 19, None)
    assert found.notes == ["iteration 4: TP + FN = 50 ≠ 51 triplets"]


def test_without_counts_of_triplets_nothing_is_named() -> None:
    text = "\ufeffTP, FP ,fn,Iteration\n1,0,0,1\n0,0,0,2\n"
    found = judge_report.read_csv(text)
    assert found.notes == []
    assert found.last is not None
    assert (found.last.precision, found.last.recall, found.last.f1) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no column iteration, tp, fp, fn"),
        ("iteration,tp,fp\n1,2,3\n", "no column fn"),
        ("iteration,tp,fp,fn\n1,2,3,x\n", "line 2, fn: 'x'"),
        ("iteration,tp,fp,fn\n1,2,3\n", "line 2, fn: ''"),
        ("iteration,tp,fp,fn\n1,-2,3,4\n", "line 2, tp: '-2'"),
    ],
)
def test_what_is_no_table_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        judge_report.read_csv(text)


def test_f1_is_undefined_where_precision_or_recall_is() -> None:
    rows = [judge_report.judge_row(1, *counts, None, 0) for counts in ((0, 3, 0), (0, 0, 2))]
    assert [(row.precision, row.recall, row.f1) for row in rows] == [
        (0.0, None, None),
        (None, 0.0, None),
    ]
    assert judge_report.judge_row(1, 0, 1, 1, None, 0).f1 == 0
