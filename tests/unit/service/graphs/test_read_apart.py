"""Files that anyone may have sent: read in a process of its own, which ends at limits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from thinkeval.loaders import formats, graphs
from thinkeval.loaders.errors import LoaderError, UnreadableFileError
from thinkeval.service.graphs import datasets
from thinkeval.service.rules import mining

ALIASES = "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def test_what_is_read_apart_is_what_is_read_here(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(graphs.path("hogwarts").read_text("utf-8"), "utf-8")
    assert datasets.read(file, name="mine") == formats.load(file, name="mine")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("deep.json", "[" * 1_000_000, "nested too deeply"),
        ("deep.yaml", "facts: " + "[" * 1_000_000, "nested more than 100 levels deep"),
        ("wide.yaml", f"a: &a [{'x, ' * 9}x]\n{ALIASES}", "aliases .* expand to more than"),
    ],
)
def test_a_file_that_is_larger_than_it_looks_is_one_line(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    file = tmp_path / name
    file.write_text(text, "utf-8")
    format = "knowgic" if file.suffix == ".json" else "graph_yaml"
    with pytest.raises(LoaderError, match=said) as caught:
        datasets.read(file, format=format)
    assert "\n" not in caught.value.detail


def test_a_limit_is_named_with_the_setting_that_raises_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THINKEVAL_READ_LIMIT_MB", "64")
    table, rules = tmp_path / "own.csv", tmp_path / "rules.yaml"
    rows = (f"Person {i},knows,Person {i + 1}\n" for i in range(200_000))
    table.write_text("subject,relation,object\n" + "".join(rows))
    rules.write_text("rules:\n" + "- a\n" * 500_000)
    for read, file in ((datasets.read, table), (mining._read, rules)):
        stopped = rf"Reading {re.escape(str(file))} was stopped: it took more than 67,108,864 bytes"
        with pytest.raises(UnreadableFileError, match=stopped) as caught:
            read(file)
        assert "THINKEVAL_READ_LIMIT_MB" in caught.value.remedy
