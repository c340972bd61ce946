"""A score's values by metric and measure, each with its values by chain length.

A score is stored as a flat list, one entry a metric, measure and chain length. Readers of JSON look
a number up as `score["by_metric"]["ifr"]["likelihood"]["value"]`, so `Score.by_metric` shows the
same entries by name.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, Field

BY_STEPS = "_by_steps"
"""End of a metric's name whose values are those of the metric before it, by chain length."""


class MetricValue(BaseModel):
    """One number of a score, with the number of items it was taken over: as it is stored."""

    metric: str = Field(description="Name of the metric, as in `GET /v1/metrics`.")
    measure: str = Field(
        description="The measure: likelihood, p (share of sampled answers), or likelihood_norm."
    )
    step: int | None = Field(
        default=None, description="Chain length for metrics by steps; null for the overall value."
    )
    value: float | None = Field(description="Null where the metric is undefined; then n is 0.")
    n: int = Field(
        description="chains, facts or prompts the value was taken over: those that the model knew"
        " before."
    )
    excluded: int = Field(
        default=0, description="Chains or facts left out, as it did not know them."
    )
    low: float | None = Field(
        default=None,
        description="Lower end of the 95 % interval where the measure is a sample; null where it"
        " is exact.",
    )
    high: float | None = Field(
        default=None,
        description="Upper end of the 95 % interval where the measure is a sample; null where it"
        " is exact.",
    )
    reason: str | None = Field(
        default=None,
        description="Why it is undefined, such as `the model knows 0 of 103 chains`; else null.",
    )


class StepValue(BaseModel):
    """One number with its interval and the number of items it was taken over."""

    value: float | None = Field(description="Null where the metric is undefined; then n is 0.")
    low: float | None = Field(
        description="Lower end of the 95 % interval; null where the measure is exact."
    )
    high: float | None = Field(description="Upper end of the 95 % interval; null likewise.")
    n: int | None = Field(
        description="Number of chains, facts or prompts that the value was taken over; null where"
        " the metric has values by chain length only."
    )
    excluded: int = Field(description="Number of those left out: not known before the edit.")
    reason: str | None = Field(default=None, description="Why the value is undefined; else null.")


class MetricView(StepValue):
    """One metric by one measure: the overall value, and the values by chain length."""

    by_steps: dict[int, StepValue] = Field(
        default={},
        description="The same metric over the chains of one length, by number of facts;"
        " empty for metrics that are not taken by length.",
    )


ByMetric = dict[str, dict[str, MetricView]]
"""{metric: {measure: its values}}; `ifr_by_steps` is `ifr`'s `by_steps`."""


def by_metric(values: Iterable[MetricValue]) -> ByMetric:
    """The values of a score by metric and measure, in the order of the list."""
    found: ByMetric = {}
    for each in values:
        metric = each.metric if each.step is None else each.metric.removesuffix(BY_STEPS)
        shown = {
            "value": each.value, "low": each.low, "high": each.high,
            "n": each.n, "excluded": each.excluded, "reason": each.reason,
        }  # fmt: skip
        measures = found.setdefault(metric, {})
        view = measures.setdefault(
            each.measure, MetricView(value=None, low=None, high=None, n=None, excluded=0)
        )
        if each.step is None:
            measures[each.measure] = MetricView(**shown, by_steps=view.by_steps)
        else:
            view.by_steps[each.step] = StepValue(**shown)
    return found
