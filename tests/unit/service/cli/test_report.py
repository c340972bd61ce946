"""What the help of `report` says of IFR, against what the formula gives."""

from __future__ import annotations

import inspect
import re

from support.references import reference
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
