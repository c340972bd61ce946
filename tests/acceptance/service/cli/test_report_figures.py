"""`thinkeval report` with figures and as Parquet, on edits scored for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from support.commands import Done, Mine

Call = Callable[..., Done]
DEMO = "harry-potter--studied-at"


@pytest.fixture
def edits(at_once: Call, mine: Mine) -> list[str]:
    """The same rewrite without an edit and by fine-tuning; stored after the first time."""
    scored = at_once(
        "score", DEMO, "-g", mine.graph, "--model", mine.model, "-m", "none", "-m", "fine_tuning",
        "--samples", "0", "--json",
    ).json  # fmt: skip
    return [score["edit"] for score in scored]


def test_all_figures_of_named_edits_are_written(
    at_once: Call, edits: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "new" / "figures"
    done = at_once(
        "report", *edits, "--figures", folder, "--figure-format", "svg", "--figure-format", "pdf"
    )
    names = ["ifr_by_steps", "ifr_preservation"]
    names += [f"{kind}-{edit}" for kind in ("leakage", "chain") for edit in edits]
    expected = {f"{name}.{fmt}" for name in names for fmt in ("svg", "pdf")}
    assert {path.name for path in folder.iterdir()} == expected
    said = {line.removeprefix("Wrote ") for line in done.err.splitlines()}
    assert {str(folder / name) for name in expected} <= said
    assert "Preservation" in done.out
    drawn = (folder / f"leakage-{edits[1]}.svg").read_text(encoding="utf-8")
    assert "surviving chains shown" in drawn


def test_of_unnamed_edits_the_methods_are_drawn(
    at_once: Call, edits: list[str], mine: Mine, tmp_path: Path
) -> None:
    assert edits
    at_once("report", "-g", mine.graph, "--figures", tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"ifr_by_steps.png", "ifr_preservation.png"}


def test_one_named_edit_has_no_methods_to_compare(
    at_once: Call, edits: list[str], tmp_path: Path
) -> None:
    at_once("report", edits[0], "--figures", tmp_path)
    names = {f"leakage-{edits[0]}.png", f"chain-{edits[0]}.png"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_a_row_an_edit_reads_no_chains(
    at_once: Call, edits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the edits were compared")

    monkeypatch.setattr("thinkeval.service.reports.comparison.families", refuse)
    assert len(at_once("report", *edits, "--each", "-f", "json").json) == 2


@pytest.mark.parametrize("each", [True, False])
def test_parquet_is_the_table_with_its_caption(
    at_once: Call, edits: list[str], tmp_path: Path, each: bool
) -> None:
    file = tmp_path / "table.parquet"
    options = ["--each"] * each
    assert at_once("report", *edits, *options, "-f", "parquet", "-o", file).out == ""
    frame = pd.read_parquet(file)
    rows = at_once("report", *edits, *options, "-f", "json").json
    column = "ifr" if each else "IFR"
    assert frame[column].tolist() == pytest.approx([row[column] for row in rows], rel=1e-12)
    assert "2 edits, measure: likelihood" in frame.attrs["caption"]


def test_what_cannot_be_written_is_refused(at_once: Call, edits: list[str], tmp_path: Path) -> None:
    assert "-o FILE" in at_once("report", *edits, "-f", "parquet").error
    assert "--figures" in at_once("report", *edits, "--figure-format", "svg").error
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = at_once("report", edits[0], "--figures", blocked)
    assert "cannot be written" in done.error
    done = at_once("report", *edits, "-f", "xlsx", "--figures", tmp_path / "none")
    assert "parquet" in done.error
    assert not (tmp_path / "none").exists()
