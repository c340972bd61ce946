"""Figures of a series of states or rounds: drift, frontier, retention."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..base.formatting import pluralize
from .figure_style import (
    BLUE,
    GREEN,
    INK,
    MUTED,
    RED,
    in_words,
    new_figure,
    short,
)
from .figure_style import short as shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Figure of drift: of the facts of each line, how many were kept, weakened, replaced, lost, added.
#
# One bar a line, as long as its fractions: all facts, then by distance from a request's subject,
# then by relation. Beside each bar: the number of facts, and the mean of |p_post − p_pre|.

CHANGES: dict[str, tuple[str, str]] = {
    "kept": ("#9bb8cc", ""),
    "weakened": ("#e8b07a", "///"),
    "replaced": ("#8e5aa8", "\\\\\\"),
    "lost": (RED, ""),
    "added": (GREEN, "xxx"),
    "unknown": ("#e4e4e4", "..."),
}
"""Possible changes of a fact, with colour and, for grey printers, hatch."""

WIDTH, ROW_IN, GAP = 6.4, 0.24, 0.7
"""Width and height of a row in inches; the space between groups in rows."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A line of drift.

    Attributes:
        counts: facts by their change, the names of CHANGES.
        moved: mean of |p_post − p_pre|; None without facts.
    """

    label: str
    counts: Mapping[str, int]
    moved: float | None

    @property
    def n(self) -> int:
        """Facts."""
        return sum(self.counts.values())


def draw_drift(groups: Sequence[Sequence[Bar]], title: str, caption: str) -> Figure:
    """The bars of each group, one group below the other; groups without bars are left out."""
    shown = [list(group) for group in groups if group]
    if not any(bar.n for group in shown for bar in group):
        return in_words(title, "No fact was asked of both states.", caption)
    rows = sum(map(len, shown)) + GAP * (len(shown) - 1)
    figure, bottom, top = new_figure(WIDTH, (rows + 3.4) * ROW_IN, title, caption)
    tall = figure.get_figheight()
    low = bottom + 1.9 * ROW_IN / tall
    axes = figure.add_axes((0.36, low, 0.46, top - low - 1.4 * ROW_IN / tall))
    y, places, labels = 0.0, [], []
    for group in shown:
        for bar in group:
            _draw_bar(axes, bar, y)
            places.append(y)
            labels.append(shortened(bar.label, 38, 1))
            y += 1
        y += GAP
    axes.set_ylim(y - GAP - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.set_yticks(places, labels, fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("fraction of the facts")
    axes.text(1.02, -0.75, "facts", fontsize=7.5, color=INK, clip_on=False)
    axes.text(1.16, -0.75, "moved", fontsize=7.5, color=INK, clip_on=False)
    _legend(axes)
    return figure


def _draw_bar(axes: Axes, bar: Bar, y: float) -> None:
    left = 0.0
    for name, (colour, hatch) in CHANGES.items():
        part = bar.counts[name] / bar.n if bar.n else 0.0
        axes.barh(y, part, 0.72, left, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4)
        left += part
    axes.text(1.02, y, str(bar.n), va="center", fontsize=8, color=INK, clip_on=False)
    moved = "–" if bar.moved is None else f"{bar.moved:.3f}"
    axes.text(1.16, y, moved, va="center", fontsize=8, color=BLUE, clip_on=False)


def _legend(axes: Axes) -> None:
    from matplotlib.patches import Patch

    patches = [
        Patch(facecolor=colour, hatch=hatch, edgecolor="white", label=name)
        for name, (colour, hatch) in CHANGES.items()
    ]
    axes.legend(handles=patches, ncols=len(patches), loc="lower center", fontsize=7.5,
                bbox_to_anchor=(0.3, 1.0), handlelength=1.3, columnspacing=1.1)  # fmt: skip


# Figure of a frontier: IFR against the loss, one point a round of co-edits.
#
# The loss is 1 − Preservation over the facts that were not edited. A filled marker is a round
# whose first edit is installed, a hollow one a round that lost it; the chosen round is ringed,
# and each point carries its number of facts. Good is down and to the left.

INSTALLED = 0.9
"""Efficacy of the first request from which a marker is filled."""

FRONTIER_WIDTH, HEIGHT = 6.0, 3.7
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


def draw_frontier(points: Sequence[Point], title: str, caption: str) -> Figure:
    """The frontier; where no round has both values, the reason in words."""
    if not points:
        return in_words(title, "No round has both an IFR and a Preservation.", caption)
    figure, bottom, top = new_figure(FRONTIER_WIDTH, HEIGHT, title, f"{LEGEND} {caption}")
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


# Figure of a sequence of states: retention of a change, and IFR, state by state.
#
# An undefined value leaves a gap. Below each state are its last change, and how many of the
# chains that the edit closed lead to the old object again.

RETENTION_HEIGHT, EACH, LEAST, MOST = 3.3, 1.25, 5.6, 14.0
"""Inches: of the axes, and the figure's width for each state with its bounds."""
LETTERS = 16
"""Of a line below a state."""
RETENTION_LEGEND = (
    "Retention of the change: the part of the first state's change that is left (good: 1). IFR: how"
    " strongly chains of facts lead to the old object, against the base (good: 0). Open again:"
    " chains that the first state closed."
)


@dataclass(frozen=True, slots=True)
class StatePoint:
    """A state.

    Attributes:
        label: the state's last change.
        retention, ifr: None where undefined.
        reopened: chains that the first state closed and that lead to the old object again.
    """

    label: str
    retention: float | None
    ifr: float | None
    reopened: int


def draw_retention(points: Sequence[StatePoint], title: str, caption: str) -> Figure:
    """Both curves; where no state has a value, the reason in words."""
    kept, ifr = [p.retention for p in points], [p.ifr for p in points]
    values = [value for value in (*kept, *ifr) if value is not None]
    if not values:
        return in_words(title, "Retention and IFR are undefined in every state.", caption)
    width = min(MOST, max(LEAST, 0.9 + EACH * len(points)))
    figure, bottom, top = new_figure(
        width, RETENTION_HEIGHT, title, f"{RETENTION_LEGEND} {caption}"
    )
    labels = [_retention_label(point) for point in points]
    below = 0.3 + 0.15 * max(label.count("\n") + 1 for label in labels)
    tall, left = figure.get_figheight(), 0.55
    axes = figure.add_axes(
        (left / width, bottom + below / tall, 1 - (left + 0.15) / width,
         top - bottom - (below + 0.3) / tall)
    )  # fmt: skip
    axes.axhline(1.0, color=MUTED, lw=0.8, zorder=1)
    _curve(axes, kept, ifr, "retention of the change", (BLUE, "o", "-"))
    _curve(axes, ifr, kept, "IFR", (RED, "s", (0, (5, 2))))
    axes.set_xticks(range(len(points)), labels)
    axes.set_xlim(-0.5, len(points) - 0.5)
    axes.set_ylim(1.05 * min(0.0, *values) - 0.12, 1.12 * max(1.0, *values))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, borderaxespad=0.2)
    return figure


def _retention_label(point: StatePoint) -> str:
    """Return the label of a state's last change, and the number of reopened chains."""
    text = short(point.label.replace(":", " "), LETTERS)
    return f"{text}\n({point.reopened} open again)" if point.reopened else text


def _curve(
    axes: Axes,
    values: Sequence[float | None],
    others: Sequence[float | None],
    name: str,
    look: tuple[str, str, Any],
) -> None:
    """One curve, with a number at each point on the side away from the other curve."""
    colour, marker, dashes = look
    heights = [math.nan if value is None else value for value in values]
    axes.plot(range(len(values)), heights, color=colour, marker=marker, markersize=6, lw=1.4,
              linestyle=dashes, label=name, zorder=3)  # fmt: skip
    for place, (value, other) in enumerate(zip(values, others, strict=True)):
        if value is not None:
            up = other is None or value >= other
            axes.annotate(f"{value:.2f}", (place, value), xytext=(0, 6 if up else -13),
                          fontsize=7.5, ha="center", textcoords="offset points", color=colour,
                          zorder=6)  # fmt: skip
