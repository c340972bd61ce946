"""Review of a growth run by commands: decide, log, verify, judge, agreement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.commands import Cli
from support.growth_runs import candidate, grown
from thinkeval.cypher.run import Database
from thinkeval.service.growth.review import log

TABLE_11 = """iteration,tp,fp,fn,triplets
1,5,0,0,5
2,13,1,2,15
3,20,4,3,23
4,48,7,2,51
5,71,10,12,83
"""


@pytest.fixture
def run(db: Database, graph_id: str) -> Iterator[str]:
    with grown(db, f"{graph_id}-run", [candidate(place) for place in range(6)]) as name:
        yield name


def test_decisions_by_option_and_file_are_logged_and_verified(
    db: Database, run: str, thinkeval: Cli, at_once: Any, tmp_path: Path
) -> None:
    file = tmp_path / "decisions.csv"
    file.write_text(
        "candidate,verb,subject,relation,object,reason\n"
        "c0,keep,,,,\nc1,correct,A,b,C,as in the book\n,add,D,e,F,\n"
    )
    listed = thinkeval(
        "grow", "review", run, "--as", "ann", "--from", str(file), "--decide", "c2=prune",
        "--add", "G|h|I", "--reason", "wrong", "--json",
    ).json  # fmt: skip
    assert [each["id"] for each in listed["items"]] == ["c3", "c4", "c5"]
    told = thinkeval("grow", "log", run, "--json").json
    assert told == log.log_of(db, run).model_dump()
    assert [(d["verb"], d["reason"]) for d in told["items"]] == [
        ("keep", None), ("correct", "as in the book"), ("add", None), ("prune", "wrong"),
        ("add", "wrong"),
    ]  # fmt: skip
    assert "ann" in thinkeval("grow", "log", run, "--candidate", "c1").out
    assert "whole: 5 records" in thinkeval("grow", "verify", run).out
    with db._session("WRITE") as session:
        session.run("MATCH (d:Decision {id: $id}) SET d.by = 'bnn'", id=f"{run}|2").consume()
    broken = at_once("grow", "verify", run)
    assert broken.code == 1
    assert "broken at record 2" in broken.out


def test_nothing_is_recorded_where_one_decision_is_wrong(
    db: Database, run: str, at_once: Any
) -> None:
    for given, why in [
        (("--decide", "c0=keep", "--decide", "c99=keep"), "candidate 'c99'"),
        (("--decide", "c0=keep", "--decide", "c1=burn"), "'c1=burn'"),
        (("--decide", "c0=correct"), "'c0=correct'"),
        (("--decide", "c0=keep", "--add", "A|b"), "no triplet"),
        (("--decide", "c0=keep", "--add", "A|b|a"), "the same"),
    ]:
        refused = at_once("grow", "review", run, "--as", "ann", *given)
        assert refused.code == 2
        assert why in refused.err
    assert "needs a name" in at_once("grow", "review", run, "--decide", "c0=keep").err
    assert log.log_of(db, run).total == 0


def test_reports_of_given_tables(thinkeval: Cli, at_once: Any, tmp_path: Path) -> None:
    judge, ratings = tmp_path / "judge.csv", tmp_path / "ratings.csv"
    judge.write_text(TABLE_11)
    printed = thinkeval("grow", "judge", "--csv", str(judge)).out
    assert "0.877   0.855  0.866" in printed
    assert "0.877   0.892  0.885" in printed
    assert "iteration 4: TP + FN = 50 ≠ 51 triplets" in printed
    rows = ["ann,bob,cid", *["yes,yes,yes"] * 97, *["yes,no,yes"] * 3]
    ratings.write_text("\n".join(rows))
    found = thinkeval("grow", "agreement", str(ratings), "--json").json
    assert [round(found[key], 3) for key in ("pairwise", "unanimous", "ac1")] == [0.98, 0.97, 0.98]
    refused = at_once("grow", "agreement", "--raw", "0.97", "--ac1", "0.98")
    assert (refused.code, "impossible" in refused.err) == (2, True)
    three = ("--annotators", "3", "--unanimous")
    assert "possible" in thinkeval("grow", "agreement", "--raw", ".97", "--ac1", ".98", *three).out


def test_keys_at_the_terminal(
    db: Database, run: str, thinkeval: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the questions are answered in advance; queue and decisions are the real ones."""
    keys = iter([
        "x", "k", "p", "by a rumour", "c", "A|b", "c", "A|b|C", "a", "D|e|F", "s", "k", "q"
    ])  # fmt: skip
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(keys))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    from thinkeval.service.cli.growth.review_keys import ask
    from thinkeval.service.settings import Settings

    assert ask(db, Settings(), run, "ann") == 4
    assert next(keys, None) is None
    assert [(d.candidate, d.verb) for d in log.log_of(db, run).items][:3] == [
        ("c0", "keep"), ("c1", "prune"), ("c2", "correct"),
    ]  # fmt: skip
    assert [d.verb for d in log.log_of(db, run).items] == [
        "keep", "prune", "correct", "add", "keep",
    ]  # fmt: skip
    assert [c["id"] for c in thinkeval("grow", "review", run, "--json").json["items"]] == [
        "c3", "c5"
    ]  # fmt: skip
