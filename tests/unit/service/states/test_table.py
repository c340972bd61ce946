"""The tables and sentences of a comparison."""

from __future__ import annotations

import pytest

from support.states.comparisons import comparison
from thinkeval.service.errors import UsageError
from thinkeval.service.reports import formats
from thinkeval.service.states import table


def test_the_verdict_counts_what_the_first_state_knew() -> None:
    found = table.verdict(comparison(), "likelihood")
    assert "Of 7 facts that ab knows, 4 are kept, 2 weakened and 1 removed; 1 are new." in found
    assert "8 routes to an old object closed, 2 opened." in found
    same = comparison().model_copy(update={"same": True})
    assert table.verdict(same, "likelihood") == "The states are the same: no fact differs."


def test_kinds_have_tables_of_their_own() -> None:
    out = comparison()
    assert table.kinds(out) == ["replace", "forget"]
    for kind, metric, text in (
        ("replace", "efficacy", "Ada lived in: London → Paris"),
        ("forget", "leak@100", "Ada lived in: London forgotten"),
    ):
        columns = table.request_columns(kind, "likelihood")
        (row,) = [each for each in out.requests if each.kind == kind]
        shown = {column.header: column.get(row) for column in columns}
        assert shown["fact"] == text
        assert shown["routes"] == "7 → 4 (+1 −4)"
        assert metric in shown
        assert shown["IFR"] == 0.25
    assert table.forgotten_unknown(out.requests, "likelihood") == 0


def test_drift_lists_all_facts_then_distances_then_relations() -> None:
    lines = table.drift_lines(comparison(), "likelihood", 2)
    assert [line.label for line in lines] == [
        "all facts", "0 steps: facts with the subject at one end",
        "1 step", "relation 0", "relation 1",
    ]  # fmt: skip
    text = formats.render(formats.Table("drift", "", table.DRIFT, lines), "markdown")
    assert text.splitlines()[0].count("|") == len(table.DRIFT) + 1
    assert len(table.drift_lines(comparison(), "likelihood", None)) == 18


def test_a_measure_that_was_not_taken_is_refused() -> None:
    assert table.measure_of(comparison(), None) == "likelihood"
    with pytest.raises(UsageError, match="not compared by 'p'"):
        table.measure_of(comparison(), "p")
