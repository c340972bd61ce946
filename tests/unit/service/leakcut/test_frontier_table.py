"""The frontier of a co-edit: columns, formats, the facts of each round, points of the figure."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from support.stored_edits import frontier, round_of
from thinkeval.service.base.errors import UsageError
from thinkeval.service.leakcut import coedit_kind as table
from thinkeval.service.leakcut.coedit_kind import COEDIT
from thinkeval.service.models.leakcut import CoEditOut
from thinkeval.service.reports import formats


def text(out: CoEditOut, format: str) -> str:
    """The frontier in a format."""
    return formats.render(COEDIT.tables(out, None)[0], format)


def test_readers_see_intervals_counts_and_the_chosen_round() -> None:
    lines = text(frontier(), "markdown").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0][:6] == ["Round", "Facts", "IFR", "Leaking", "Efficacy", "Co-edits"]
    assert cells[3] == [
        "1", "2", "0.061 [0.02, 0.11]", "9 / 103", "0.986", "0.950 (1)", "0.950 (61)",
        "0.940 (106)", "0.970 (11)", "0.800 (4)", "chosen",
    ]  # fmt: skip
    assert cells[2][5] == "–"  # the edit alone has no co-edit
    assert cells[4][-1] == "edit lost"


def test_programs_read_one_number_a_cell() -> None:
    read = list(csv.DictReader(io.StringIO(text(frontier(), "csv"))))
    assert [each["Facts"] for each in read] == ["1", "2", "3"]
    assert (read[1]["IFR"], read[1]["IFR low"], read[1]["n Not edited"]) == ("0.061", "0.02", "106")
    assert read[0]["Co-edits"] == ""
    assert [each["Chosen"] for each in read] == ["False", "True", "False"]
    assert json.loads(text(frontier(), "json"))[2]["Efficacy"] == 0.265


def test_latex_has_a_line_a_round() -> None:
    lines = text(frontier(), "latex").splitlines()
    assert sum(line.endswith(r"\\") for line in lines) == 1 + 3


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UsageError, match="not a table format"):
        text(frontier(), "word")


def test_a_round_that_opened_a_chain_says_so() -> None:
    opened = frontier(rounds=[round_of(0, opened=1)], chosen=0)
    assert table.marks(opened, opened.rounds[0]) == "chosen, 1 new object leads to the old one"


def test_each_round_lists_the_facts_that_it_adds() -> None:
    found = table.added(frontier())
    assert [(each.number, [fact.subject for fact in each.facts]) for each in found] == [
        (1, ["Ron Weasley"]),
        (2, ["Hermione Granger"]),
    ]
    assert table.FACTS[4].get(found[1].facts[0]) == "given"
    assert [fact.new_post for fact in table.facts(frontier())] == [0.95, 0.9]


def test_points_are_what_was_lost_against_what_still_leaks() -> None:
    first, second, third = table.points(frontier())
    assert (first.facts, first.ifr, first.lost) == (1, 0.4, pytest.approx(0.01))
    assert (second.chosen, second.installed, second.high) == (True, True, 0.11)
    assert not third.installed
    undefined = frontier(
        rounds=[round_of(0, ifr=None), round_of(1, preservation_unedited=None)], chosen=0
    )
    assert table.points(undefined) == []


@pytest.mark.parametrize("fmt", ["svg", "pdf", "png"])
def test_the_figure_is_the_same_bytes_for_the_same_rounds(fmt: str) -> None:
    assert table.figure(frontier(), fmt) == table.figure(frontier(), fmt)


def test_the_figure_of_no_values_says_so() -> None:
    undefined = frontier(rounds=[round_of(0, ifr=None)], chosen=0)
    assert b"No round has both" in table.figure(undefined, "svg")


def test_the_figure_refuses_another_format() -> None:
    with pytest.raises(UsageError, match="not a format of figures"):
        table.figure(frontier(), "gif")


def test_the_figure_names_a_range_of_counts_only_where_they_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []

    def noted(draw: Any, *_: object) -> bytes:
        said.append(draw.args[2])
        return b""

    monkeypatch.setattr(table, "encode", noted)
    table.figure(frontier(), "svg")
    rounds = [round_of(0), round_of(1, n_preservation_unedited=1)]
    table.figure(frontier(rounds=rounds), "svg")
    assert "; 106 facts not edited. Co-edit" in said[0]
    assert "; 1 to 106 facts not edited. Co-edit" in said[1]
