"""`thinkeval db backup`, `verify` and `restore` as a user runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.commands import Mine


@pytest.fixture(scope="module")
def file(mine: Mine, thinkeval: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("backup") / "b.zip"
    made = thinkeval("db", "backup", str(path), "--json").json
    assert made["bytes"] == path.stat().st_size
    assert made["nodes"]["Graph"] >= 1
    assert {part["name"] for part in made["parts"]} >= {"nodes.jsonl", "relationships.jsonl"}
    return path


def test_a_backup_is_verified(file: Path, at_once: Any) -> None:
    found = at_once("db", "verify", str(file), "--json")
    assert (found.code, found.json["notes"]) == (0, [])
    text = at_once("db", "verify", str(file))
    assert "is whole" in text.out
    assert "compared with the digest of a score" in text.out


def test_the_database_is_verified_with_n(mine: Mine, at_once: Any) -> None:
    edit = at_once(
        "score", "harry-potter--studied-at--ilvermorny", "-g", mine.graph, "-m", "rome",
        "--model", mine.model, "--json",
    ).json[0]["edit"]  # fmt: skip
    found = at_once("db", "verify", "--json").json
    assert found["differing"] == []
    assert found["values"] > 20
    assert f"{found['values']:,} values of" in at_once("db", "verify").out
    at_once("results", "edits", edit, "--delete")


def test_a_restore_that_is_refused_is_one_line(file: Path, at_once: Any, tmp_path: Path) -> None:
    done = at_once("db", "restore", str(file))
    assert done.code == 2
    assert "is not empty" in done.err
    assert "THINKEVAL_HOME" in done.err
    (tmp_path / "cut.zip").write_bytes(file.read_bytes()[:-100])
    for command in (("restore", "cut.zip"), ("verify", "cut.zip"), ("verify", "none.zip")):
        done = at_once("db", command[0], str(tmp_path / command[1]))
        assert done.code == 2
        assert [line[:6] for line in done.err.strip().splitlines()[-1:]] == ["error:"]
        assert "Traceback" not in done.err
    assert at_once("db", "backup", str(file)).code == 2
