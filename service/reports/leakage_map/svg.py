"""A leakage map as SVG: for the web UI, whose style sheet colours it.

Every part names its content: `data-fact`, `data-entity`, `data-chains`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape
from typing import TYPE_CHECKING

from ...formatting import short
from .drawing import LINE_H, ROLES, Box, Line, MapDrawing

if TYPE_CHECKING:
    from ....cypher.rows.chains import Link

BANDS = (0.1, 0.3, 0.7, 1.05)
"""Bounds of the classes of retention: cut off, weak, fair, kept, and stronger than before."""

RADIUS = 5.0
"""Of the rounded corners of lines."""


def band(retention: float | None) -> int:
    """The class of a retention, 0 to 4; 0 for an undefined one."""
    return 0 if retention is None else sum(retention > bound for bound in BANDS)


def page_svg(
    drawing: MapDrawing, title: str, chosen: Collection[str] = (), next_facts: Collection[str] = ()
) -> str:
    """The map as an element of HTML.

    Args:
        chosen: ids of facts, or names of entities, that are marked as selected.
        next_facts: ids of the facts of the leak cut.
    """
    w, h = drawing.width, drawing.height
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" id="map-svg" viewBox="0 0 {w:.0f} {h:.0f}"'
        f' width="{w:.0f}" height="{h:.0f}" role="group" aria-label="{escape(title)}">'
    ]
    # Facts on surviving chains are drawn last, above those of cut chains.
    for line in sorted(drawing.lines, key=lambda li: (li.alive, li.link.id)):
        parts.append(_line(line, line.link.id in chosen, line.link.id in next_facts))
    parts += [_box(box, box.name in chosen) for box in drawing.boxes]
    return "".join([*parts, "</svg>"])


def fact_sentence(line: Line) -> str:
    """Return the content of a line in words: for screen readers and as a tooltip."""
    link = line.link
    kept = "p before is 0" if line.retention is None else f"retention {short(line.retention)}"
    state = {
        "target_true": "the edited fact", "target_new": "the edited fact's new form",
    }.get(line.role, "on a surviving chain" if line.alive else "on cut chains only")  # fmt: skip
    return (
        f"{link.subject} {words(link)} {link.object}:"
        f" p {short(link.pre)} → {short(link.post)}, {kept}; {state}"
    )


def words(link: Link) -> str:
    """A relation as words: data sets write it with hyphens, underscores or spaces."""
    return link.relation.replace("_", " ").replace("-", " ")


def width(line: Line) -> float:
    """Width of a line by the probability after the edit."""
    return 1.1 + 3.4 * min(1.0, max(0.0, line.link.post))


def path(corners: Sequence[tuple[float, float]], radius: float = RADIUS) -> str:
    """The corners as a path with rounded turns."""
    out = [f"M{corners[0][0]:.1f} {corners[0][1]:.1f}"]
    for (ax, ay), (x, y), (bx, by) in zip(corners, corners[1:], corners[2:], strict=False):
        before, after = abs(x - ax) + abs(y - ay), abs(bx - x) + abs(by - y)
        r = min(radius, before / 2, after / 2)
        if r < 0.5:
            out.append(f"L{x:.1f} {y:.1f}")
            continue
        sx, sy = x - r * _sign(x - ax), y - r * _sign(y - ay)
        ex, ey = x + r * _sign(bx - x), y + r * _sign(by - y)
        out.append(f"L{sx:.1f} {sy:.1f}Q{x:.1f} {y:.1f} {ex:.1f} {ey:.1f}")
    out.append(f"L{corners[-1][0]:.1f} {corners[-1][1]:.1f}")
    return "".join(out)


def arrow(corners: Sequence[tuple[float, float]], size: float) -> str:
    """A triangle at the end of a line, which arrives level."""
    (ax, _), (x, y) = corners[-2], corners[-1]
    back = x - _sign(x - ax) * size * 1.5
    return f"M{x:.1f} {y:.1f}L{back:.1f} {y - size * 0.7:.1f}V{y + size * 0.7:.1f}Z"


MARK = '<tspan class="scissors">✂</tspan> '
"""Mark of a fact of the leak cut, before its relation."""


def _lines_of(text: Sequence[str], middle: float, top: float, last: str, mark: str = "") -> str:
    """Lines of a text, the first with a mark before it and the last with a class."""
    out = []
    for i, line in enumerate(text):
        ends = i == len(text) - 1
        of_class = f' class="{last}"' if ends and last else ""
        place = f'x="{middle:.1f}" y="{top + LINE_H * (i + 0.78):.1f}"'
        out.append(f"<tspan {place}{of_class}>{mark * (i == 0)}{escape(line)}</tspan>")
    return "".join(out)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _line(line: Line, chosen: bool, following: bool) -> str:
    classes = ["fact", f"r{band(line.retention)}", line.role]
    if not line.alive and line.role == "fact":
        classes.append("cut")
    if chosen:
        classes.append("chosen")
    if following:
        classes.append("next")
    x, y, w, h = line.label
    thick = width(line)
    said, said_classes = escape(fact_sentence(line)), " ".join(classes)
    numbers = " ".join(map(str, line.chains))
    text = _lines_of(line.text, x + w / 2, y, "p", MARK * following)
    marks = ""
    if following:
        (ax, ay), (bx, _) = line.corners[0], line.corners[1]
        at = ax + _sign(bx - ax) * 7
        marks = f'<path class="bar" d="M{at:.1f} {ay - 7:.1f}V{ay + 7:.1f}"/>'
    return (
        f'<g class="{said_classes}" data-fact="{escape(line.link.id)}"'
        f' data-chains="{numbers}" tabindex="-1" role="button"'
        f' aria-label="{said}"><title>{said}</title>'
        f'<path class="hit" d="{path(line.corners)}"/>'
        f'<path class="way" d="{path(line.corners)}" stroke-width="{thick:.1f}"/>'
        f'<path class="head" d="{arrow(line.corners, 3.5 + thick)}"/>{marks}'
        f'<rect class="back" x="{x:.1f}" y="{y - 1:.1f}" width="{w:.1f}"'
        f' height="{h + 2:.1f}" rx="3"/><text>{text}</text></g>'
    )


def _box(box: Box, chosen: bool) -> str:
    top = box.y + (box.h - LINE_H * len(box.text)) / 2
    last = "role" if box.role != "entity" else ""
    text = _lines_of(box.text, box.x + box.w / 2, top, last)
    numbers = " ".join(map(str, box.chains))
    said = escape(box.name + ("" if box.role == "entity" else f" ({ROLES[box.role]})"))
    return (
        f'<g class="entity {box.role}{" chosen" * chosen}" data-entity="{escape(box.name)}"'
        f' data-chains="{numbers}" tabindex="-1" role="button"'
        f' aria-label="{said}"><title>{said}</title><rect x="{box.x:.1f}" y="{box.y:.1f}"'
        f' width="{box.w:.0f}" height="{box.h:.0f}" rx="6"/><text>{text}</text></g>'
    )
