"""Scores in other tools: rows, parameters and metrics, and what an absent package says."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from thinkeval.service.base.errors import UsageError
from thinkeval.service.models.edit import MetricValue, Score
from thinkeval.service.reports.exporters import EXPORTERS, export
from thinkeval.service.reports.table import scores_frame


def _score(edit: str, ifr: float | None) -> Score:
    values = [
        MetricValue(metric="ifr", measure="likelihood", value=ifr, n=int(ifr is not None)),
        MetricValue(metric="efficacy", measure="likelihood", value=0.75, n=1),
    ]
    return Score(
        edit=edit, dataset="d", rewrite="r", subject="s", relation="x", prompt="{} x",
        target_true="o", target_new="n", model="m", method="rome", values=values, n_facts=1,
        provenance={"seed": 3},
    )  # fmt: skip


SCORES = [_score("one", 0.25), _score("two", None)]


def test_datasets_has_a_row_an_edit_and_is_read_again(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="of the extra `exporters`")
    made = export(SCORES, "datasets", tmp_path / "rows")
    again = datasets.load_from_disk(str(tmp_path / "rows"))
    for found in (made, again):
        assert found["edit"] == ["one", "two"]
        assert found["efficacy"] == [0.75, 0.75]
        first, second = found["ifr"]
        assert first == 0.25
        assert second is None or second != second, "undefined, and never 0"
    assert export(scores_frame(SCORES, "likelihood"), "datasets")["edit"] == ["one", "two"]


class _Mlflow(SimpleNamespace):
    """Notes what is logged, as MLflow does, run by run."""

    def __init__(self) -> None:
        super().__init__(runs=[], set_experiment=lambda name: None)
        self.log_params = lambda given: self.runs[-1].update(params=given)
        self.log_metrics = lambda given: self.runs[-1].update(metrics=given)

    def start_run(self, run_name: str) -> Any:
        self.runs.append({"name": run_name})
        place = len(self.runs)

        class Run:
            info = SimpleNamespace(run_id=f"id-{place}")

            def __enter__(self) -> Run:
                return self

            def __exit__(self, *_: object) -> None:
                pass

        return Run()


def test_a_run_has_texts_as_parameters_and_defined_numbers_as_metrics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mlflow = _Mlflow()
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    assert export(SCORES, "mlflow") == ["id-1", "id-2"]
    one, two = mlflow.runs
    assert one["name"] == "one"
    assert one["params"]["method"] == "rome"
    assert one["params"]["seed"] == 3
    assert one["metrics"] == {"ifr": 0.25, "ifr.n": 1.0, "efficacy": 0.75, "efficacy.n": 1.0}
    assert "ifr" not in two["metrics"], "it is undefined"


@pytest.mark.parametrize("tool", sorted(EXPORTERS))
def test_an_absent_package_names_the_extra(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, tool, None)
    with pytest.raises(UsageError) as caught:
        export(SCORES, tool)
    assert repr(tool) in caught.value.detail
    assert "thinkeval[exporters]" in caught.value.remedy


def test_an_unknown_tool_gets_a_suggestion() -> None:
    with pytest.raises(UsageError, match="Did you mean 'mlflow'"):
        export(SCORES, "mlfow")
