"""`sweep`, `sequence` and what `methods NAME` tells, as a user has them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from support.commands import Cli, Done, Mine
from thinkeval.editing import architectures

Call = Callable[..., Done]
REWRITES = ("harry-potter--studied-at", "ron-weasley--studied-at")


def args(mine: Mine, *more: str) -> tuple[str, ...]:
    return (*REWRITES, "-g", mine.graph, *more)


@pytest.fixture(scope="module")
def swept(thinkeval: Cli, mine: Mine) -> Done:
    """A sweep of two rewrites on two processes, as the command prints it."""
    more = ("--model", mine.model, "-m", "none", "-m", "memit", "--matched", "--workers", "2")
    return thinkeval("sweep", *args(mine, *more), "--json")


def test_a_sweep_gives_a_table_and_methods_at_equal_efficacy(swept: Done) -> None:
    table = {row["Method"]: row for row in swept.json["table"]}
    assert table["none"]["IFR"] == pytest.approx(1.0, abs=1e-5)
    assert table["none"]["rewrites"] == table["memit"]["rewrites"] == 2
    assert table["memit"]["Efficacy"] > 0.5
    assert table["memit"]["IFR"] < 0.9
    assert len(swept.json["edits"]) == 4
    assert swept.json["failed"] == []
    levels = {row["efficacy"]: row for row in swept.json["matched"]}
    assert set(levels) == {0.5, 0.7, 0.9}
    assert all(row["method"] == "memit" and row["n"] == 2 for row in levels.values())
    assert levels[0.5]["ifr"] is not None
    assert levels[0.5]["ifr"] >= table["memit"]["IFR"]


def test_a_sweep_of_a_file_is_stored_and_its_export_is_the_same_sweep(
    swept: Done, at_once: Call, mine: Mine, tmp_path: Path
) -> None:
    file, again = tmp_path / "run.yaml", tmp_path / "again.yml"
    asked = {"graph": mine.graph, "methods": ["none", "memit"], "rewrites": list(REWRITES),
             "models": [mine.model], "samples": 0}  # fmt: skip
    file.write_text(yaml.safe_dump(asked))
    done = at_once("sweep", file, "--workers", "1", "--json").json
    assert sorted(done["edits"]) == sorted(swept.json["edits"])
    shown = at_once("results", "sweeps", done["sweep"], "--json").json
    assert sorted(shown["edits"]) == sorted(done["edits"])
    at_once("results", "sweeps", done["sweep"], "--export", again)
    assert yaml.safe_load(again.read_text()) == asked
    assert at_once("sweep", again, "--workers", "1", "--json").json["sweep"] == done["sweep"]
    assert f"thinkeval results sweeps {done['sweep']}" in at_once("sweep", again).out
    at_once("results", "sweeps", done["sweep"], "--delete")


@pytest.mark.parametrize(
    ("text", "more", "parts"),
    [
        ("methds: [rome]", (), ("no key 'methds'", "Did you mean 'methods'", "run.yaml")),
        ("methods: []", (), ("run.yaml: methods: ",)),
        ("methods: [rome]\nseeds: [x]", (), ("run.yaml: seeds.0: ",)),
        ("methods: [rome", (), ("run.yaml cannot be read as YAML",)),
        (40_000 * "[", (), ("run.yaml cannot be read as YAML", "nested")),
        ("rome", (), ("run.yaml has no keys",)),
        ("methods: [rome]", ("-m", "memit"), ("has the whole sweep", "--workers")),
    ],
)
def test_a_file_that_is_no_sweep(
    at_once: Call, tmp_path: Path, text: str, more: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(text)
    line = at_once("sweep", file, *more).error
    assert str(file) in line
    assert all(part in line for part in parts), line


def test_a_sweep_goes_on_and_the_report_shows_its_whole_edits(
    swept: Done, at_once: Call, mine: Mine
) -> None:
    more = ("--model", mine.model, "-m", "none", "-m", "memit", "--workers", "1", "--json")
    again = at_once("sweep", *args(mine, *more)).json
    assert sorted(again["edits"]) == sorted(swept.json["edits"])
    said = at_once("report", "-g", mine.graph, "-f", "json").json
    assert {row["Method"]: row["IFR"] for row in said} == pytest.approx(
        {row["Method"]: row["IFR"] for row in again["table"]}
    )


def test_a_dry_run_counts_what_is_stored_and_scores_nothing(
    swept: Done, at_once: Call, mine: Mine
) -> None:
    model = ("--model", mine.model, "--dry-run")
    before = at_once("results", "edits", "-g", mine.graph, "--json").out
    whole = ("-m", "none", "-m", "memit", "--matched")
    (found,) = at_once("sweep", *args(mine, *model, *whole, "--json")).json
    assert (found["edits"], found["stored"]) == (10, 10)
    (found,) = at_once("sweep", *args(mine, *model, "-m", "memit", "-m", "rect", "--json")).json
    assert (found["edits"], found["stored"]) == (4, 2)
    assert {"update of rect"} == {w["what"] for w in found["work"] if "update" in w["what"]}
    assert found["seconds"] > 0
    shown = at_once("score", REWRITES[0], "-g", mine.graph, *model, "-m", "rect").out
    assert "1 (0 of them stored, and skipped)" in shown
    assert "peak memory" in shown
    assert "--coedit" in at_once("sweep", *args(mine, *model, "--coedit")).error
    assert at_once("results", "edits", "-g", mine.graph, "--json").out == before


def test_a_failed_cell_is_shown_and_ends_in_2(at_once: Call, mine: Mine) -> None:
    more = ("--model", mine.model, "-m", "none", "-m", "memit", "--set", "memit.layers=[77]")
    done = at_once("sweep", *args(mine, *more, "--workers", "1"))
    assert done.code == 2
    assert "2 cells failed" in done.out
    assert "77" in done.out
    assert "none" in done.out


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--set", "v_lr=0.5"), "memit.v_lr=0.5"),
        (("--set", "memti.v_lr=0.5"), "memit"),
        (("-m", "memti"), "memit"),
        (("--measure", "p"), "--samples 1"),
        (("-o", "x.json"), "--json"),
    ],
)
def test_mistakes_are_told_at_once(
    at_once: Call, mine: Mine, more: tuple[str, ...], told: str
) -> None:
    assert told in at_once("sweep", "-g", mine.graph, *more).error


def test_a_sequence_shows_both_scores_of_each_rewrite(at_once: Call, mine: Mine) -> None:
    given = args(mine, "--model", mine.model, "-m", "memit")
    shown = at_once("lab", "sequence", *given).out
    assert "IFR after" in shown
    assert "IFR end" in shown
    assert "all 2" in shown
    pairs = at_once("lab", "sequence", *given, "--json").json
    assert [pair["after"]["sequence"]["edited"] for pair in pairs] == [1, 2]
    assert pairs[1]["after"]["edit"] == pairs[1]["end"]["edit"]


def test_a_method_tells_its_hyperparameters(at_once: Call) -> None:
    told = at_once("model", "methods", "alphaedit").out
    assert "nullspace_relative" in told
    assert f"Architectures: {', '.join(architectures.names())}" in told
    listed = {row["name"]: row for row in at_once("model", "methods", "--json").json}
    assert listed["ike"]["architectures"] == ["any decoder"]
    assert {"alphaedit", "kn", "mend", "prune", "random_delta", "rect"} <= set(listed)


RULE = """\
rules:
  - if: [a studied at school, a was friends with b]
    then: b studied at school
    kinds: {school: school}
"""


def test_a_sweep_and_a_sequence_sum_up_what_the_rules_imply(
    at_once: Call, mine: Mine, tmp_path: Path
) -> None:
    graph = f"{mine.graph}-ruled"
    at_once("import", "hogwarts", "--name", graph)
    asked = (*REWRITES, "-g", graph, "--model", mine.model, "-m", "memit", "--implications")
    assert "no kept rules" in at_once("sweep", *asked).error
    assert "no kept rules" in at_once("lab", "sequence", *asked).error
    path = tmp_path / "rules.yaml"
    path.write_text(RULE, encoding="utf-8")
    at_once("graph", "rules", "add", graph, path)

    told = at_once("sweep", *asked, "-m", "none", "--workers", "1", "--json").json
    assert told["failed"] == []
    summed = {each["method"]: each for each in told["implications"]}
    assert list(summed) == ["memit", "none"]
    for method, each in summed.items():
        assert (each["edits"], each["rules"]) == (2, 1)
        edits = [edit for edit in told["edits"] if edit.startswith(f"{method}-")]
        listed = [
            at_once("results", "implications", edit, "--limit", "1000", "--json").json["chains"]
            for edit in edits
        ]
        both = next(way for way in each["ways"] if way["kind"] == "both")
        assert sum(each["surviving"] for each in listed) == both["surviving"]
        for name in ("stale", "propagated", "kept"):
            share = each[name]
            parts = (share["stated"], share["only_implied"])
            assert share["n"] == sum(part["n"] for part in parts)
            assert share["undefined"] == sum(part["undefined"] for part in parts)
    assert summed["none"]["stale"]["value"] == 1.0  # nothing was edited: what was given stays
    assert summed["none"]["stale"]["n"] > 0
    assert summed["none"]["propagated"]["undefined"] == 0  # they were asked
    assert summed["none"]["propagated"]["n"] > 0
    shown = at_once("sweep", *asked, "-m", "none", "--workers", "1", COLUMNS="250").out
    assert "Implications by 1 rule (" in shown

    pairs = at_once("lab", "sequence", *asked, "--json").json
    assert set(pairs) == {"edits", "implications"}
    assert list(pairs["implications"]) == ["after", "end"]
    assert {each["edits"] for each in pairs["implications"].values()} == {2}
    assert "Implications by 1 rule (" in at_once("lab", "sequence", *asked, COLUMNS="250").out
