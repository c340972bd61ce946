"""Rules by command line, as a user: mine, review by two people, ground, write; and mistakes."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Cli
from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.cypher.run import Database

RULES = """
rules:
  - if:
      - person was sorted into house
      - house is a house at school
    then: person studied at school
    kinds: {person: person}
"""


@pytest.fixture(scope="module")
def dataset(db: Database) -> Iterator[str]:
    with own_graphs(db) as prefix:
        yield hogwarts_as(db, prefix)


def test_from_mining_to_what_a_kept_rule_predicts(thinkeval: Cli, dataset: str) -> None:
    mined = thinkeval("graph", "rules", "mine", dataset, "--min-support", "5", "--json").json
    assert (mined["total"], mined["created"]) == (17, 17)
    mined = mined["items"]
    table = thinkeval("graph", "rules", "mine", dataset, "--min-support", "5").out
    assert "17 rules with support ≥ 5; 0 of them new" in table
    assert "If [Person A] was friends with [Person B]" in table  # brackets are no markup
    rows = list(csv.DictReader(
        thinkeval("graph", "rules", "list", dataset, "--format", "csv").out.splitlines()
    ))  # fmt: skip
    assert [row["rule"] for row in rows] == [rule["id"] for rule in mined]
    none = thinkeval("graph", "rules", "instantiate", dataset, code=2).error
    assert "17 candidates are not reviewed" in none
    best = mined[0]["id"]
    names = [f"{dataset} {name}" for name in ("ann", "bob")]
    said = [
        thinkeval("graph", "rules", "label", dataset, best[:8], label, "--annotator", name).out
        for name, label in zip(names, "ab", strict=True)
    ]
    assert ["candidate" in said[0], "kept" in said[1]] == [True, True]
    waiting = thinkeval("graph", "rules", "list", dataset, "--annotator", names[0], "--json").json
    assert len(waiting) == 16
    assert "over 1 rule " in thinkeval("graph", "rules", "agreement", dataset).out
    assert (
        thinkeval("graph", "rules", "list", dataset, "--status", "kept", "--json").json[0]["id"]
        == best
    )
    shown = thinkeval(
        "graph", "rules", "instantiate", dataset, "--show", "predicted", "--json"
    ).json["items"]
    assert len(shown) == mined[0]["body"] - mined[0]["support"]
    assert best in thinkeval("graph", "rules", "show", dataset, best[:8]).out


def test_written_rules(thinkeval: Cli, dataset: str, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(RULES, encoding="utf-8")
    (added,) = thinkeval("graph", "rules", "add", dataset, path, "--json").json
    assert (added["status"], added["support"], added["body"]) == ("kept", 7, 9)
    touched = thinkeval(
        "graph", "rules", "instantiate", dataset, "--rule", added["id"],
        "--subject", "Harry Potter",
        "--relation", "was sorted into", "--json",
    ).json["items"]  # fmt: skip
    assert [g["conclusion"]["object"] for g in touched] == [
        "Hogwarts School of Witchcraft and Wizardry"
    ]
    path.write_text(RULES.replace("sorted into", "sortet into"), encoding="utf-8")
    assert (
        "Did you mean 'was sorted into'"
        in thinkeval("graph", "rules", "add", dataset, path, code=2).error
    )
    path.write_text(RULES.replace("then: person", "then: ruler"), encoding="utf-8")
    assert "no premise binds" in thinkeval("graph", "rules", "add", dataset, path, code=2).error
    assert "Deleted 1 rule of" in thinkeval("graph", "rules", "delete", dataset, added["id"]).out


def test_what_goes_wrong_is_one_line(thinkeval: Cli, dataset: str) -> None:
    one = ("graph", "rules", "label", dataset, "x")
    assert "--annotator" in thinkeval(*one, "a", code=2).error
    assert "'q' is unknown" in thinkeval(*one, "q", "--annotator", "ann", code=2).error
    assert "no rule" in thinkeval(*one, "a", "--annotator", "ann", code=2).error
    assert "together" in thinkeval(
        "graph", "rules", "instantiate", dataset, "--subject", "Harry Potter", code=2
    ).error  # fmt: skip
    assert "no rule" in thinkeval("graph", "rules", "show", dataset, "zzz", code=2).error
