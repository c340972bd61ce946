"""Requests to append: a file of them, a sweep over axes that resumes, tables and figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.commands import Cli, Mine
from support.own_graphs import appending
from thinkeval.service.reports.by_kind import APPEND_COLUMNS
from thinkeval.service.scoring.append import MEASURE

REQUEST = appending(
    correct=["Hermione Granger", "Neville Longbottom", "Ron Weasley", "Rubeus Hagrid"],
    hard=["Xenophilius Lovegood", "Ginny Weasley", "Filius Flitwick"],
    random=["Herbology", "Keeper", "The Owlery"],
)


@pytest.fixture(scope="module")
def appends(mine: Mine, thinkeval: Cli, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A data set of one request to append."""
    file = tmp_path_factory.mktemp("peak") / "peak.json"
    file.write_text(json.dumps([REQUEST]), encoding="utf-8")
    graph = f"{mine.prefix}-appends"
    printed = thinkeval("import", str(file), "--name", graph, "--json").json
    assert printed["read"]["hard"] == 3
    return graph


def test_a_sweep_over_axes_resumes_and_is_reported(
    appends: str, mine: Mine, thinkeval: Cli, tmp_path: Path
) -> None:
    sweep = (
        "sweep", "-g", appends, "--model", mine.model, "-m", "rome", "--workers", "1",
        "--axis", "append_loss=none,app", "--axis", "neighbours=1,all",
    )  # fmt: skip
    first = thinkeval(*sweep, "--json").json
    assert [row["Variant"] for row in first["table"]] == ["bare", "APP k=1", "APP"]
    # Without APP the number of neighbours changes nothing: it is the same edit.
    bare, one, app = first["edits"]
    stored = [thinkeval("show", edit, "--json").json for edit in (bare, one, app)]
    chosen = [(s["append"]["loss"], s["append"]["neighbours"]) for s in stored]
    assert chosen == [("none", "all"), ("app", "1"), ("app", "all")]
    for row, score in zip(first["table"], stored, strict=True):
        taken = {v["metric"]: v["value"] for v in score["values"] if v["measure"] == MEASURE}
        found = {metric: row[title] for metric, title in APPEND_COLUMNS.items()}
        assert found == pytest.approx(
            {metric: taken[metric] for metric in APPEND_COLUMNS}, nan_ok=True
        )
    # Whether a loss lowers a number depends on the model; that it changes the update does not.
    assert len({row["AFF hard"] for row in first["table"]}) == 3
    again = thinkeval(*sweep)
    assert "rome APP k=1" in again.out
    assert " s  4 of 4: rome (append_loss=app, neighbours=all) on " in again.err
    # A score made again would have taken other seconds.
    after = [thinkeval("show", edit, "--json").json for edit in (bare, one, app)]
    assert after == stored
    report = ("report", "--kind", "append", "-g", appends)
    assert thinkeval(*report, "--json").json == first["table"]
    latex = thinkeval(*report, "-f", "latex", "--figures", str(tmp_path), "--figure-format", "svg")
    assert "\\toprule\nModel & Method & requests & ES" in latex.out
    drawn = {file.name for file in tmp_path.iterdir()}
    assert drawn == {f"append-{n}.svg" for n in ("probabilities", "ablation", "neighbours")}
    paired = thinkeval(*report, "--paired", "-f", "csv").out
    assert paired.splitlines()[0] == "Model,Method,Variant,Metric,Value,Low,High,p (t-test),n"


def test_what_a_sweep_cannot_do_is_said_first(appends: str, mine: Mine, at_once: Any) -> None:
    sweep, of = ("sweep", "-g", appends, "-m", "rome"), ("-g", mine.graph)
    for words, problem in (
        (("sweep", *of, "--kind", "append"), "has no request to append"),
        (("sweep", *of, "-m", "rome", "--axis", "alpha=0,1"), "alpha: for requests to append"),
        ((*sweep, "--axis", "append_loss=plus"), "--axis append_loss: 'plus'"),
        ((*sweep, "--axis", "neighbours=few"), "--axis neighbours: 'few'"),
        ((*sweep, "--axis", "samples=1,2"), "'samples' is no axis"),
        ((*sweep, "--axis", "alpha"), "is not NAME=VALUE,VALUE"),
        ((*sweep, "--axis", "alpha=0", "--axis", "alpha=1"), "is given twice"),
        (("sweep", "-g", appends, "-m", "kn", "--axis", "append_loss=app"), "is empty"),
        (("report", "--kind", "append", *of), "No request to append is scored"),
        (("report", *of, "--paired"), "are for appended answers"),
    ):
        done = at_once(*words)
        assert done.code != 0, words
        assert problem in done.err, (words, done.err)
