"""`thinkeval peak`: a file of requests, a sweep that resumes, tables and figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.commands import Cli, Mine
from support.own_graphs import appending
from thinkeval.service.scoring.append.additivity import MEASURE

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


def test_a_sweep_over_variants_resumes_and_is_reported(
    appends: str, mine: Mine, thinkeval: Cli, tmp_path: Path
) -> None:
    sweep = (
        "peak", "sweep", "-g", appends, "--model", mine.model, "-m", "rome", "--variant", "bare",
        "--variant", "app", "--neighbours", "1", "--workers", "1",
    )  # fmt: skip
    first = thinkeval(*sweep, "--json").json
    assert [row["variant"] for row in first["rows"]] == ["bare", "APP", "APP k=1"]
    stored = [thinkeval("show", edit, "--json").json for edit in first["edits"]]
    chosen = [(s["append"]["loss"], s["append"]["neighbours"]) for s in stored]
    assert chosen == [("none", "all"), ("app", "all"), ("app", "1")]
    means = [{m: v["value"] for m, v in row["means"].items()} for row in first["rows"]]
    for mean, score in zip(means, stored, strict=True):
        taken = {v["metric"]: v["value"] for v in score["values"] if v["measure"] == MEASURE}
        assert mean == pytest.approx({metric: taken[metric] for metric in mean}, nan_ok=True)
    bare, app, one = (mean["aff_hard"] for mean in means)
    # Whether a loss lowers a number depends on the model; that it changes the update does not.
    assert len({bare, app, one}) == 3
    again = thinkeval(*sweep)
    assert "rome APP k=1" in again.out
    # A score made again would have taken other seconds.
    assert [thinkeval("show", edit, "--json").json for edit in first["edits"]] == stored
    printed = thinkeval("peak", "report", "-g", appends, "--json").json
    assert printed["rows"] == first["rows"]
    latex = thinkeval("peak", "report", "-g", appends, "-f", "latex", "--figures", str(tmp_path))
    assert latex.out.splitlines()[3].startswith("Model & Method & requests & ES")
    drawn = {file.name for file in tmp_path.iterdir()}
    assert drawn == {f"append-{n}.svg" for n in ("probabilities", "ablation", "neighbours")}
    paired = thinkeval("peak", "report", "-g", appends, "--paired", "-f", "csv").out
    assert paired.splitlines()[0] == "Model,Method,Variant,Metric,Value,Low,High,p (t-test),n"


def test_what_a_sweep_cannot_do_is_said_first(appends: str, mine: Mine, at_once: Any) -> None:
    for words, problem in (
        (("peak", "sweep", "-g", mine.graph), "has no request to append"),
        (("peak", "sweep", "harry-potter--studied-at", "-g", mine.graph), "replaces an object"),
        (("peak", "sweep", "-g", appends, "--variant", "plus"), "is not a variant"),
        (("peak", "sweep", "-g", appends, "--neighbours", "few"), "is no number"),
        (("peak", "report", "-g", mine.graph), "No request to append"),
    ):
        done = at_once(*words)
        assert done.code != 0, words
        assert problem in done.err, (words, done.err)
