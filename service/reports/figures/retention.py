"""Figure of a sequence of states: retention of a change, and IFR, state by state.

An undefined value leaves a gap. Below each state are its last change, and how many of the chains
that the edit closed lead to the old object again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .style import (
    BLUE,
    MUTED,
    RED,
    in_words,
    new_figure,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT, EACH, LEAST, MOST = 3.3, 1.25, 5.6, 14.0
"""Inches: of the axes, and the figure's width for each state with its bounds."""
LETTERS = 16
"""Of a line below a state."""
LEGEND = (
    "Retention of the change: the part of the first state's change that is left (good: 1). IFR: how"
    " strongly chains of facts lead to the old object, against the base (good: 0). Open again:"
    " chains that the first state closed."
)


@dataclass(frozen=True, slots=True)
class Point:
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


def draw(points: Sequence[Point], title: str, caption: str) -> Figure:
    """Both curves; where no state has a value, the reason in words."""
    kept, ifr = [p.retention for p in points], [p.ifr for p in points]
    values = [value for value in (*kept, *ifr) if value is not None]
    if not values:
        return in_words(title, "Retention and IFR are undefined in every state.", caption)
    width = min(MOST, max(LEAST, 0.9 + EACH * len(points)))
    figure, bottom, top = new_figure(width, HEIGHT, title, f"{LEGEND} {caption}")
    labels = [_label(point) for point in points]
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


def _label(point: Point) -> str:
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
