"""Agreement over a table of ratings."""

from __future__ import annotations

import pytest

from thinkeval.service.base.errors import UsageError
from thinkeval.service.growth import review


def test_three_annotators_in_columns() -> None:
    rows = ["id,ann,bob,cid", *["x,yes,yes,yes"] * 97, *["y,yes,no,yes"] * 3]
    found = review.read_csv("\n".join(rows))
    assert (found.n, found.annotators, found.unanimous) == (100, ["ann", "bob", "cid"], 0.97)
    assert f"{found.pairwise:.2f} {found.ac1:.3f}" == "0.98 0.980"


def test_missing_ratings_and_more_categories() -> None:
    found = review.read_csv("ann,bob\nyes,\n,no\nyes,yes\nno,no\n", categories=["yes", "no", "?"])
    # Two items; chance with three categories: (2 · 1/2 · 1/2) / 2 = 1/4.
    assert (found.n, found.pairwise, found.ac1, found.alpha) == (2, 1.0, 1.0, 1.0)
    assert review.read_csv("ann,bob\nyes,yes\n").ac1 == 1.0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no two columns"),
        ("id,ann\n1,yes\n", "no two columns"),
        ("ann,ann\nyes,no\n", "no two columns"),
        ("ann,bob\nyes,no,yes\n", "line 2: 3 ratings of 2"),
    ],
)
def test_what_is_no_table_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        review.read_csv(text)


def test_ratings_beyond_the_categories_are_refused() -> None:
    with pytest.raises(UsageError, match="'maybe' is no category"):
        review.read_csv("ann,bob\nyes,maybe\n", categories=["yes", "no"])


def test_a_field_that_no_csv_reader_takes_is_refused_with_its_line() -> None:
    long = "x" * 140_000
    with pytest.raises(UsageError, match=r"r.csv, line 2: field larger than field limit"):
        review.read_csv(f"ann,bob\n{long},yes\n", "r.csv")
    with pytest.raises(UsageError, match=r"d.csv, line 3: field larger than field limit"):
        review.read_decisions(f"candidate,verb\na,keep\nb,{long}\n", "d.csv", by="ann")
    with pytest.raises(UsageError, match=r"d.csv, line 1: field larger"):
        review.read_decisions(long, "d.csv", by="ann")


def test_decisions_have_the_cells_of_their_columns() -> None:
    text = "Candidate,verb,reason\n\na,keep,\nb,prune\nc,,\n"
    read = review.read_decisions(text, "d.csv", by="ann")
    found = [(each.candidate, each.verb, each.reason, each.where) for each in read.decisions]
    assert found == [
        ("a", "keep", None, "d.csv, line 3"), ("b", "prune", None, "d.csv, line 4")
    ]  # fmt: skip
    assert read.undecided == 1
