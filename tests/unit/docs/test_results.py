"""The tables of docs/results are those of the stored numbers, and outputs become such tables."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from thinkeval.service.append_schemas import AppendLoss, AppendOut
from thinkeval.service.leakcut.coedit.sweep import ChosenSummary, FrontierRow
from thinkeval.service.reports.append import paired
from thinkeval.service.reports.append import table as append_table
from thinkeval.service.reports.formats import render
from thinkeval.service.reports.table import method_table, records
from thinkeval.service.schemas import MetricValue, Score

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "benchmarks" / "results"
RESULTS = ROOT / "docs" / "results"


def module(name: str) -> ModuleType:
    """A module of the program, which is run as a folder and not installed."""
    spec = importlib.util.spec_from_file_location(f"results_{name}", PROGRAM / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """The program, as a user starts it."""
    command = [sys.executable, str(PROGRAM), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_page_shows_its_stored_numbers() -> None:
    done = run("--check")
    assert (done.returncode, done.stderr) == (0, "")
    stored = {path.stem for path in (RESULTS / "data").glob("*.json")}
    assert stored == {path.stem for path in RESULTS.glob("*.md")} - {"index"}


def test_a_changed_number_is_found_and_written(tmp_path: Path) -> None:
    shutil.copytree(RESULTS, tmp_path / "results")
    page, data = tmp_path / "results" / "matched.md", tmp_path / "results" / "data" / "matched.json"
    stored = json.loads(data.read_text(encoding="utf-8"))
    stored["tables"]["matched"]["rows"][0][2] = 0.1234
    data.write_text(json.dumps(stored), encoding="utf-8")
    folder = ("--docs", str(tmp_path / "results"))
    done = run("--check", *folder)
    assert done.returncode == 1
    assert "matched.md: differs" in done.stderr
    assert "0.123" not in page.read_text(encoding="utf-8")
    assert run("--from-stored", "matched", *folder).returncode == 0
    assert "| 0.123 |" in page.read_text(encoding="utf-8")
    assert run("--check", *folder).returncode == 0


def test_a_place_without_a_table_is_an_error(tmp_path: Path) -> None:
    shutil.copytree(RESULTS, tmp_path / "results")
    page = tmp_path / "results" / "crawl.md"
    page.write_text("<!-- table rules -->\n", encoding="utf-8")
    done = run("--check", "crawl", "--docs", str(tmp_path / "results"))
    assert done.returncode == 2
    assert "no partner" in done.stderr
    assert run("--check", "nothing").returncode == 2


def test_every_page_can_be_measured() -> None:
    listed = [line.split()[0] for line in run().stdout.splitlines()]
    assert sorted(listed) == sorted(path.stem for path in (RESULTS / "data").glob("*.json"))


def test_every_table_says_where_its_numbers_are_from() -> None:
    for path in (RESULTS / "data").glob("*.json"):
        for name, table in json.loads(path.read_text(encoding="utf-8"))["tables"].items():
            assert {"on", "by", "machine", "thinkeval"} <= set(table["measured"]), (path, name)
            assert "cores" in table["measured"]["machine"]


def test_cells() -> None:
    cell = module("tables").cell
    column = {"title": "IFR", "digits": 3, "bounds": 2}
    assert cell(None, column) == "–"
    assert cell(0.42351, column) == "0.424"
    assert (
        cell([0.42351, 0.218, 0.5361], column)
        == "0.424\N{NO-BREAK SPACE}(0.22\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}0.54)"
    )
    assert (
        cell([0.619, None, None], column) == "0.619\N{NO-BREAK SPACE}(no\N{NO-BREAK SPACE}interval)"
    )
    assert cell(1406, {"title": "chains", "digits": 0}) == "1,406"
    assert cell("rome", {"title": "method"}) == "rome"


def test_methods_keep_the_order_and_undefined_stays_undefined() -> None:
    names = [
        "Efficacy", "Generalization", "IFR", "IFR mean", "1-step", "2-step", "3-step", "4-step",
        "5-step", "Preservation", "Subject retention", "IFR beyond subject", "IFR low", "IFR high",
    ]  # fmt: skip
    rows = [{"Method": name, **dict.fromkeys(names, 0.33951)} for name in ("rome", "none")]
    rows[0] |= {"Subject retention": None, "IFR low": 0.1}
    columns, made = module("made").methods([json.dumps({"table": rows})], {})
    assert [row[0] for row in made] == ["none", "rome"]
    assert made[1][4] is None
    assert made[1][2] == [0.33951, 0.1, 0.33951]
    assert len(columns) == len(made[0])
    columns, made = module("made").steps([json.dumps({"table": rows})], {})
    assert [column["title"] for column in columns[1:3]] == ["1-step IFR", "2-step IFR"]
    assert [len(row) for row in made] == [len(columns)] * 2


def test_equal_efficacy_is_sorted_by_ifr_without_undefined_methods() -> None:
    same = {"preservation": 1.0, "subject_retention": None, "ifr_beyond_subject": 0.5, "n": 26}
    rows = [
        {"method": "rome", "efficacy": 0.7, "ifr": 0.9, "ifr_interval": [0.8, 1.0], **same},
        {"method": "memit", "efficacy": 0.7, "ifr": 0.8, "ifr_interval": None, **same},
        {"method": "memit", "efficacy": 0.9, "ifr": 0.1, "ifr_interval": None, **same},
        {"method": "none", "efficacy": 0.7, "ifr": None, "ifr_interval": None, **same},
    ]
    _, made = module("made").matched([json.dumps({"matched": rows})], {})
    assert made == [
        ["memit", [0.8, None, None], 1.0, None, 0.5, 26],
        ["rome", [0.9, 0.8, 1.0], 1.0, None, 0.5, 26],
    ]


def test_crawls_are_read_from_the_printed_lines() -> None:
    line = "     460 questions   111 facts  P 0.892 R 1.000 F1 0.943  chains 103/109/103  complete"
    name = "  recommended: kind gate, .8, .2    "
    printed = "".join(
        f"{organism}: trained in 60 s\n{name}{line}\n  recommended: 9 answers in 1.0 s\n"
        for organism in ("a", "b")
    )
    _, made = module("made").crawls([printed], {})
    rule = "recommended: kind gate, .8, .2"
    assert made == [
        [organism, rule, 460, 111, 0.892, 1.0, 0.943, 109, 103] for organism in ("plain", "unknown")
    ]


def test_benchmarks_replace_their_rows_and_leave_the_others() -> None:
    made = module("made")
    outputs = [
        json.dumps(
            {
                "lines": [
                    {"what": f"{pattern.removeprefix('(?i)').removeprefix('^')}".replace(".*", " "),
                     "name": "plain", "unit": "s", "ours": 0.5, "instead": 150.0, "ratio": 300.0}
                    for pattern in patterns.values()
                ]
            }
        )
        for patterns in made.BENCHMARKS.values()
    ]  # fmt: skip
    stored = json.loads((RESULTS / "data" / "measured.json").read_text(encoding="utf-8"))["tables"]
    columns, rows = made.ratios(outputs, stored)
    again = {what for patterns in made.BENCHMARKS.values() for what in patterns}
    before = {row[0]: row for row in stored["ratios"]["rows"]}
    assert columns == stored["ratios"]["columns"]
    assert [row[0] for row in rows] == list(before)
    for row in rows:
        new = ["0.5 s", "150 s, plain", "300 ×"]
        assert row[1:4] == new if row[0] in again else row == before[row[0]]
    assert again < set(before)


def score(method: str, append: AppendLoss | None = None, **values: float) -> Score:
    """A score with a few values, each over one fact."""
    weights: dict[str, Any] = {}
    if append == "app":
        weights = {"alpha": 0.5, "beta": 0.2, "gamma": 0.1}
    measure = "likelihood_norm" if append else "likelihood"
    return Score(
        edit=f"{method}-{append}", dataset="d", rewrite="r", subject="s", relation="r",
        prompt="{} r", target_true="o", target_new="n", model="m", method=method, n_facts=1,
        values=[MetricValue(metric=k, measure=measure, value=v, n=1) for k, v in values.items()],
        append=append and AppendOut(
            loss=append, n_correct=1, n_hard=1, n_random=1, neighbours="all",
            **weights,
        ),
    )  # fmt: skip


def test_columns_are_those_that_the_sweep_writes() -> None:
    scores = [
        score(name, efficacy=0.9, ifr=0.5, preservation=0.8, subject_retention=0.7,
              ifr_beyond_subject=0.6)
        for name in ("rome", "memit")
    ]  # fmt: skip
    text = json.dumps({"table": records(method_table(scores, "likelihood"))})
    made = module("made")
    _, rows = made.methods([text], {})
    assert [row[0] for row in rows] == ["rome", "memit"]
    assert [row[1] for row in rows] == [0.9, 0.9]
    assert [row[3:5] for row in rows] == [[0.8, 0.7]] * 2
    assert len(made.steps([text], {})[1]) == 2
    assert [row[:2] for row in made.subject([text], {})[1]] == [["rome", 0.9], ["memit", 0.9]]


def test_columns_are_those_that_appended_answers_have() -> None:
    whole = {"append_es": 1.0, "append_gs": 1.0, "append_ls": 0.5, "anf_hard": 0.4,
             "aff_random": 0.3, "anf_random": 0.2}  # fmt: skip
    scores = [score("rome", "none", aff_hard=0.9, **whole), score("rome", "app", aff_hard=0.4)]
    found: Any = append_table.table(scores)
    differences = render(paired.columns("json"), paired.differences(found), "json")
    outputs = ["", "", json.dumps(append_table.as_dict(found)), differences]
    made = module("made")
    columns, rows = made.appended(outputs, {})
    assert [row[0] for row in rows] == ["rome", "rome APP"]
    place = [column["title"] for column in columns].index("AFF hard")
    assert [row[place] for row in rows] == [90.0, 40.0]
    columns, rows = made.paired(outputs, {})
    titles = [column["title"] for column in columns]
    aff = next(row for row in rows if row[titles.index("Metric")] == "AFF hard")
    assert aff[titles.index("Value")] == -0.5


def test_columns_are_those_that_co_edits_have() -> None:
    made = module("made")
    row = dict.fromkeys(FrontierRow.model_fields, 1) | {"method": "memit", "p": 0.25, "ifr": 0.4}
    best = dict.fromkeys(ChosenSummary.model_fields, 2) | {"method": "memit", "missed": {"a": "b"}}
    best["reduction"] = 0.58
    text = json.dumps({"rows": [row, row | {"m": 0, "p": None}], "chosen": [best]})
    columns, rows = made.rounds([text, text], {})
    assert len(rows) == 4
    assert rows[0][:3] == ["memit", 1, 0.4]
    assert rows[0][-1] == "1 of 2 (p = 0.250)"
    assert rows[1][-1] is None
    assert len(columns) == len(rows[0])
    columns, rows = made.chosen([text], {})
    assert rows == [["memit", 58.0, 2, 2, 2, 1, 2, 2]]
    assert len(columns) == len(rows[0])
