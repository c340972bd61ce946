"""`report`: what its help says of IFR, against the formula; its format by where it is printed."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from support.references import reference
from thinkeval.service.base.errors import UsageError
from thinkeval.service.cli import output as printing
from thinkeval.service.cli.report import report

EDGES = [
    reference.Edge("1", "s", "a", pre=0.9, post=0.9),
    reference.Edge("2", "a", "o", pre=0.8, post=0.8),
]


def test_an_edit_that_changes_nothing_is_said_to_leak_everything() -> None:
    """It was said to leak little: its IFR and Preservation are 1."""
    case = reference.Case("s", "o")
    assert reference.ifr(reference.chains(EDGES, case)).value == 1
    told = re.sub(r"\s+", " ", inspect.getdoc(report) or "")
    claims = re.findall(r"an edit that installs (?:nothing|little) (?:also )?(leaks \w+)", told)
    assert claims == ["leaks everything"]


@pytest.mark.parametrize(
    ("given", "json", "output", "expected"),
    [
        (None, False, None, "table"),
        (None, False, Path("report.md"), "markdown"),
        (None, True, None, "json"),
        ("table", False, None, "table"),
        ("csv", False, None, "csv"),
    ],
)
def test_standard_output_gets_a_table_and_a_file_markdown(
    given: str | None, json: bool, output: Path | None, expected: str
) -> None:
    """Where standard output was no terminal it got Markdown of all columns with all rules."""
    assert printing.report_format(given, json, output) == expected


def test_a_table_for_the_terminal_is_not_written() -> None:
    with pytest.raises(UsageError, match="writes a format, not a table"):
        printing.report_format("table", False, Path("report.txt"))
    with pytest.raises(UsageError, match="csv exclude"):
        printing.report_format("csv", True, None)
