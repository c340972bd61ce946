"""`lab leakcut`: the table, the JSON, the width of a terminal, and input that cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.commands import Done
from support.own_graphs import hogwarts_as, own_graphs
from support.stored_edits import probed, store_edit
from thinkeval.cypher.run import Database
from thinkeval.service.models.leakcut import CutOut
from thinkeval.service.scoring.probe import Role

Call = Callable[..., Done]
SCHOOL = "Hogwarts School of Witchcraft"
FACTS = (
    (("Neville Longbottom", "studied at", SCHOOL), 0.9, 0.01),
    (("Neville Longbottom", "studied at", "Ilvermorny"), 0.1, 0.9),
    (("Neville Longbottom", "has grandmother", "Augusta Longbottom"), 0.9, 0.8),
    (("Augusta Longbottom", "was educated at", SCHOOL), 0.9, 0.8),
    (("Neville Longbottom", "excelled at", "Herbology"), 0.9, 0.8),
    (("Herbology", "was taught at", SCHOOL), 0.9, 0.8),
)


ROLES: tuple[Role, ...] = ("target_true", "target_new", "fact", "fact", "fact", "fact")


@pytest.fixture(scope="module")
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield prefix


@pytest.fixture(scope="module")
def edit(db: Database, prefix: str) -> str:
    name = f"memit-{prefix}--neville-longbottom--studied-at--0123"
    facts = [
        probed(*fact, role, listed=role != "target_new")
        for fact, role in zip(FACTS, ROLES, strict=True)
    ]
    return store_edit(db, name, facts, dataset=f"{prefix}-g", method="memit").edit


def test_the_table_fits_a_terminal_and_names_the_next_step(at_once: Call, edit: str) -> None:
    narrow = at_once("lab", "leakcut", edit, COLUMNS="80").out
    *table, command = narrow.splitlines()
    assert max(len(line) for line in table if "│" in line) <= 80
    assert command.startswith("  thinkeval lab coedit the-rewrite -g ")
    piped = at_once("lab", "leakcut", edit).out
    assert piped.startswith(
        "2 further facts close all 2 chains that keep more than 10 % (proved fewest); IFR"
    )
    assert "Herbology was taught at Hogwarts School of Witchcraft" in piped
    assert "At most one fact a subject is edited" in piped
    assert not set(piped) & set("│┃╭")
    assert "3 other cuts" in at_once("lab", "leakcut", edit, "--keys", "off").out


def test_json_is_the_stored_schema(at_once: Call, edit: str, tmp_path: Path) -> None:
    printed = CutOut.model_validate(at_once("lab", "leakcut", edit, "--json").json)
    assert (printed.edit, printed.keys, len(printed.facts)) == (edit, "subject", 2)
    path = tmp_path / "cut.json"
    at_once("lab", "leakcut", edit, "--json", "-o", str(path))
    assert CutOut.model_validate_json(path.read_text()).facts == printed.facts
    assert "--json" in at_once("lab", "leakcut", edit, "-o", str(path)).error


def test_a_rewrite_of_a_graph(at_once: Call, db: Database, prefix: str) -> None:
    graph = hogwarts_as(db, f"{prefix}-hogwarts")
    out = at_once(
        "lab", "leakcut", "harry-potter--studied-at", "-g", graph, "--alternatives", "0"
    ).out
    assert "further facts close all" in out
    assert "of IFR" not in out
    wrong = at_once("lab", "leakcut", "harry-potter--studied-at", "-g", graph, "--measure", "p")
    assert "no probabilities" in wrong.error


def test_nothing_to_cut_is_no_error(at_once: Call, edit: str) -> None:
    done = at_once("lab", "leakcut", edit, "--leak", ".99")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Nothing to cut: of 2 chains none keeps more than 99 %")


def test_what_cannot_be_is_said(at_once: Call, edit: str) -> None:
    assert "'Herbology'" in at_once("lab", "leakcut", edit, "--lock", "Herbologie").error
    assert "--leak 1.5" in at_once("lab", "leakcut", edit, "--leak", "1.5").error
    assert "auto or subject or off" in at_once("lab", "leakcut", edit, "--keys", "none").error
    both = at_once("lab", "leakcut", edit, "--only-subject", "--not-subject").out
    assert both.startswith("No allowed fact closes any of the 2 chains")
    assert "--lock" in at_once("lab", "leakcut", edit, "--lock", "").error
    locks = ("--lock", "Neville Longbottom", "--lock", "Herbology")
    out = at_once("lab", "leakcut", edit, *locks).out
    assert "1 further fact closes 1 of the 2 chains" in out
    assert "locked: Neville Longbottom, Herbology" in out
    (line,) = [line for line in out.splitlines() if "Herbology → " in line]
    assert "it is locked" in line
