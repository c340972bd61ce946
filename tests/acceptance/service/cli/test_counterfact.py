"""CounterFact on the command line: a file in, its metrics and texts out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.commands import Done, Mine

Call = Callable[..., Done]
NEW = ("specificity", "specificity_score", "specificity_magnitude", "efficacy_magnitude",
       "generalization_magnitude", "counterfact_score")  # fmt: skip


def record(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "case_id": number,
        "requested_rewrite": {
            "prompt": "{} studied at",
            "relation_id": "P69",
            "target_new": {"str": "Ilvermorny", "id": "Q2"},
            "target_true": {"str": "Hogwarts", "id": "Q1"},
            "subject": f"Pupil {number}",
        },
        "paraphrase_prompts": [f"Pupil {number} went to school at"],
        "neighborhood_prompts": ["Ron Weasley studied at"],
        "attribute_prompts": [],
        "generation_prompts": [],
    } | changes


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "counterfact.json"
    records = [record(0), record(1, neighborhood_prompts=[7]), record(2), record(3)]
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def test_a_file_is_recognised_and_its_refusals_are_printed(
    at_once: Call, mine: Mine, file: Path
) -> None:
    done = at_once("import", file, "--name", f"{mine.prefix}-cf")
    assert done.code == 0
    assert "refused: record 1, neighborhood_prompts[0]: expected text, found a number" in (
        done.out.replace("\n", " ")
    )
    listed = at_once("graph", "rewrites", f"{mine.prefix}-cf", "--json").json
    assert [r["subject"] for r in listed] == ["Pupil 0", "Pupil 2", "Pupil 3"]
    assert listed[0]["neighborhood"] == ["Ron Weasley studied at"]


def test_only_the_first_records_are_taken_where_a_limit_is_given(
    at_once: Call, mine: Mine, file: Path
) -> None:
    told = at_once("import", file, "--name", f"{mine.prefix}-few", "--limit", "3", "--json").json
    assert told["read"] == {"records": 3}
    assert told["kept"]["rewrites"] == 2
    other = at_once("import", "hogwarts", "--name", f"{mine.prefix}-no", "--limit", "3")
    assert "the format 'graph_yaml' has no option 'limit'" in other.error


def test_reference_texts_come_with_an_option(
    at_once: Call, mine: Mine, file: Path, tmp_path: Path
) -> None:
    entry = {
        "relation_id": "P69",
        "target_id": "Q2",
        "samples": [{"name": "Queenie", "text": "Queenie went to Ilvermorny."}],
    }
    snippets = tmp_path / "attribute_snippets.json"
    snippets.write_text(json.dumps([entry]), encoding="utf-8")
    name = f"{mine.prefix}-told"
    assert at_once("import", file, "--name", name, "--snippets", snippets).code == 0
    listed = at_once("graph", "rewrites", name, "--json").json
    assert {tuple(r["reference_texts"]) for r in listed} == {("Queenie went to Ilvermorny.",)}


def test_a_score_shows_counterfacts_metrics_and_what_the_models_wrote(
    at_once: Call, mine: Mine
) -> None:
    args = ["score", "harry-potter--studied-at", "-g", mine.graph, "--model", mine.model]
    args += ["-m", "rome", "--samples", "0", "--seed", "8", "--generate"]
    shown = at_once(*args, "--all-metrics", COLUMNS="160").out
    assert "Scores of CounterFact" in shown
    for row in ("specificity", "Score S"):
        assert any(line.strip(" │").startswith(row) for line in shown.splitlines()), shown
    assert "bits over 3 texts; consistency needs reference texts" in shown
    (score,) = at_once(*args, "--json").json
    assert score["reused"]
    held = {(v["metric"], v["measure"]): v for v in score["values"]}
    for metric in NEW:
        assert held[metric, "likelihood_norm"]["n"] > 0
    assert held["fluency", "text"]["n"] == held["fluency_pre", "text"]["n"] == 3
    for metric in NEW:
        assert metric in at_once("db", "metrics", COLUMNS="200").out
