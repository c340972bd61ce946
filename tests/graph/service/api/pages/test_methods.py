"""The table of methods is kept between visits, and never shows what was true before."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from support.own_graphs import own_graphs
from support.stored_edits import end_edit, random_facts, store_edit
from thinkeval.cypher.run import Database
from thinkeval.service.base.cache import Cache
from thinkeval.service.models.edit import MEASURE_NAMES
from thinkeval.service.scoring import record
from thinkeval.service.web.pages import methods
from thinkeval.service.web.pages.render import render


@pytest.fixture
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as mine:
        yield mine


def finished(db: Database, edit: str, moment: str) -> None:
    end_edit(db.write, edit, at=moment)


def edits(answer: dict[str, Any]) -> dict[str, int]:
    return {row["Method"]: row["rewrites"] for row in answer["rows"]}


def on_rewrite(db: Database, edit: str, number: int, **more: Any) -> None:
    """A random edit of a rewrite of its own."""
    facts = random_facts(number)
    store_edit(db, edit, facts, rewrite=f"rewrite-{number}", **more)


def test_methods_on_different_rewrites_are_compared_on_those_they_share(
    db: Database, prefix: str
) -> None:
    for number in range(3):
        on_rewrite(db, f"{prefix}-rome-{number}", number, dataset=prefix, method="rome")
    on_rewrite(db, f"{prefix}-memit-2", 2, dataset=prefix, method="memit")
    board = partial(methods.board, db, Cache(32), prefix, "", None)
    few = board()
    assert (edits(few), few["few"]) == ({"rome": 3}, ["memit (1 of 3)"])
    page = render("methods.html", access=None, here="/methods", names=MEASURE_NAMES, **few)
    assert "memit (1 of 3)" in page
    assert "methods=all" in page
    table = board(methods="all")
    assert edits(table) == {"rome": 1, "memit": 1}
    first, second = table["rows"]
    assert first["IFR"] == second["IFR"], "the same facts in both graphs"
    (warning,) = table["warnings"]
    assert "left out: 2 rewrites (rewrite-0, rewrite-1)" in warning
    page = render("methods.html", access=None, here="/methods", names=MEASURE_NAMES, **table)
    assert warning in page
    assert "rewrites=all" in page
    whole = board("all")
    assert edits(whole) == {"rome": 3, "memit": 1}
    assert [row["Method"] for row in whole["rows"]] == ["memit", "rome"], "not ranked"
    assert "rewrites=all" in whole["figure_query"]


def test_rewrites_of_one_family_are_counted_once(db: Database, prefix: str) -> None:
    """Random graphs over the same names share facts; so do two rewrites of the same graph."""
    for number in range(2):
        store_edit(
            db, f"{prefix}-{number}", random_facts(0), dataset=prefix, rewrite=f"rewrite-{number}"
        )
    (row,) = methods.board(db, Cache(32), prefix, "", None)["rows"]
    assert (row["rewrites"], row["families"]) == (2, 1)


def test_a_new_score_and_one_that_is_gone_show_at_once(db: Database, prefix: str) -> None:
    board = partial(methods.board, db, Cache(32))
    assert board(prefix, "", None)["rows"] == []
    for i, method in enumerate(("rome", "memit")):
        store_edit(db, f"{prefix}-{i}", random_facts(i), dataset=prefix, method=method)
        finished(db, f"{prefix}-{i}", f"2026-01-0{i + 1}T00:00:00.000+00:00")
    table = board(prefix, "", None)
    assert edits(table) == {"rome": 1, "memit": 1}
    again = board(prefix, "", None)
    assert again["rows"] is table["rows"]
    assert board(prefix, "none-such", None)["rows"] == []
    record.delete(db, f"{prefix}-1")
    assert edits(board(prefix, "", None)) == {"rome": 1}
    # Scored again, the edit is the same one and its score is another.
    store_edit(db, f"{prefix}-0", random_facts(7), dataset=prefix, method="rome")
    finished(db, f"{prefix}-0", "2026-01-03T00:00:00.000+00:00")
    after = board(prefix, "", None)
    assert edits(after) == {"rome": 1}
    assert after["rows"][0]["IFR"] != table["rows"][0]["IFR"]
