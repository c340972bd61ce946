"""The tables of docs/results are those of the stored numbers, and outputs become such tables."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from thinkeval.service.leakcut.coedit_sweep import ChosenSummary, FrontierRow
from thinkeval.service.models.edit import AppendLoss, AppendOut, MetricValue, Score
from thinkeval.service.reports import by_kind
from thinkeval.service.reports.formats import render
from thinkeval.service.reports.table import method_table, records

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "benchmarks" / "results"
RESULTS = ROOT / "docs" / "results"


def module(name: str) -> ModuleType:
    """A module of the program, which is run as a folder and not installed."""
    sys.path.insert(0, str(PROGRAM))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(PROGRAM))


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


def test_crawls_by_organism_and_rule() -> None:
    row = {"questions": 460, "facts": 111, "precision": 0.892, "recall": 1.0, "f1": 0.943,
           "chains": 103, "chains_found": 109, "chains_right": 102}  # fmt: skip
    of: dict[str, Any] = {"rules": {"kind gate": row}, "answers": 1000, "batched_s": 2.0,
                          "single_s": 0.05, "jaccard": 0.75}  # fmt: skip
    taught = of | {"auc": 0.98, "unknown": {"existing": {"n": 89, "mean": 0.002, "half": 0.0}}}
    outputs = [json.dumps({"organisms": {"plain": of, "unknown": taught}})]
    made = module("made")
    columns, rows = made.crawls(outputs, {})
    assert rows[1] == ["unknown", "kind gate", 460, 111, 0.892, 1.0, 0.943, 109, 102]
    assert len(columns) == len(rows[0])
    assert made.unknown(outputs, {})[1] == [["existing", 89, 0.002, 0.0]]
    columns, rows = made.further(outputs, {})
    assert [column["title"] for column in columns] == ["what", "plain", "unknown"]
    assert [row[1:] for row in rows] == [[None, 0.98], [0.75] * 2, ["1,000"] * 2, ["25 ×"] * 2]


def test_correlation_is_over_the_edits_of_the_sweep() -> None:
    names = ["Efficacy", "IFR mean", "Preservation", "Subject retention", "IFR beyond mean"]
    table = [{"Method": method, **dict.fromkeys(names, 0.5)} for method in ("rome", "memit")]
    values = [(0.1, 0.2), (0.4, 0.3), (0.9, 0.8), (0.5, None)]
    edits = [
        {"edit": f"{method}-{place}", "method": method, "ifr": ifr, "ifr.n": 4,
         "subject_retention": kept or 0.0, "subject_retention.n": 0 if kept is None else 2}
        for method in ("rome", "memit")
        for place, (ifr, kept) in enumerate(values)
    ]  # fmt: skip
    swept = {"table": table, "edits": [each["edit"] for each in edits]}
    other = edits[0] | {"edit": "rome-of-another-sweep", "ifr": 7.0}
    columns, rows = module("made").subject(
        [json.dumps(swept), json.dumps([*edits, other])], {}
    )  # fmt: skip
    # By hand: the sum of products is .253333 and, of the deviations' squares, .326667 and .206667.
    assert [row[0] for row in rows] == ["rome", "memit"]
    assert rows[0][-1] == pytest.approx(0.253333 / (0.326667 * 0.206667) ** 0.5, abs=1e-5)
    assert len(columns) == len(rows[0])


def test_values_that_pass_a_line_are_counted_with_their_number() -> None:
    def edit(id: str, method: str, efficacy: float, ifr: float | None) -> dict[str, Any]:
        others = ("ifr_beyond_subject", "preservation", "subject_retention")
        values = {"efficacy": efficacy, "ifr": ifr, **dict.fromkeys(others, 0.9)}
        counts = {f"{key}.n": 0 if value is None else 1 for key, value in values.items()}
        return {"edit": id, "method": method, **values, **counts}

    edits = [edit("a", "rome", 0.9, 0.5), edit("b", "rome", 0.89, 0.4), edit("c", "rome", 1, None),
             edit("d", "none", 0, 1.0), edit("e", "rome", 1, 0.1)]  # fmt: skip
    swept = json.dumps({"edits": ["a", "b", "c", "d"]})
    columns, rows = module("made").counted([swept, json.dumps(edits)], {})
    assert [column["title"] for column in columns[:3]] == ["method", "efficacy ≥ .9", "IFR < .5"]
    assert rows == [
        ["none", "0 of 1", "0 of 1", "0 of 1", "1 of 1", "1 of 1"],
        ["rome", "2 of 3", "1 of 2", "0 of 3", "3 of 3", "3 of 3"],
    ]


def test_tuned_hyperparameters_are_beside_suggested_ones_of_the_same_rewrites() -> None:
    def edit(rewrite: str, efficacy: float, kl: float | None) -> dict[str, Any]:
        others = ("ifr", "preservation", "subject_retention")
        values = {"efficacy": efficacy, "kl": kl, **dict.fromkeys(others, 0.5)}
        counts = {f"{key}.n": 0 if value is None else 1 for key, value in values.items()}
        counts |= {"subject_kept": 2.0, "subject_followed": None, "subject.n": 3.0}
        return {"edit": f"{rewrite}{kl}", "rewrite": rewrite, "method": "rome", **values, **counts}

    suggested = [edit("a", 0.9, 0.1), edit("b", 0.7, 0.3), edit("elsewhere", 0.0, 9.0)]
    tuned = [edit("a", 1.0, None), edit("b", 0.95, 0.02)]
    again = {**suggested[0], "method": "memit"}
    outputs = [json.dumps([*suggested, again]), json.dumps([*tuned, again])]
    columns, rows = module("made").tuned(outputs, {})
    assert rows == [
        ["rome, suggested", "1 of 2", 0.8, 0.5, 0.5, 0.5, 0.2, "4, 0, 6"],
        ["rome, tuned", "2 of 2", 0.975, 0.5, 0.5, 0.5, 0.02, "4, 0, 6"],
        ["memit, suggested", "1 of 1", 0.9, 0.5, 0.5, 0.5, 0.1, "2, 0, 3"],
    ]
    assert len(columns) == len(rows[0])
    tuned[0] |= {"change_far": 0.9, "change_far.n": 8, "known_kept": 7.0, "known.n": 9}
    columns, alone = module("made").effects([json.dumps(tuned)], {})
    assert alone == [["rome", *rows[1][1:], 0.9, "7 of 9"]]
    assert len(columns) == len(alone[0])


def test_a_search_that_misses_says_so() -> None:
    search = {
        "method": "fine_tuning", "changed": {"lr": 0.004}, "reached": False, "efficacy": 0.83,
        "kl": 0.03, "held_out": [], "edits": 6, "seconds": 90.0,
    }  # fmt: skip
    columns, rows = module("made").found([json.dumps([search])], {})
    assert rows == [["fine_tuning", "lr 0.004 (misses .9)", 0.83, 0.03, "not asked", 6, 1.5]]
    assert len(columns) == len(rows[0])


def test_differences_that_exceed_chance() -> None:
    base = {"efficacy": 0.7, "metric": "ifr", "first": "a", "second": "b", "value": 0.1}
    rows = [
        base | {"interval": [0.05, 0.2], "beyond_rewrites": True, "metric": "preservation"},
        base | {"interval": [0.05, 0.2], "beyond_rewrites": True},
        base | {"interval": [-0.05, 0.2], "beyond_rewrites": False},
        base | {"interval": None, "beyond_rewrites": None},
        base | {"interval": [0.05, 0.2], "beyond_rewrites": True, "efficacy": 0.5},
    ]
    _, found = module("made").differences([json.dumps({"differences": rows})], {})
    assert found == [
        ["IFR", "a − b", [0.1, 0.05, 0.2]],
        ["Preservation", "a − b", [0.1, 0.05, 0.2]],
    ]


def stored_rows() -> dict[str, list[Any]]:
    """The rows of the page of times, by name."""
    stored = json.loads((RESULTS / "data" / "measured.json").read_text(encoding="utf-8"))
    return {row[0]: row for row in stored["tables"]["ratios"]["rows"]}


def line(what: str, **more: Any) -> dict[str, Any]:
    """A line of a benchmark, half a second beside two and a half minutes."""
    found = {"what": what, "name": "plain", "unit": "s", "ours": 0.5, "instead": 150.0}
    return found | {"ratio": 300.0, "bound": False} | more


def test_every_row_of_times_has_a_command_that_measures_it() -> None:
    times = module("times")
    measured = [row.what for rows in times.BENCHMARKS.values() for row in rows]
    assert [*stored_rows()] == [what for what in measured if what in stored_rows()]
    for command in times.BENCHMARKS:
        assert (ROOT / command.split()[1]).is_file()


def test_benchmarks_replace_their_rows_and_leave_the_others() -> None:
    times = module("times")
    command = next(iter(times.BENCHMARKS))
    rows = times.BENCHMARKS[command]
    lines = [line(pattern) for row in rows for pattern in row.lines]
    notes = ["2 cores, load 1.5 (1 min, at the end); …"]
    text = json.dumps({"lines": lines, "notes": notes})
    before = {"ratios": {"rows": list(stored_rows().values())}}
    _, made = times.ratios([text, *[""] * (len(times.BENCHMARKS) - 1)], before)
    new = {row.what for row in rows}
    for row in made:
        if row[0] in new:
            assert row[1:4] == ["0.5 s", "150 s, plain", "300 ×"]
            assert row[4].endswith(", load 1.5")
            assert row[5] == f"`{command.removesuffix(' --json')}`"
        else:
            assert row == stored_rows()[row[0]]


def test_a_busy_machine_replaces_processor_time_alone(capsys: pytest.CaptureFixture[str]) -> None:
    times = module("times")
    notes = ["2 cores, load 7.2 (1 min, at the end); …"]
    texts = [
        json.dumps({"lines": [line(p.lstrip("^")) for row in rows for p in row.lines],
                    "notes": notes})
        if "commands.py" in command or "ifr_one_query" in command else ""
        for command, rows in times.BENCHMARKS.items()
    ]  # fmt: skip
    old = [row.what for rows in times.BENCHMARKS.values() for row in rows]
    before = {"ratios": {"rows": [[what, "1 s", None, None, "2026-11-20", "`x`"] for what in old]}}
    _, made = times.ratios(texts, before)
    new = [row[0] for row in made if row[5] != "`x`"]
    assert len(new) == 3
    assert all(what.startswith("processor time") for what in new)
    assert capsys.readouterr().err.count("kept, as the machine was busy") == 1


def test_lines_side_by_side_say_a_thing_once() -> None:
    times = module("times")
    text = json.dumps({
        "lines": [line("one", instead=None), line("two", instead=None, ours=2.0),
                  line("a"), line("b", name="other", bound=True)],
        "notes": ["load 3.0 (…)"],
    })  # fmt: skip
    cells = times.cells(times.Row("r", ("^one", "^two")), json.loads(text)["lines"])
    assert cells == ["0.5 s / 2 s", None, None]
    cells = times.cells(times.Row("r", ("^a", "^b")), json.loads(text)["lines"])
    assert cells == ["0.5 s", "150 s, plain; > 150 s, other", "300 ×; > 300 ×"]


def test_a_row_without_its_line_is_an_error() -> None:
    times = module("times")
    with pytest.raises(module("tables").ResultsError, match="no line"):
        times.cells(times.Row("r", ("absent",)), [line("one")])


def test_columns_of_stages_are_lines() -> None:
    shown = {"unit": "s", "columns": {"new database": {"start": 1.0, "all": 9.0}}}
    found = module("times").lines_of(shown)
    assert found[1]["what"] == "all, new database"
    assert found[1]["ours"] == 9.0


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


def test_columns_are_those_that_appended_answers_have() -> None:
    whole = {"append_es": 1.0, "append_gs": 1.0, "append_ls": 0.5, "anf_hard": 0.4,
             "aff_random": 0.3, "anf_random": 0.2}  # fmt: skip
    scores = [score("rome", "none", aff_hard=0.9, **whole), score("rome", "app", aff_hard=0.4)]
    found = by_kind.appended_table(scores)
    differences = by_kind.paired(found, as_text=False)
    made = module("appends")
    text = json.dumps({"table": records(found.frame())})
    columns, rows = made.appended([text], {})
    assert [row[0] for row in rows] == ["rome", "rome APP"]
    place = [column["title"] for column in columns].index("AFF hard")
    assert [row[place] for row in rows] == [90.0, 40.0]
    columns, rows = made.paired([render(differences, "json")], {})
    assert rows == [["rome", "AFF hard", [-0.5, None, None], None, 1],
                    ["rome", "ANF hard", None, None, 0], ["rome", "ES", None, None, 0]]  # fmt: skip
    assert len(columns) == len(rows[0])


def test_parts_of_app_are_in_order() -> None:
    means = {
        f"{title}{end}": value
        for title in ("ES", "AFF hard", "ANF hard")
        for end, value in {"": 0.5, ".low": 0.4, ".high": 0.6}.items()
    }
    names = ["APP", "bare", "APP k=10", "APP k=3", "APP −L1"]
    rows = [{"Method": "rome", "Variant": name, **means} for name in names]
    made = module("appends")
    columns, found = made.neighbours([json.dumps({"table": rows[:4]})], {})
    assert [row[1] for row in found] == ["0 (bare)", "3", "10", "all"]
    assert found[0][2:] == [[50.0, 40.0, 60.0]] * 3
    assert len(columns) == len(found[0])
    texts = [json.dumps({"table": part}) for part in (rows[:2], rows[4:])]
    _, found = made.without(texts, {})
    assert [row[1] for row in found] == ["APP", "APP −L1"]


def test_columns_are_those_that_co_edits_have() -> None:
    made = module("coedits")
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


def test_choices_of_co_edits_have_a_row_each() -> None:
    figures = dict.fromkeys(
        ("ifr", "efficacy", "coedit_efficacy", "preservation", "preservation_unedited",
         "subject_retention", "coedited_retention"), 0.25,
    )  # fmt: skip
    rows = [
        {"subject": "Ward Kimball", "choice": "nothing", "facts": 0, "n": 1, **figures},
        {"subject": "Ward Kimball", "choice": "random", "facts": 2, "n": 5, **figures},
    ]
    columns, found = module("coedits").choices([json.dumps({"rows": rows})], {})
    assert [row[1] for row in found] == ["nothing", "random, 2 (mean of 5)"]
    assert len(columns) == len(found[0])


def test_a_step_is_given_the_data_and_the_sets_of_the_step_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("THINKEVAL_DATA", "/data")
    measure = module("measure")
    assert measure.words("thinkeval import $THINKEVAL_DATA/knowgic", []) == [
        "thinkeval", "import", "/data/knowgic",
    ]  # fmt: skip
    printed = json.dumps({"sets": [{"id": "one"}, {"id": "two"}]})
    assert measure.words("run SETS --json", [printed]) == ["run", "one", "two", "--json"]
    assert measure.words("report EDITS", [json.dumps({"edits": ["a", "b"]})]) == [
        "report", "a", "b",
    ]  # fmt: skip
    monkeypatch.delenv("GEMMA", raising=False)
    with pytest.raises(module("tables").ResultsError, match="Set GEMMA"):
        measure.words("sweep --model $GEMMA", [])


def test_tables_are_made_of_steps_of_their_page() -> None:
    for page in module("pages").PAGES.values():
        used = {place for table in page.tables.values() for place in table.steps}
        assert used <= set(range(len(page.steps)))
        for place, step in enumerate(page.steps):
            if "SETS" in step.command.split():
                assert "build" in page.steps[place - 1].command
            if "EDITS" in step.command.split():
                assert "sweep" in page.steps[place - 1].command


def test_tables_of_steps_that_were_not_run_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module("measure"), "machine", lambda: "2 cores")  # asks torch
    shutil.copytree(RESULTS, tmp_path / "results")
    folder = tmp_path / "results"
    before = json.loads((folder / "data" / "co-edit.json").read_text(encoding="utf-8"))["tables"]
    figures = dict.fromkeys(module("coedits").CHOICES.values(), 0.25)
    rows = [{"subject": "A", "choice": "nothing", "facts": 0, "n": 1, **figures}]
    page = module("pages").PAGES["co-edit"]
    outputs = [""] * (len(page.steps) - 1) + [json.dumps({"rows": rows})]
    module("measure").store("co-edit", page, outputs, folder)
    after = json.loads((folder / "data" / "co-edit.json").read_text(encoding="utf-8"))["tables"]
    assert after["six"]["rows"] == [["A", "nothing", *[0.25] * 7]]
    assert "coedit_choices.py" in after["six"]["measured"]["by"][0]
    assert after["rounds"] == before["rounds"]


def test_no_step_of_that_name_is_an_error() -> None:
    done = run("crawl", "--only", "nothing-of-the-kind")
    assert done.returncode == 2
    assert "nothing-of-the-kind" in done.stderr
