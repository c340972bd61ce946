"""The lines of a score as terminal and web UI print them."""

from __future__ import annotations

from typing import Any

from thinkeval.service.models.edit import MetricValue
from thinkeval.service.reports.edit import metric_text


def metric(name: str, value: float, **more: Any) -> MetricValue:
    return MetricValue(metric=name, measure="likelihood", value=value, n=3, **more)


def test_a_metric_has_its_interval_and_counts_are_whole() -> None:
    assert metric_text(metric("ifr", 0.2345)) == "0.234"
    assert metric_text(metric("ifr", 0.2345, low=0.1, high=0.5)) == "0.234 [0.10, 0.50]"
    assert metric_text(metric("active_chains", 83.0)) == "83"
    assert metric_text(None) == "–"
    undefined = MetricValue(metric="subject_retention", measure="likelihood", value=None, n=0)
    assert metric_text(undefined) == "–"
