"""Figure of a frontier: IFR against the loss, one point a round of co-edits.

The loss is 1 − Preservation over the facts that were not edited. A filled marker is a round
whose first edit is installed, a hollow one a round that lost it; the chosen round is ringed, and
each point carries its number of facts. Good is down and to the left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...formatting import pluralize
from .style import BLUE, INK, MUTED, RED, in_words, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INSTALLED = 0.9
"""Efficacy of the first request from which a marker is filled."""

WIDTH, HEIGHT = 6.0, 3.7
"""Inches."""
LEGEND = (
    "Filled: efficacy of the first request at least .9; hollow: below, or .9 of the edit alone is"
    " lost. Ring: the chosen round. Numbers: facts edited, round by round along the line."
)


@dataclass(frozen=True, slots=True)
class Point:
    """A round.

    Attributes:
        facts: edited together.
        ifr: indirect fact recovery, with its 95 % interval where it was sampled.
        lost: 1 − Preservation over the facts that were not edited.
        installed: True if the first edit holds.
    """

    number: int
    facts: int
    ifr: float
    lost: float
    installed: bool
    chosen: bool
    low: float | None = None
    high: float | None = None


def draw(points: Sequence[Point], title: str, caption: str) -> Figure:
    """The frontier; where no round has both values, the reason in words."""
    if not points:
        return in_words(title, "No round has both an IFR and a Preservation.", caption)
    figure, bottom, top = new_figure(WIDTH, HEIGHT, title, f"{LEGEND} {caption}")
    tall = figure.get_figheight()
    axes = figure.add_axes(
        (0.1, bottom + 0.42 / tall, 0.87, top - bottom - 0.5 / tall)
    )  # the labels of the axis are below
    axes.plot([p.lost for p in points], [p.ifr for p in points], color=MUTED, lw=1.0,
              linestyle=(0, (4, 2.5)), zorder=2)  # fmt: skip
    for point in points:
        _draw_point(axes, point)
    _label(axes, points)
    axes.set_xlabel("lost: 1 − Preservation over facts not edited (good: left)")
    axes.set_ylabel("IFR (good: down)")
    right = max(p.lost for p in points)
    high = max(p.high if p.high is not None else p.ifr for p in points)
    axes.set_xlim(min(0.0, *(p.lost for p in points)) - 0.05 * max(right, 0.05),
                  max(right, 0.05) * 1.18)  # fmt: skip
    axes.set_ylim(-0.05 * max(high, 0.05), max(high, 0.05) * 1.14)
    return figure


def _draw_point(axes: Axes, point: Point) -> None:
    if point.low is not None and point.high is not None:
        error = [[max(0.0, point.ifr - point.low)], [max(0.0, point.high - point.ifr)]]
        axes.errorbar([point.lost], [point.ifr], error, fmt="none", ecolor=MUTED, lw=0.9,
                      capsize=2, zorder=2)  # fmt: skip
    axes.plot([point.lost], [point.ifr], marker="o" if point.installed else "s", markersize=7,
              markerfacecolor=BLUE if point.installed else "white",
              markeredgecolor=BLUE if point.installed else RED, markeredgewidth=1.3,
              linestyle="none", zorder=4)  # fmt: skip
    if point.chosen:
        axes.plot([point.lost], [point.ifr], marker="o", markersize=14, markerfacecolor="none",
                  markeredgecolor=INK, markeredgewidth=1.2, linestyle="none", zorder=5)  # fmt: skip


def _label(axes: Axes, points: Sequence[Point]) -> None:
    """The number of facts beside each place; rounds at the same place share a label."""
    places: dict[tuple[float, float], list[Point]] = {}
    for point in points:
        places.setdefault((round(point.lost, 2), round(point.ifr, 2)), []).append(point)
    for found in places.values():
        counts = sorted({point.facts for point in found})
        words = pluralize(counts[0], "fact") if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        axes.annotate(words, (found[0].lost, found[0].ifr), xytext=(9, 7),
                      textcoords="offset points", fontsize=7.5, color=INK, zorder=6)  # fmt: skip
