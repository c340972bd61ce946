"""One chain as boxes and arrows, with p before and after the edit and retention under each link.

In the shape of the chains that ThinkEval (Baser et al., 2026, section 6.2) shows of its case study.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...formatting import number, objects
from ...schemas import MEASURE_NAMES, Score
from .style import (
    BLUE,
    INK,
    MUTED,
    RED,
    in_words,
    new_figure,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ....cypher.rows import ScoredChainRow
    from ....cypher.rows.chains import Link

BOX_W, BOX_H, GAP = 1.3, 0.72, 1.3
"""Inches: an entity's box, and the arrow between two of them."""


def draw(score: Score, rows: Sequence[ScoredChainRow], measure: str, n: int) -> Figure:
    """Chain `n` of the edit's chains, as `thinkeval chains` counts them."""
    title = f"{score.subject}: {objects(score.target_true, score.target_new)} ({score.method})"
    if not rows:
        reason = f"No chain of at most {score.options.max_steps} facts leads from"
        return in_words(title, f"{reason} {score.subject} to {score.target_true}.")
    row = rows[n - 1]
    width = max(6.4, (row.steps + 1) * BOX_W + row.steps * GAP + 0.4)
    figure, bottom, top = new_figure(width, 1.3, title, _caption(score, rows, measure, n))
    axes = figure.add_axes((0, bottom, 1, top - bottom))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(-0.66, 0.64)
    start = (width - ((row.steps + 1) * BOX_W + row.steps * GAP)) / 2
    for i, name in enumerate(row.entities):
        _box(axes, start + i * (BOX_W + GAP), name, i / row.steps)
    for i, link in enumerate(row.links):
        _arrow(axes, start + BOX_W + i * (BOX_W + GAP), link, row.surviving)
    return figure


def _caption(score: Score, rows: Sequence[ScoredChainRow], measure: str, n: int) -> str:
    row = rows[n - 1]
    alive = sum(r.surviving for r in rows)
    ratio = number(row.ratio, "undefined")
    lasting = "survives" if row.surviving else "is cut" if row.known else "was not known before"
    return (
        f"Chain {n} of {len(rows)} ({alive} survive), {row.steps}"
        f" fact{'s' if row.steps > 1 else ''}: R = Π p_pre = {number(row.r_pre)},"
        f" R' = Π p_post = {number(row.r_post)}, retention R'/R = {ratio}; it {lasting}. Under each"
        f" link p_pre → p_post ({MEASURE_NAMES[measure]}) and retention p_post/p_pre."
        f" Edit {score.edit} on {score.model}."
    )


def _box(axes: Axes, x: float, name: str, place: float) -> None:
    """An entity; `place` is 0 for the subject and 1 for the old object."""
    from matplotlib.patches import FancyBboxPatch

    ends = {0.0: (BLUE, "subject"), 1.0: (RED, "old object")}
    face, role = ends.get(place, ("white", ""))
    axes.add_patch(
        FancyBboxPatch((x, -BOX_H / 2), BOX_W, BOX_H, boxstyle="round,pad=0,rounding_size=0.09",
                       fc=face, ec=INK, lw=1.0)
    )  # fmt: skip
    color = "white" if role else INK
    axes.text(x + BOX_W / 2, 0, short(name, 17, 4), ha="center", va="center", fontsize=8,
              color=color, weight="bold" if role else "normal", linespacing=1.1)  # fmt: skip
    axes.text(x + BOX_W / 2, BOX_H / 2 + 0.06, role, ha="center", va="bottom", fontsize=7,
              color=INK, style="italic")  # fmt: skip


def _arrow(axes: Axes, x: float, link: Link, surviving: bool) -> None:
    from matplotlib.patches import FancyArrowPatch

    axes.add_patch(
        FancyArrowPatch((x + 0.03, 0), (x + GAP - 0.03, 0), arrowstyle="-|>", mutation_scale=11,
                        color=INK if surviving else MUTED, lw=0.7 + 2.3 * link.post,
                        linestyle="-" if surviving else (0, (4, 2)), shrinkA=0, shrinkB=0)
    )  # fmt: skip
    middle = x + GAP / 2
    axes.text(middle, 0.1, short(link.relation, 16, 3), ha="center", va="bottom", fontsize=8,
              color=INK, linespacing=1.05)  # fmt: skip
    ratio = "undefined" if link.ratio is None else f"retention {link.ratio:.2f}"
    axes.text(middle, -0.11, f"{link.pre:.2f} → {link.post:.2f}", ha="center", va="top",
              fontsize=8, color=INK)  # fmt: skip
    axes.text(middle, -0.27, ratio, ha="center", va="top", fontsize=8, weight="bold",
              color=INK)  # fmt: skip
