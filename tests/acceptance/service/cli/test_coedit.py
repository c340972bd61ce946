"""`thinkeval lab coedit`: rounds, the objective as a gate, formats, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.commands import Cli, Mine

REWRITE = "harry-potter--studied-at"


def test_rounds_gate_and_files(mine: Mine, thinkeval: Cli, at_once: Any, tmp_path: Path) -> None:
    asked = (
        "lab", "coedit", REWRITE, "-g", mine.graph, "--model", mine.model, "-m", "rome",
        "--rounds", "1",
    )  # fmt: skip
    done = thinkeval(*asked, "--json").json
    alone, first = done["rounds"]
    assert (alone["facts"], first["facts"], done["sequential"]) == (1, 2, True)
    for each in (alone, first):  # the numbers of its stored edit
        verdict = at_once("show", each["edit"], "--json").json["verdict"]
        values = {line["metric"]: line["value"] for line in verdict}
        assert [each["ifr"], each["efficacy"]] == pytest.approx([values["ifr"], values["efficacy"]])
    figure = tmp_path / "frontier.svg"
    shown = at_once("results", "coedits", done["id"], "--figure", str(figure))
    assert "rome edits one fact after the other" in shown.out
    assert figure.read_bytes().startswith(b"<?xml")
    assert done["id"] in at_once("results", "coedits", "-g", mine.graph).out
    # What is stored is found: neither run edits anything, and the objective decides the exit code.
    missed = thinkeval(*asked, "--objective", "ifr<=0", code=1)
    assert missed.code == 1
    assert "no round meets ifr<=0; the best is round" in missed.err
    met = thinkeval(*asked, "--objective", "ifr<=1,efficacy>=.5")
    assert met.code == 0
    assert "Stopped: the objective is met" in met.out
    edit = alone["edit"]
    cut = at_once("lab", "leakcut", edit, "--json").json
    assert (cut["keys"], cut["edit"]) == ("measured", edit)


def test_refused_at_once(mine: Mine, at_once: Any) -> None:
    for words, problem in (
        (("lab", "coedit", REWRITE, "-g", mine.graph, "-m", "none"), "control"),
        (("lab", "coedit", REWRITE, "-g", mine.graph, "--objective", "less"), "no comparison"),
        (("lab", "coedit", REWRITE, "-g", mine.graph, "--new", "x"), "not FACT=OBJECT"),
        (("lab", "coedit", REWRITE, "-g", mine.graph, "-m", "rome", "--anchors"), "joint target"),
        (("results", "coedits", "nobody"), "nobody"),
        (("results", "coedits", "--delete"), "Name a co-edit"),
    ):
        done = at_once(*words)
        assert done.code != 0, words
        assert problem in done.err, (words, done.err)
