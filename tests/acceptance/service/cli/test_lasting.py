"""`thinkeval lasting`: a line of states, its table and curve; stored lines; what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.commands import Cli, Mine

REWRITE = "harry-potter--studied-at"


@pytest.fixture(scope="module")
def edit(mine: Mine, thinkeval: Cli) -> str:
    asked = ("-g", mine.graph, "--model", mine.model, "--samples", "0", "--json")
    (score,) = thinkeval("score", REWRITE, "-m", "rome", *asked).json
    return score["edit"]


def test_a_line_is_shown_drawn_and_found(
    edit: str, mine: Mine, thinkeval: Cli, at_once: Any, tmp_path: Path
) -> None:
    tune = "finetune:graph:steps=4"
    words = ("lasting", edit, "--then", "8bit", "--then", tune, "--samples", "0")
    first = thinkeval(*words, "--figure", str(tmp_path / "curve.svg"))
    for text in ("Line of states", "retention", "8bit", tune, "open again", "quantised last"):
        assert text in first.out, text
    assert (tmp_path / "curve.svg").read_bytes().startswith(b"<?xml")
    done = thinkeval(*words, "--json").json
    assert [state["change"] for state in done["states"]] == [edit, "8bit", tune]
    assert done["states"][0]["numbers"]["likelihood"]["retention"] == 1
    assert "stored earlier" in thinkeval(*words).out
    listed = at_once("lasting")
    assert done["id"] in listed.out
    table = at_once("lasting", done["id"], "-f", "csv").out.splitlines()
    assert table[0].startswith("state,retention,p(new),p(old),IFR,chains,Preservation,facts")
    assert len(table) == 4
    latex, file = tmp_path / "table.tex", str(tmp_path / "table.tex")
    assert at_once("lasting", done["id"], "-f", "latex", "-o", file).code == 0
    assert latex.read_text().startswith("% state & retention")
    tuned = done["states"][2]["fine_tune"]
    after = f"{mine.model}+edit:{edit}+edit:{tuned}"
    compared = at_once("compare", mine.model, after, "-g", mine.graph, "--samples", "0")
    assert compared.code == 0
    shown = at_once("chains", done["states"][2]["edit"], "--limit", "1")
    assert shown.code == 0
    gone = at_once("lasting", done["id"], "--delete")
    assert "1 fine-tune" in gone.out + gone.err
    assert at_once("lasting", done["id"]).code == 2


def test_refused_at_once(edit: str, at_once: Any, tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    for words, problem in (
        (("none-such", "--then", "8bit"), "none-such"),
        ((edit,), "no later change"),
        (("--then", "8bit"), "Name a scored edit"),
        (("--delete",), "Name a scored edit"),
        ((edit, "--then", "8bit", "--delete"), "--delete"),
        ((edit, "--then", "9bit"), "not a later change"),
        ((edit, "--then", "8bit", "--figure", "curve.gif"), "no format of figures"),
        ((edit, "--then", "8bit", "-f", "html"), "not a table format"),
        ((edit, "--then", f"finetune:{empty}"), "empty"),
        ((edit, "--then", "finetune:none.txt:steps=2"), "none.txt"),
        ((edit, "--then", "finetune:graph:steps=0"), "out of range"),
        ((edit, "--then", "adapter:none", "--then", "finetune:graph"), "after an adapter"),
        ((edit, "--then", f"adapter:{tmp_path}", "--samples", "0"), "adapter"),
    ):
        done = at_once("lasting", *words)
        assert done.code == 2, words
        assert problem in done.error, (words, done.err)
