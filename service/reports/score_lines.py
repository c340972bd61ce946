"""The lines of a score in terminal and web UI: a metric, its value by each measure, n."""

from __future__ import annotations

from dataclasses import dataclass

from ...cypher.metric_options import headlines, integers
from ..formatting import cell, with_interval
from ..schemas import MetricValue, Score
from .table import STEPS

EFFICACIES = (
    ("efficacy, chat template", "efficacy_chat"),
    ("efficacy, plain prompt", "efficacy_plain"),
)
"""Values that only scores of models with a chat template have: (label, metric)."""


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """One metric of a score.

    Attributes:
        label: as it is shown; `metric` is its key.
        values: one a measure, in the order of `score.measures`; None where it was not taken.
        n: chains, facts or prompts it was taken over; `excluded`: left out, not known before.
            Both by the first measure; `cell` says them where another measure differs.
    """

    label: str
    metric: str
    values: tuple[MetricValue | None, ...]
    n: int
    excluded: int

    def cell(self, place: int) -> str:
        """The value by a measure, with its own n where that differs from that of the first."""
        value = self.values[place]
        text = metric_text(value)
        if value is None or value.value is None or value.n == self.n:
            return text
        return f"{text} (n {value.n} of {value.n + value.excluded})"


def lines(score: Score) -> list[ScoreLine]:
    """The headline metrics, then IFR by steps where there are chains of that length.

    Efficacy with and without the chat template follows efficacy, for models that have one.
    """
    asked: list[tuple[str, str, int | None]] = []
    for name in headlines():
        asked.append((name, name, None))
        if name == "efficacy":
            asked += [(label, metric, None) for label, metric in EFFICACIES]
    asked += [(f"IFR, {step}-step", "ifr_by_steps", step) for step in STEPS]
    found = []
    for label, metric, step in asked:
        values = tuple(score.get(metric, measure, step) for measure in score.measures)
        if step is not None:
            values = tuple(v if v and v.n else None for v in values)
        counted = next((v for v in values if v), None)
        if counted is not None:
            found.append(ScoreLine(label, metric, values, counted.n, counted.excluded))
    return found


def metric_text(value: MetricValue | None) -> str:
    """A metric with its 95 % interval, where there is one; counts as whole numbers."""
    if value is None or value.value is None:
        return cell(None)
    number = int(value.value) if value.metric in integers() else value.value
    return with_interval(number, value.low, value.high)
