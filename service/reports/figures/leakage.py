"""The leakage graph of an edit: from subject (blue) to old object (red), by the chains between.

Chains that survive are solid, links of cut chains alone dashed, and a link is as wide as p_post.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thinkeval.service.reports.figures.layout import Edge, Layout, lay_out
from thinkeval.service.reports.figures.style import (
    BLUE,
    INK,
    MUTED,
    RED,
    in_words,
    new_figure,
    short,
)
from thinkeval.service.schemas import MEASURE_NAMES, Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path

    from thinkeval.cypher.rows import ScoredChainRow
    from thinkeval.cypher.rows.chains import Link

NODE_W, LABEL_W = 1.16, 1.12
"""Inches: a column of entities, and one of labels."""
BEND, BEND_MOST, BEND_RISE = 0.26, 0.9, 0.07
"""Inches for links to bend between two columns: the least, the most, and of each inch of height."""
LINE, THIN = 0.118, 0.1
"""Inches: a line of text, and a link that passes without a label."""
SIZE = 6.8


def draw(score: Score, rows: Sequence[ScoredChainRow], measure: str, limit: int) -> Figure:
    """The strongest surviving chains, at most `limit`, and of the cut ones a third as many."""
    title = f"{score.subject}: {score.target_true} → {score.target_new} ({score.method})"
    if not rows:
        reason = f"No chain of at most {score.options.max_steps} steps leads from"
        return in_words(title, f"{reason} {score.subject} to {score.target_true}.")
    alive = [row for row in rows if row.surviving]
    cut = sorted((r for r in rows if not r.surviving), key=lambda r: (-r.r_pre, r.entities))
    kept, gone = alive[:limit], cut[: max(1, limit // 3)]
    links = {link.id: link for row in (*kept, *gone) for link in row.links}
    lasting = {link.id for row in kept for link in row.links}
    laid = lay_out(
        [_edge(link) for link in links.values()],
        score.subject,
        score.target_true,
        {name: _height(name, score) for row in (*kept, *gone) for name in row.entities},
        THIN,
    )
    height = laid.top - laid.bottom + 0.1
    bend = min(BEND_MOST, max(BEND, BEND_RISE * height))
    # The middle of each column; labels are in odd ones.
    pitch = (NODE_W + LABEL_W) / 2 + bend
    middle = [column * pitch for column in range(max(laid.column.values()) + 1)]
    width = middle[-1] + NODE_W + 0.3
    caption = _caption(score, measure, (len(kept), len(alive)), (len(gone), len(cut)))
    figure, bottom, top = new_figure(width, height, title, caption)
    axes = figure.add_axes((0, bottom, 1, top - bottom))
    axes.set_axis_off()
    axes.set_xlim(-NODE_W / 2 - 0.15, width - NODE_W / 2 - 0.15)
    axes.set_ylim(laid.bottom - 0.05, laid.top + 0.05)
    for link in sorted(links.values(), key=lambda li: (li.id in lasting, li.id)):
        _draw_link(axes, laid, middle, link, link.id in lasting)
    for name, column in laid.column.items():
        _draw_entity(axes, name, middle[column], laid.y[name], score)
    return figure


def _caption(
    score: Score, measure: str, shown_alive: tuple[int, int], shown_cut: tuple[int, int]
) -> str:
    (kept, alive), (gone, cut) = shown_alive, shown_cut
    shown = (
        f"{kept} of {alive} surviving chains shown{', the strongest' * (kept < alive)}"
        if alive
        else "No chain survives"
    )
    if cut:
        shown += f"; {gone} of {cut} cut chains shown"
    return (
        f"{shown}; n = {alive + cut} chains of at most {score.options.max_steps}"
        f" steps. Solid: links of a surviving chain; dashed: of cut chains alone. Width: p_post."
        f" Labels: relation, p_pre → p_post ({MEASURE_NAMES[measure]})."
        f" Edit {score.edit} on {score.model}."
    )


def _edge(link: Link) -> Edge:
    return Edge(link.id, link.subject, link.object, LINE * (_label(link).count("\n") + 1) + 0.09)


def _label(link: Link) -> str:
    return f"{short(link.relation, 21, 2)}\n{link.pre:.2f} → {link.post:.2f}"


def _written(name: str, score: Score) -> str:
    """The text in an entity's box; bold letters are wider."""
    roles = {score.subject: "subject", score.target_true: "old object"}
    if name in roles:
        return f"{short(name, 17, 4)}\n({roles[name]})"
    return short(name, 19)


def _height(name: str, score: Score) -> float:
    return LINE * (_written(name, score).count("\n") + 1) + 0.28


def _draw_entity(axes: Axes, name: str, x: float, y: float, score: Score) -> None:
    from matplotlib.patches import FancyBboxPatch

    face = {score.subject: BLUE, score.target_true: RED}.get(name, "white")
    end = face != "white"
    height = _height(name, score) - 0.14
    axes.add_patch(
        FancyBboxPatch((x - NODE_W / 2, y - height / 2), NODE_W, height, fc=face, ec=INK, lw=0.9,
                       boxstyle="round,pad=0,rounding_size=0.07", zorder=4)
    )  # fmt: skip
    axes.text(x, y, _written(name, score), ha="center", va="center", fontsize=SIZE + 0.4,
              color="white" if end else INK, weight="bold" if end else "normal",
              linespacing=1.05, zorder=5)  # fmt: skip


def _draw_link(
    axes: Axes, laid: Layout, middle: Sequence[float], link: Link, lasting: bool
) -> None:
    from matplotlib.patches import FancyArrowPatch

    color = INK if lasting else MUTED
    axes.add_patch(
        FancyArrowPatch(path=_path(laid, middle, link.id), arrowstyle="-|>", mutation_scale=8,
                        color=color, lw=0.5 + 1.7 * link.post, shrinkA=0, shrinkB=0,
                        linestyle="-" if lasting else (0, (4, 2.5)), zorder=2,
                        capstyle="butt", joinstyle="round")
    )  # fmt: skip
    column, slot = laid.labels[link.id]
    beside = laid.column[link.subject] == laid.column[link.object]
    x = middle[column] - (LABEL_W / 2 - 0.1) * beside
    axes.text(x, laid.y[slot], _label(link), ha="left" if beside else "center", va="center",
              fontsize=SIZE, color=color, linespacing=1.0, zorder=3,
              bbox={"fc": "white", "ec": "none", "pad": 0.8})  # fmt: skip


def _path(laid: Layout, middle: Sequence[float], link: str) -> Path:
    """Level through each column, bending between them; it ends at the sides of the boxes."""
    from matplotlib.path import Path

    spots = [(middle[column], laid.y[slot]) for column, slot in laid.routes[link]]
    (x0, y0), (x1, y1) = (
        (x, y + laid.ports[link, end]) for end, (x, y) in enumerate((spots[0], spots[-1]))
    )
    if x0 == x1:  # two entities of one column: out to the label beside them, and back
        return Path(*_hairpin(x0 + NODE_W / 2, y0, y1, spots[1]))
    way = 1 if x1 > x0 else -1
    corners, codes = [(x0 + way * NODE_W / 2, y0)], [Path.MOVETO]
    for i, (x, y) in enumerate([*spots[1:-1], (x1, y1)], 1):
        half = way * (LABEL_W if i % 2 else NODE_W) / 2
        (a, b), enter = corners[-1], x - half
        corners += [((a + enter) / 2, b), ((a + enter) / 2, y), (enter, y)]
        codes += [Path.CURVE4] * 3
        if i < len(spots) - 1:
            corners.append((x + half, y))
            codes.append(Path.LINETO)
    return Path(corners, codes)


def _hairpin(
    side: float, y0: float, y1: float, label: tuple[float, float]
) -> tuple[list[tuple[float, float]], list[int]]:
    from matplotlib.path import Path

    turn, y = label[0] - LABEL_W / 2, label[1]
    apart = 0.045 if y0 >= y1 else -0.045
    middle = (side + turn) / 2
    corners = [
        (side, y0), (middle, y0), (middle, y + apart), (turn, y + apart),
        (turn + 0.07, y + apart), (turn + 0.07, y - apart), (turn, y - apart),
        (middle, y - apart), (middle, y1), (side, y1),
    ]  # fmt: skip
    return corners, [int(Path.MOVETO), *[int(Path.CURVE4)] * 9]
