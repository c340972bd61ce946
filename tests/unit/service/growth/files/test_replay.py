"""Replay of extracted triplets against the graph that people made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.commands import Cli
from thinkeval.service.errors import UsageError
from thinkeval.service.growth.files.replay import compare, find_sources, replay

RAW = """Entity,Relationship,Attribute
Ann,club,Red
Ann,club,Red
Bob,club,Red club
Bob,team,Red
Cy,school,North
Dan,school,North
Eve,club,Blue
"""
FINAL = """
Ann: {club: [Red], studied at: [North]}
Bob: {club: [Red], plays with: [Ann]}
Cy: {studied at: [North]}
Dan: {studied at: [North]}
Red: {belongs to: [North]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "relations.csv").write_text(RAW)
    (tmp_path / "graph.yaml").write_text(FINAL)
    return tmp_path


def test_the_counts_follow_from_the_two_files(folder: Path) -> None:
    """By hand: 7 rows, 6 distinct; `Red club` is Red, `school` is `studied at`, `team` is `club`:
    two of the six become one; Eve is pruned; four of seven facts were extracted."""
    found = replay([folder])
    assert (found.rows, found.distinct, found.merged, found.final) == (7, 6, 5, 7)
    assert found.kept == 4
    assert found.precision == 4 / 5
    assert found.recall == 4 / 7
    assert found.pruned == [("Eve", "club", "Blue")]
    assert sorted(found.added) == [
        ("Ann", "studied at", "North"),
        ("Bob", "plays with", "Ann"),
        ("Red", "belongs to", "North"),
    ]
    assert [(m.kind, m.found, m.meant) for m in found.merges] == [
        ("entity", "Red club", "Red"),
        ("relation", "team", "club"),
        ("relation", "school", "studied at"),
    ]


def test_a_relation_is_merged_only_where_every_pair_is_stated_under_one_other() -> None:
    raw = [("a", "knows", "b"), ("a", "knows", "c")]
    partly = compare(raw, [("a", "met", "b"), ("d", "met", "c")])
    assert partly.merges == []
    assert partly.kept == 0
    two = compare(raw, [(s, r, o) for s, _, o in raw for r in ("met", "saw")])
    assert two.merges == []


def test_without_any_triplet_a_ratio_is_undefined() -> None:
    assert compare([], []).precision is None
    assert compare([], [("a", "r", "b")]).recall == 0


def test_files_are_recognised_by_their_content(folder: Path) -> None:
    assert find_sources([folder]) == find_sources([folder / "graph.yaml", folder / "relations.csv"])
    with pytest.raises(UsageError, match="found 0 tables of extracted triplets and 1 final"):
        find_sources([folder / "graph.yaml"])


def test_the_published_files_of_the_qwen_sample(data_dir: Path) -> None:
    """44 rows, 38 distinct, 37 merged; 67 final; 1 pruned, 31 added (counted from the files)."""
    found = replay([data_dir / "knowgic" / "qwen_sample"])
    assert (found.rows, found.distinct, found.merged, found.final) == (44, 38, 37, 67)
    assert found.pruned == [("Susan Bones", "house", "Gryffindor")]
    assert len(found.added) == 31
    assert found.precision == pytest.approx(0.973, abs=5e-4)
    assert found.recall == pytest.approx(0.537, abs=5e-4)


def test_the_command_prints_every_count(folder: Path) -> None:
    here = Cli({}, folder)
    done = here("grow", "replay", str(folder))
    for name, value in (("extracted rows", "7"), ("pruned by people", "1"), ("added by", "3")):
        assert any(name in x and x.endswith(value) for x in done.out.splitlines()), done.out
    assert "0.800 (4 of 5)" in done.out
    assert "0.571 (4 of 7)" in done.out
    assert here("grow", "replay", str(folder), "--json").json["kept"] == 4
