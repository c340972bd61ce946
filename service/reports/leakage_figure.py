"""The leakage map of an edit as a figure: from subject (blue) to old object (red) by its chains.

Facts on surviving chains are solid, those of cut chains alone dashed; the colour of a line is
the retention of its fact, its width p_post. Places are those of the web UI's map.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from ...cypher.rows.chains import Link
from ..base.formatting import objects, pluralize
from ..models.edit import MEASURE_NAMES, Score
from .figure_style import BLUE, CAPTION_PT, GREEN, INK, PURPLE, RED, RETENTION, in_words, new_figure
from .leakage_map import BANDS, LINE_H, Box, Line, MapDrawing, band, width
from .leakage_map import draw as placed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ...cypher.rows import FactRow, ScoredChainRow


UNIT = 96.0
"""Units of the map in an inch."""

FACES = {"subject": BLUE, "target_true": RED, "target_new": GREEN}


def draw(
    score: Score,
    rows: Sequence[tuple[int, ScoredChainRow]],
    measure: str,
    limit: int,
    *,
    edited: Sequence[tuple[Link, str]] = (),
    chosen: str = "",
    caption: bool = True,
    marked: Collection[str] = (),
) -> Figure:
    """The chains of the largest part of IFR, at most `limit`, and of the cut ones a third as many.

    Args:
        rows: chains with their numbers, surviving first, then by part of IFR.
        edited: the edited fact's new form with its role, drawn beside the chains.
        chosen: conditions by which the chains were chosen, for the caption.
        caption: True if the figure has its title and caption.
        marked: ids of the leak cut's facts, which have a ✂, a dashed frame and a bar.
    """
    title = f"{score.subject}: {objects(score.target_true, score.target_new)} ({score.method})"
    if not rows:
        reason = f"No chain of at most {score.options.max_steps} facts leads from"
        said = f"{reason} {score.subject} to {score.target_true}{' ' * bool(chosen)}{chosen}."
        return in_words(title, said)
    if not any(row.known for _, row in rows):
        said = f"Nothing to measure: the model knows 0 of {pluralize(len(rows), 'chain')}"
        return in_words(title, f"{said}{' ' * bool(chosen)}{chosen}.")
    drawing = placed(
        rows, score.subject, score.target_true, score.target_new, limit=limit, edited=edited
    )
    wide, high = drawing.width / UNIT, drawing.height / UNIT
    shown = any(line.link.id in marked for line in drawing.lines)
    said = _caption(score, measure, drawing, chosen, shown)
    figure, bottom, top = new_figure(wide, high, *((title, said) if caption else ("", "")))
    axes = figure.add_axes((0, bottom, 1, top - bottom))
    axes.set_axis_off()
    axes.set_xlim(0, drawing.width)
    axes.set_ylim(drawing.height, 0)
    for line in sorted(drawing.lines, key=lambda li: (li.alive, li.link.id)):
        _draw_line(axes, line, line.link.id in marked)
    for box in drawing.boxes:
        _draw_box(axes, box)
    return figure


def _draw_box(axes: Axes, box: Box) -> None:
    from matplotlib.patches import FancyBboxPatch

    face = FACES.get(box.role, "white")
    axes.add_patch(
        FancyBboxPatch((box.x, box.y), box.w, box.h, fc=face, ec=INK, lw=0.9,
                       boxstyle="round,pad=0,rounding_size=6", zorder=4)
    )  # fmt: skip
    plain = face == "white"
    axes.text(box.x + box.w / 2, box.y + box.h / 2, "\n".join(box.text), ha="center", va="center",
              fontsize=CAPTION_PT - 0.7 * (not plain), color=INK if plain else "white",
              weight="normal" if plain else "bold", linespacing=_SPACING, zorder=5)  # fmt: skip


_SPACING = LINE_H * 72 / UNIT / (CAPTION_PT * 1.17)
"""Distance of lines of text, as a multiple of matplotlib's."""


def _draw_line(axes: Axes, line: Line, marked: bool) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    new = line.role == "target_new"
    colour = GREEN if new else RETENTION[band(line.retention)]
    dashes = (0, (1, 1.2)) if new else "-" if line.alive else (0, (4, 2.5))
    axes.add_patch(
        FancyArrowPatch(path=Path(line.corners), arrowstyle="-|>", mutation_scale=8,
                        color=colour, lw=0.55 * width(line), shrinkA=0, shrinkB=0,
                        linestyle=dashes, zorder=2 + line.alive / 2,
                        capstyle="butt", joinstyle="round")
    )  # fmt: skip
    x, y, w, h = line.label
    text, edge = "\n".join(line.text), "none"
    if marked:
        text, edge = f"✂ {text}", PURPLE
        (ax, ay), (bx, _) = line.corners[:2]
        at = ax + (7 if bx > ax else -7)
        axes.plot((at, at), (ay - 7, ay + 7), color=PURPLE, lw=2, zorder=4)
    axes.text(x + w / 2, y + h / 2, text, ha="center", va="center",
              fontsize=CAPTION_PT - 0.5, color=INK, linespacing=_SPACING, zorder=3,
              bbox={"fc": "white", "ec": edge, "ls": (0, (3, 2)), "lw": 0.8, "pad": 0.8}
              )  # fmt: skip


def _caption(score: Score, measure: str, drawing: MapDrawing, chosen: str, marked: bool) -> str:
    (kept, alive), (gone, cut) = drawing.alive, drawing.cut
    shown = (
        f"{kept} of {alive} surviving chains shown{', those of most of IFR' * (kept < alive)}"
        if alive
        else "No chain survives"
    )
    if cut:
        shown += f"; {gone} of {cut} cut chains shown"
    if chosen:
        shown = f"Chains {chosen}: {shown[0].lower()}{shown[1:]}"
    bounds = ", ".join(f"{bound:g}" for bound in BANDS)
    return (
        f"{shown}; n = {alive + cut} chains of at most {score.options.max_steps}"
        " facts. Solid: facts of a surviving chain; dashed: of cut chains alone. Width: p_post."
        f" Colour: retention p_post / p_pre, darker from {bounds}."
        f" Labels: relation, p_pre → p_post ({MEASURE_NAMES[measure]})."
        f"{' ✂: what else to edit, the leak cut.' * marked}"
        f" Edit {score.edit} on {score.model}."
    )


# The edited fact's new form as a leakage map draws it: beside the chains, from subject to object.
#
# Its old form is the chain of one step, where the data set has it.


def edited(facts: Iterable[FactRow], measure: str) -> list[tuple[Link, str]]:
    """The new form with its role; nothing where it was not asked about by this measure.

    Args:
        facts: all facts of the edit's graph.
        measure: of its probabilities before and after.
    """
    found = []
    for fact in facts:
        pre, post = (getattr(fact, f"{measure}_{side}") for side in ("pre", "post"))
        if fact.role != "target_new" or pre is None or post is None:
            continue
        link = Link(
            fact.id, fact.subject, fact.relation, fact.object, fact.prompt, fact.question,
            pre, post, post / pre if pre else None,
        )  # fmt: skip
        found.append((link, fact.role))
    return found
