"""Review of a growth run by commands: candidates and decisions as CSV, judge, agreement."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.commands import Cli
from support.growth_runs import candidate, grown
from thinkeval.cypher.run import Database
from thinkeval.service.growth import review


@pytest.fixture
def run(db: Database, graph_id: str) -> Iterator[str]:
    with grown(db, f"{graph_id}-run", [candidate(place) for place in range(6)]) as name:
        yield name


def test_candidates_are_reviewed_as_a_file(
    db: Database, run: str, thinkeval: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "waiting.csv"
    thinkeval("graph", "grow", "candidates", run, "--format", "csv", "-o", str(file))
    with file.open(newline="") as text:
        table = list(csv.DictReader(text))
    assert [row["candidate"] for row in table] == [f"c{n}" for n in range(6)]
    said = [{"verb": "keep"}, {"verb": "correct", "object": "C", "reason": "as in the book"}]
    for row, each in zip(table, said, strict=False):
        row.update(each)
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    told = thinkeval("graph", "grow", "decide", run, str(file), "--as", "ann").out
    assert "2 decisions recorded; 4 candidates wait. Left out: 4 rows without a verb." in told
    listed = thinkeval("graph", "grow", "candidates", run, "--json").json
    assert [each["id"] for each in listed["items"]] == ["c2", "c3", "c4", "c5"]
    made = thinkeval("graph", "grow", "decisions", run, "--json").json
    assert made == review.decisions_of(db, run).model_dump()
    assert [(d["verb"], d["by"], d["reason"]) for d in made["items"]] == [
        ("keep", "ann", None), ("correct", "ann", "as in the book"),
    ]  # fmt: skip
    assert "Subject 1" in thinkeval("graph", "grow", "decisions", run, "--candidate", "c1").out
    printed = thinkeval("graph", "grow", "decisions", run, "-f", "csv").out
    assert list(csv.DictReader(io.StringIO(printed)))[1]["object"] == "C"


def test_nothing_is_recorded_where_one_decision_is_wrong(
    db: Database, run: str, at_once: Any, tmp_path: Path
) -> None:
    file = tmp_path / "d.csv"
    for rows, why in [
        ("c0,keep,,,\nc99,keep,,,\n", "d.csv, line 3: There is no candidate 'c99'"),
        ("c0,keep,,,\nc1,burn,,,\n", "d.csv, line 3: 'burn' is no decision"),
        ("c0,keep,,,\n,add,A,b,a\n", "the same"),
    ]:
        file.write_text(f"candidate,verb,subject,relation,object\n{rows}")
        refused = at_once("graph", "grow", "decide", run, str(file), "--as", "ann")
        assert refused.code == 2
        assert why in refused.err
    file.write_text("candidate,verb\nc0,keep\n")
    assert "nothing says who decides" in at_once("graph", "grow", "decide", run, str(file)).err
    missing = at_once("graph", "grow", "decide", run, str(tmp_path / "none.csv"))
    assert (missing.code, "cannot be read" in missing.err) == (2, True)
    assert review.decisions_of(db, run).total == 0


def test_the_judge_and_agreement_are_one_table(db: Database, run: str, thinkeval: Cli) -> None:
    for name, who, verb in (("c0", "ann", "keep"), ("c0", "bob", "prune"), ("c5", "ann", "keep")):
        review.decide(db, run, name, verb, who)  # type: ignore[arg-type]
    review.decide(db, run, "c5", "prune", "m@local", role="judge")
    printed = thinkeval("results", "growth", run, "--table", "judge", "-f", "csv").out
    first, second, last = csv.DictReader(io.StringIO(printed))
    assert (first["iteration"], first["both"], first["rated"]) == ("1", "0", "1")
    assert (second["FN"], second["precision"], second["recall"]) == ("1", "", "0.0")
    assert (last["iteration"], last["judged"], last["unanimous"]) == ("all", "1", "0.0")
    table = thinkeval("results", "growth", run).out
    assert "positive is what a person keeps or corrects" in table
