"""`import` of a table on the command line: `--map`, `--audit`, `--strict`."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from support.commands import Done, Mine

Call = Callable[..., Done]
MAP = ("--map", "Name=subject", "--map", "What=relation", "--map", "Where=object")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "own.csv"
    rows = ["Name;What;Where", "Ada Novak;born in;Oslo", "Ada Novak;born in;Rome", "Ben;knows;"]
    path.write_bytes("\r\n".join(rows).encode("utf-16"))
    return path


def test_a_table_is_imported_with_its_columns_named(at_once: Call, mine: Mine, file: Path) -> None:
    refused = at_once("import", file)
    assert refused.code == 2
    assert '--map "COLUMN=subject"' in " ".join(refused.err.split())
    done = at_once("import", file, *MAP, "--name", f"{mine.prefix}-map")
    assert done.code == 0
    printed = " ".join(done.out.split())
    assert "own.csv: semicolons, UTF-16; subject is 'Name', relation is 'What'" in printed
    assert "audit: contradicting-objects" in printed
    told = at_once("import", file, *MAP, "--name", f"{mine.prefix}-map", "--json").json
    assert told["kept"] == {"facts": 2, "entities": 3, "rewrites": 0}
    assert {note["code"] for note in told["notes"]} >= {"empty-cell", "contradicting-objects"}


def test_strict_stores_nothing_and_the_findings_are_written(
    at_once: Call, mine: Mine, file: Path, tmp_path: Path
) -> None:
    name, found = f"{mine.prefix}-strict", tmp_path / "found.csv"
    done = at_once("import", file, *MAP, "--name", name, "--audit", found, "--strict")
    assert done.code == 2
    assert "empty-cell 1, contradicting-objects 1); nothing is stored" in " ".join(done.err.split())
    with found.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["code"], row["kind"], row["where"]) for row in rows] == [
        ("empty-cell", "refused", "own.csv, line 4, Where"),
        ("contradicting-objects", "audit", "'Ada Novak' 'born in'"),
    ]
    assert name not in [graph["id"] for graph in at_once("results", "graphs", "--json").json]
