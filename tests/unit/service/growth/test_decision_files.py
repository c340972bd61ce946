"""Decisions of a CSV file."""

from __future__ import annotations

import pytest

from thinkeval.service.base.errors import UsageError
from thinkeval.service.growth import review


def test_a_field_that_no_csv_reader_takes_is_refused_with_its_line() -> None:
    long = "x" * 140_000
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
