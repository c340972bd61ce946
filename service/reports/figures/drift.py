"""Figure of drift: of the facts of each line, how many were kept, weakened, removed, added.

One bar a line, as long as its fractions: all facts, then by distance from a request's subject, then
by relation. Beside each bar: the number of facts, and the mean of |p_post − p_pre|.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .style import BLUE, GREEN, INK, RED, in_words, new_figure
from .style import short as shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CHANGES: dict[str, tuple[str, str]] = {
    "kept": ("#9bb8cc", ""),
    "weakened": ("#e8b07a", "///"),
    "removed": (RED, ""),
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


def draw(groups: Sequence[Sequence[Bar]], title: str, caption: str) -> Figure:
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
