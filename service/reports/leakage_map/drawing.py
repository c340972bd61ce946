"""A leakage map as boxes, labels and lines with places, drawn by page, figure and export.

Units are those of an SVG: 1/96 inch, y grows downwards. Nothing overlaps by construction: entities
and labels have columns of their own, lines are level within columns and upright between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ...formatting import short
from .layout import PORT_GAP, Edge, Layout, columns, lay_out
from .routing import Tracks, heights, keep_apart, tracks
from .text import (
    WRAPS,
    Wrap,
    fitting,
    text_width,
    wrapped,
)

if TYPE_CHECKING:
    from ....cypher.rows import ScoredChainRow
    from ....cypher.rows.chains import Link

Role = Literal["subject", "target_true", "target_new", "entity"]

FRAME = (822.0, 516.0)
"""Width and height of the frame of the map in the web UI, in a window of 1280 x 900 px."""
LINE_H, THIN = 14.0, 10.0
"""Height of a line of text, and of a line that passes a column."""
PAD, TRACK = 8.0, 5.0
"""Room around a box or label, and between two tracks."""
AFTER_BOX, BEFORE_BOX, BESIDE_LABEL = 10.0, 13.0, 5.0
"""Room between a column and the track next to it: arrows end before boxes, few of them after."""
BESIDE = 12.0
"""Distance between two boxes of one column."""
MARGIN = 10.0
NAME, LABEL = 11.5, 11.0
"""Sizes of the letters of names and of labels."""
BOLD, MARK = 1.12, 15.0
"""Bold letters are so much wider; room for the mark of a fact that is to be edited too,
before the relation's first line."""
ROOM, BESIDES = 14.0, 8.0
"""Room left and right of a name, and of a label, together."""
TURN = 6.0
"""Room for the bend of a line that turns back, before its label."""

ROLES: Mapping[Role, str] = {
    "subject": "subject", "target_true": "old object", "target_new": "new object",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Box:
    """An entity: its rectangle, its text in lines, and the numbers of the chains through it."""

    name: str
    role: Role
    x: float
    y: float
    w: float
    h: float
    text: tuple[str, ...]
    chains: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A fact: the corners of its line from subject to object, and its label's rectangle.

    Attributes:
        link: the fact with its probabilities before and after.
        alive: True if a surviving chain contains it.
        corners: points of the line; its parts are level or upright in turn.
        label: x, y, width and height; `text` is in it.
        chains: numbers of the drawn chains through it, in their order.
        role: `fact` on a chain; the edited fact's old form `target_true`, its new `target_new`.
    """

    link: Link
    alive: bool
    corners: tuple[tuple[float, float], ...]
    label: tuple[float, float, float, float]
    text: tuple[str, ...]
    chains: tuple[int, ...]
    role: str

    @property
    def retention(self) -> float | None:
        """p_post / p_pre; None where p_pre is 0."""
        return self.link.ratio


@dataclass(frozen=True, slots=True)
class MapDrawing:
    """All that is drawn.

    Attributes:
        shown: numbers and rows of the chains drawn, in their order; numbers count from 1 in the
            list of all the edit's chains.
        alive: surviving chains drawn, and all that were found; `cut`: the same of cut ones.
    """

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    shown: tuple[tuple[int, ScoredChainRow], ...]
    alive: tuple[int, int]
    cut: tuple[int, int]


def draw(
    rows: Sequence[tuple[int, ScoredChainRow]],
    subject: str,
    target_true: str,
    target_new: str,
    *,
    limit: int,
    edited: Sequence[tuple[Link, str]] = (),
) -> MapDrawing:
    """Place the first of these chains, in the columns that make it largest in `FRAME`.

    A chain that the model did not know before is neither surviving nor cut, and is not drawn.

    Args:
        rows: chains with their numbers, surviving first, then by part of IFR.
        limit: surviving chains at most, and a third as many cut ones (at least 1).
        edited: the edited fact's old and new form with their roles, drawn beside the chains.
    """
    alive = [row for row in rows if row[1].surviving]
    cut = sorted(
        (row for row in rows if row[1].known and not row[1].surviving),
        key=lambda r: (-r[1].r_pre, r[1].entities),
    )
    few = max(1, limit // 3)
    shown = [*alive[:limit], *cut[:few]]
    through: dict[str, list[int]] = {}
    links: dict[str, tuple[Link, str]] = {}
    for number, row in shown:
        for link in row.links:
            links.setdefault(link.id, (link, "fact"))
            through.setdefault(link.id, []).append(number)
    if shown:
        for link, role in edited:
            links.setdefault(link.id, (link, role))
    if not links:
        return MapDrawing(0, 0, (), (), (), (0, len(alive)), (0, len(cut)))
    roles: dict[str, Role] = {
        target_new: "target_new", target_true: "target_true", subject: "subject",
    }  # fmt: skip
    lasting = {link.id for _, row in alive for link in row.links}
    best: MapDrawing | None = None
    for wrap in WRAPS:
        drawing = _placed(links, roles, subject, target_true, through, lasting, wrap)
        if best is None or _scale(drawing) > _scale(best):
            best = drawing
        if _scale(best) >= 1:
            break
    assert best is not None
    return replace(
        best,
        shown=tuple(shown),
        alive=(min(limit, len(alive)), len(alive)),
        cut=(min(few, len(cut)), len(cut)),
    )


def _scale(drawing: MapDrawing) -> float:
    """The scale at which the whole drawing fits the frame."""
    return min(FRAME[0] / drawing.width, FRAME[1] / drawing.height)


def _placed(
    links: Mapping[str, tuple[Link, str]],
    roles: Mapping[str, Role],
    subject: str,
    target_true: str,
    through: Mapping[str, Sequence[int]],
    lasting: Collection[str],
    wrap: Wrap,
) -> MapDrawing:
    """The drawing with texts wrapped like this, its boxes and its lines, without its chains."""
    names = dict.fromkeys(n for link, _ in links.values() for n in (link.subject, link.object))
    texts = {name: entity_text(name, roles.get(name, "entity"), wrap) for name in names}
    labels = {id: label_text(link, wrap) for id, (link, _) in links.items()}
    edges = [
        Edge(id, link.subject, link.object, _label_height(labels[id]))
        for id, (link, _) in links.items()
    ]
    high = _heights(edges, columns(edges, subject, target_true), texts)
    laid = lay_out(edges, subject, target_true, {n: h + BESIDE for n, h in high.items()}, THIN)
    keep_apart(laid)
    placed = tracks(laid)
    wide = _widths(laid, texts, [link for link, _ in links.values()], labels)
    left = _columns(wide, placed)
    boxes = tuple(
        Box(
            name,
            roles.get(name, "entity"),
            left[laid.column[name]],
            _down(laid, laid.y[name]) - high[name] / 2,
            wide[laid.column[name]],
            high[name],
            texts[name],
            _numbers(name, links, through),
        )
        for name in laid.column
        if name in texts
    )
    lines = tuple(
        Line(
            link,
            link.id in lasting,
            _corners(laid, placed, left, wide, link.id),
            _label_place(laid, left, wide, link, labels[link.id]),
            labels[link.id],
            tuple(through.get(link.id, ())),
            role,
        )
        for link, role in links.values()
    )
    width = left[-1] + wide[-1] + MARGIN
    height = laid.top - laid.bottom + 2 * MARGIN
    return MapDrawing(width, height, boxes, lines, (), (0, 0), (0, 0))


def entity_text(name: str, role: Role, wrap: Wrap = WRAPS[0]) -> tuple[str, ...]:
    """The text in an entity's box: its name, and its role where it has one."""
    said = (f"({ROLES[role]})",) if role in ROLES else ()
    of_edit = role != "entity"
    size = NAME * BOLD if of_edit else NAME
    width = fitting(name, size, wrap.name, WRAPS[0].name)
    return (*wrapped(name, width, size, wrap.lines + of_edit), *said)


def label_text(link: Link, wrap: Wrap = WRAPS[0]) -> tuple[str, ...]:
    """The text on a fact's line: the relation, and its probability before and after."""
    relation = link.relation.replace("_", " ").replace("-", " ")
    numbers = f"{short(link.pre)} → {short(link.post)}"
    asked = max(wrap.label, text_width(numbers, LABEL) - MARK)  # the label is as wide anyway
    width = fitting(relation, LABEL, asked, WRAPS[0].label)
    return (*wrapped(relation, width, LABEL, wrap.lines - 1), numbers)


def _label_height(text: Sequence[str]) -> float:
    return LINE_H * len(text) + PAD


def _widths(
    laid: Layout,
    texts: Mapping[str, Sequence[str]],
    links: Sequence[Link],
    labels: Mapping[str, Sequence[str]],
) -> list[float]:
    """Width of each column, by its longest text."""
    wide = [0.0] * (max(laid.column.values()) + 1)
    for name, text in texts.items():
        column = laid.column[name]
        size = NAME * (BOLD if text[-1].startswith("(") else 1)
        wide[column] = max(wide[column], *(text_width(line, size) + ROOM for line in text))
    for link in links:
        column = laid.labels[link.id][0]
        bend = TURN * _turns(laid, link)
        wide[column] = max(wide[column], _label_width(labels[link.id]) + bend)
    return wide


def _label_width(text: Sequence[str]) -> float:
    first, *others = (text_width(line, LABEL) for line in text)
    return max(first + MARK, *others) + BESIDES


def _columns(wide: Sequence[float], placed: Tracks) -> list[float]:
    """Left end of each column; labels are in odd ones."""
    left, x = [], MARGIN
    for column, width in enumerate(wide):
        left.append(x)
        ends = BESIDE_LABEL + (BEFORE_BOX if column % 2 else AFTER_BOX)
        x += width + ends + TRACK * max(0, placed.count.get(column, 0) - 1)
    return left


def _after(column: int) -> float:
    """Room between a column and the first track to its right."""
    return BESIDE_LABEL if column % 2 else AFTER_BOX


def _heights(
    edges: Sequence[Edge], column: Mapping[str, int], texts: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    """Heights of the boxes: of their text, and of the lines at the side with more of them."""
    sides: Counter[tuple[str, bool]] = Counter()
    for edge in edges:
        a, b = column[edge.source], column[edge.target]
        sides[edge.source, b >= a] += 1
        sides[edge.target, a >= b] += 1
    return {
        name: max(
            len(text) * LINE_H + 2 * PAD,
            max(sides[name, True], sides[name, False]) * PORT_GAP + PAD,
        )
        for name, text in texts.items()
    }


def _numbers(
    name: str, links: Mapping[str, tuple[Link, str]], through: Mapping[str, Sequence[int]]
) -> tuple[int, ...]:
    """Numbers of the chains through an entity."""
    on = {
        number
        for link, _ in links.values()
        if name in (link.subject, link.object)
        for number in through.get(link.id, ())
    }
    return tuple(sorted(on))


def _down(laid: Layout, y: float) -> float:
    """A height of the layout, which grows upwards, as one of the drawing."""
    return laid.top - y + MARGIN


def _label_place(
    laid: Layout,
    left: Sequence[float],
    wide: Sequence[float],
    link: Link,
    text: Sequence[str],
) -> tuple[float, float, float, float]:
    """A label as wide as its text: in the middle of its column, or where its line turns back."""
    column, slot = laid.labels[link.id]
    w, h = _label_width(text), _label_height(text) - PAD
    x = left[column] + (TURN if _turns(laid, link) else (wide[column] - w) / 2)
    return x, _down(laid, laid.y[slot]) - h / 2, w, h


def _turns(laid: Layout, link: Link) -> bool:
    """Return True if a line goes back from its label, to an entity of the same column."""
    return laid.column[link.subject] == laid.column[link.object]


def _corners(
    laid: Layout, placed: Tracks, left: Sequence[float], wide: Sequence[float], fact: str
) -> tuple[tuple[float, float], ...]:
    """The line from the side of the subject's box to that of the object's."""
    stops = heights(laid, fact)
    points: list[tuple[float, float]] = []
    at = stops[0][2]
    for part in range(len(stops) - 1):
        (a, arrived, leave), (b, arrive, _) = stops[part], stops[part + 1]
        if part and arrived != leave:
            at = leave
        points.append((left[a] + wide[a] * (b > a), _down(laid, at)))
        track = placed.of.get((fact, part))
        if track is not None:
            x = left[min(a, b)] + wide[min(a, b)] + _after(min(a, b)) + TRACK * track
            points += [(x, _down(laid, at)), (x, _down(laid, arrive))]
            at = arrive
        points.append((left[b] + wide[b] * (b < a), _down(laid, at)))
    return tuple(_straightened(points))


def _straightened(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Without points between two others on one level."""
    out: list[tuple[float, float]] = []
    for x, y in points:
        if len(out) >= 2 and out[-1][1] == y == out[-2][1]:
            out[-1] = (x, y)
        else:
            out.append((x, y))
    return out
