"""Help of commands flows at the terminal's width; lines of the source do not show through."""

from __future__ import annotations

import re
from collections.abc import Iterator

import typer

from thinkeval.service.cli import app


def texts(group: typer.Typer) -> Iterator[str]:
    for command in group.registered_commands:
        yield command.help or ""
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        yield from texts(inner.typer_instance)


def test_paragraphs_have_no_line_breaks_but_before_examples_and_items() -> None:
    found = list(texts(app))
    assert len(found) > 60
    assert all(found)
    breaks = [line for text in found for line in re.findall(r"[^\n]\n([^\n]+)", text)]
    assert breaks  # examples of several commands keep theirs
    assert all(re.match(r"\s*(thinkeval |curl |\$ |[-*] |\d+\. )", line) for line in breaks), breaks
