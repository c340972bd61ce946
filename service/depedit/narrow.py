"""The paper's tables as a terminal shows them: one short cell a number, its gain in brackets.

`98.8 (+90.3)` is a share in percent and the gain over the editor that the strategy wraps, as in
DepEdit's Table 7. Numbers are means over the sets in the last column; where a metric is defined on
fewer of them, its cell says on how many.
"""

from __future__ import annotations

from collections.abc import Sequence

from thinkeval.service.depedit.metrics import TITLES
from thinkeval.service.depedit.report import TABLES, Mean, Method


def narrow(found: Sequence[Method], table: str) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of one of the tables; setting and facts only where the rows differ in it."""
    told = [
        (name, [getattr(row, field) for row in found])
        for name, field in (("Setting", "setting"), ("Facts", "facts"))
    ]
    lead = [(name, values) for name, values in told if len(set(values)) > 1]
    columns = [name for name, _ in lead] + ["Method"]
    columns += [TITLES[metric] for metric in TABLES[table]] + ["sets"]
    rows = [
        [values[i] for _, values in lead]
        + [row.method]
        + [_cell(row, metric) for metric in TABLES[table]]
        + [str(row.runs)]
        for i, row in enumerate(found)
    ]
    return columns, rows


def _cell(row: Method, metric: str) -> str:
    mean = row.means[metric]
    if mean.value is None:
        return "–"
    gain = row.gains.get(metric, Mean(None, 0))
    text = f"{100 * mean.value:.1f}"
    if gain.value is not None:
        # A difference of equal means may be a last bit below 0, which reads -0.0.
        text += f" ({round(100 * gain.value, 1) + 0.0:+.1f})"
    return text if mean.n == row.runs else f"{text} n={mean.n}"
