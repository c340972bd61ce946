"""On a terminal every line of a result stays: progress bars erase none, and no word is broken."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from pprint import pformat

import pytest

from support.commands import Cli, Mine
from support.own_graphs import without_traces
from thinkeval.cypher.run import Database
from thinkeval.service.scoring.runtime import RuntimeModel

REWRITE = "harry-potter--studied-at"
WIDTHS = (80, 120)
FRAMES = re.compile(r"[─-╿]|\\$")
FITTED = re.compile(r"Omitted for lack of width: .*?\(--json has all\)\.|All rows: model \S+")
"""The sentences that only a table which is fitted to a width has."""


def told(lines: Iterable[str]) -> list[str]:
    """The lines that are the same whether a result is new or stored."""
    text = re.sub(r",\s+stored earlier", "", "\n".join(line.rstrip() for line in lines))
    return [line for line in re.sub(r"\d+", "#", text).splitlines() if line.strip()]


def words(lines: Iterable[str]) -> set[str]:
    """The words; a row that is a paragraph has commas between its cells."""
    text = " ".join(FRAMES.sub(" ", line) for line in told(lines))
    return {word.rstrip(",") for word in FITTED.sub(" ", " ".join(text.split())).split()}


@pytest.fixture(scope="module", autouse=True)
def _(db: Database) -> Iterator[None]:
    with without_traces(db, "hogwarts"):
        yield


def commands(mine: Mine, edit: str) -> Iterator[tuple[str | Path, ...]]:
    asked = ("-g", mine.graph, "--model", mine.model, "--samples", "0")
    edited = f"{mine.model}+edit:{edit}"
    yield ("score", REWRITE, *asked, "-m", "rome", "-m", "memit", "-m", "none")
    yield ("compare", mine.model, edited, "-g", mine.graph, "--samples", "0")
    yield ("sweep", REWRITE, *asked, "-m", "rome", "-m", "none")
    yield ("probe", mine.graph, "--model", mine.model, "--samples", "0")
    yield ("show", edit)
    yield ("report", "-g", mine.graph, "--format", "table")
    yield ("report", "-g", mine.graph, "--each", "--format", "table")
    yield ("results", "edits", "-g", mine.graph)
    yield ("demo", "--model", "organism", "--samples", "0", "-m", "rome", "-m", "memit")


@pytest.fixture(scope="module")
def edit(thinkeval: Cli, mine: Mine) -> str:
    scored = ("score", REWRITE, "-g", mine.graph, "--model", mine.model, "--samples", "0")
    return thinkeval(*scored, "-m", "rome", "--json").json[0]["edit"]


def test_bars_erase_no_line_and_no_word_is_broken(
    thinkeval: Cli, mine: Mine, organism: RuntimeModel, edit: str
) -> None:
    problems = []
    for command in commands(mine, edit):
        for width in WIDTHS:
            screen = thinkeval.on_terminal(*command, width=width)
            fitted = thinkeval(*command, COLUMNS=str(width)).out.splitlines()
            lost = list((Counter(told(fitted)) - Counter(told(screen))).elements())
            wide = [line for line in fitted if len(line) > width]
            whole = thinkeval(*command)
            broken = words(screen) - words((whole.out + whole.err).splitlines())
            problems += [(command[0], width, lost, wide, broken)] * bool(lost or wide or broken)
    assert not problems, pformat(problems, width=200)


def test_in_a_c_locale_output_is_ascii_with_escapes(thinkeval: Cli, mine: Mine, edit: str) -> None:
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for command in (("show", edit), ("graph", "rewrites", mine.graph)):
        shown = thinkeval.process(*command, **locale, COLUMNS="100").out
        assert shown.isascii()
        assert "+--" in shown  # frames too
        assert r"\u2" in shown  # an arrow, a sign of order
