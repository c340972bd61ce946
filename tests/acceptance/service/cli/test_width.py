"""Lists at 80 columns and in a pipe: ids can be copied, and no word is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.commands import Done
from support.own_graphs import hogwarts_as, own_graphs
from support.stored_edits import probed, store_edit
from thinkeval.cypher.run import Database
from thinkeval.service.graphs import datasets

Call = Callable[..., Done]
HOGWARTS = "Hogwarts School of Witchcraft"
FACTS: Any = (
    (("Neville Longbottom", "studied at", HOGWARTS), 0.9, 0.1, "target_true"),
    (("Neville Longbottom", "studied at", "Ilvermorny"), 0.1, 0.9, "target_new"),
    (("Neville Longbottom", "has grandmother", "Augusta Longbottom"), 0.9, 0.8),
    (("Augusta Longbottom", "was educated at", HOGWARTS), 0.9, 0.8),
)


@pytest.fixture
def graph(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield hogwarts_as(db, f"{prefix}-hogwarts")


@pytest.fixture
def edit(db: Database, graph: str) -> str:
    name = f"rome-{graph}--neville-longbottom--studied-at--0123"
    return store_edit(db, name, [probed(*fact) for fact in FACTS], dataset=graph).edit


def test_ids_of_edits_and_rewrites_are_whole(
    at_once: Call, db: Database, graph: str, edit: str
) -> None:
    rewrites = [rewrite.id for rewrite in datasets.list_rewrites(db, graph)]
    for command, ids in (
        (("results", "edits", "-g", graph), [edit]),
        (("graph", "rewrites", graph), rewrites),
    ):
        narrow = at_once(*command, COLUMNS="80").out
        assert max(len(line) for line in narrow.splitlines()[1:-2]) <= max(80, len(edit) + 4)
        piped = at_once(*command).out
        for id in ids:
            assert id in narrow
            assert sum(line.startswith(id) for line in piped.splitlines()) == 1
        assert not set(piped) & set("│┃╭")


def test_chains_break_no_word(at_once: Call, edit: str) -> None:
    names = {word for ends, _, _ in FACTS[2:] for name in ends for word in name.split()}
    for env in ({"COLUMNS": "80"}, {}):
        shown = at_once("results", "chains", edit, **env).out
        table = shown.partition("Facts that carry")[2]
        assert names <= set(table.split())
        assert "surviving" in table
    assert "│" not in shown
    assert len(table.split("Neville Longbottom", 1)[1].splitlines()[0].split("  ")) > 4


def test_an_edit_is_shown_on_a_screen(at_once: Call, edit: str) -> None:
    """Verdict in words, the chains by first fact, what to edit next, commands to copy."""
    shown = at_once("show", edit, COLUMNS="80").out
    assert len(shown.splitlines()) <= 50
    long = [line for line in shown.splitlines() if len(line) > 80]
    assert all("thinkeval " in line for line in long)  # only commands are longer
    text = " ".join(shown.split())
    assert "The edit took; much of the old fact can still be deduced (asked in one" in text
    assert "39 % of the old fact" in text
    assert "83 % 1 chain has grandmother → Augusta Longbottom keeps 79 %" in text
    assert "Next: 1 further fact closes the one chain that keeps more than 10 %" in text
    assert f"thinkeval results chains {edit} --surviving" in text.replace("\\ ", "")
    for width in ("40", "200"):
        assert "has grandmother" in " ".join(at_once("show", edit, COLUMNS=width).out.split())
    assert "│" not in at_once("show", edit).out


def test_lines_of_chains_are_indented_where_they_do_not_fit(at_once: Call, edit: str) -> None:
    narrow = at_once("results", "chains", edit, COLUMNS="60").out.splitlines()
    whole = [i for i, line in enumerate(narrow) if "─ was educated at →" in line]
    assert whole
    assert all(narrow[i + 1].startswith("│" + " " * 10) for i in whole)


def test_a_measure_that_was_not_taken_is_refused(at_once: Call, edit: str) -> None:
    assert "was not measured by 'p'" in at_once("show", edit, "--measure", "p").error
