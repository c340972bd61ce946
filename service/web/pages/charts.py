"""Geometry of charts, which templates write as SVG: leaderboard, frontier, differences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...leakcut import coedit_kind
from ...models.leakcut import CoEditOut
from ...reports import figure_style
from ...reports.paired import Against, Difference, further, verdict
from ...reports.table import STEPS

# Geometry of the leaderboard's two charts; the template writes it as SVG.
#
# A method has the colour, marker and dashes that it has in figures (`reports.figures.style`):
# methods differ by marker and by dashes, not by colour alone.

WIDTH, HEIGHT = 480, 330
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 12, 42

MARKERS = {
    "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "s": "M-4 -4h8v8h-8z",
    "^": "M0 -5l5 9h-10z",
    "D": "M0 -5.5l5 5.5l-5 5.5l-5 -5.5z",
    "v": "M0 5l5 -9h-10z",
    "P": "M-1.7 -5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z",
    "X": "M-5 -3l2 -2l3 3l3 -3l2 2l-3 3l3 3l-2 2l-3 -3l-3 3l-2 -2l3 -3z",
    "<": "M-5 0l9 -5v10z",
    ">": "M5 0l-9 -5v10z",
    "*": "M0 -5l1.5 3.5l3.7 .3l-2.8 2.5l.9 3.7l-3.3 -2l-3.3 2l.9 -3.7l-2.8 -2.5l3.7 -.3z",
    "p": "M0 -5l4.8 3.5l-1.8 5.6h-6l-1.8 -5.6z",
}
"""The markers of figures as SVG paths around the origin."""

BEYOND = "IFR beyond subject"


@dataclass(frozen=True, slots=True)
class Series:
    """The marks of a method in both charts and in the legend: as in figures.

    Attributes:
        index: of its row in the table.
        place: of the method in the colours, markers and dashes of `figures.style`.
        model: of its model; the marks of every second one are hollow.
    """

    name: str
    index: int
    place: int
    model: int = 0

    @property
    def marker(self) -> str:
        """An SVG path around the origin."""
        return MARKERS[figure_style.MARKERS[self.place % len(figure_style.MARKERS)]]

    @property
    def css(self) -> str:
        """Classes for colour, dashes and fill."""
        colour, dashes = (
            self.place % len(figure_style.COLOURS),
            self.place % len(figure_style.DASHES),
        )
        return f"series c{colour} d{dashes}" + " hollow" * (self.model % 2)


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear scale from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The pixel of a value, to a tenth."""
        return round(
            self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 1
        )

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """(pixel, label) of a handful of round values."""
        step = next(
            s for s in (0.1, 0.2, 0.25, 0.5, 1, 2, 5, 1e9) if (self.high - self.low) / s <= 6
        )
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [(self.at(i * step), f"{i * step:g}") for i in range(first, last + 1)]


def marked(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a table by method, each with its `series`; of several models that is named."""
    models = sorted({row["Model"] for row in rows})
    placed = figure_style.places(row["Method"] for row in rows)
    return [
        row
        | {
            "series": Series(
                f"{row['Method']} · {row['Model']}" if len(models) > 1 else row["Method"],
                i,
                placed[row["Method"]],
                models.index(row["Model"]),
            )
        }
        for i, row in enumerate(rows)
    ]


def _vertical(values: Sequence[float], low: float = 0.0) -> Axis:
    top = max([1.0, *values]) + 0.05  # so that the frame does not cut markers at 1
    return Axis(low, math.ceil(top * 10) / 10, HEIGHT - BOTTOM, TOP)


def curves(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """IFR by steps: one line a marked row, with a gap where there is no chain of that length."""
    known = [row[f"{n}-step"] for row in rows for n in STEPS if _is(row[f"{n}-step"])]
    y = _vertical(known)
    x = Axis(STEPS[0], STEPS[-1], LEFT + 12, WIDTH - RIGHT - 12)
    lines = []
    for row in rows:
        points = [(x.at(n), y.at(v), n, v) for n in STEPS if _is(v := row[f"{n}-step"])]
        path = " ".join(
            f"{'L' if i and points[i - 1][2] == n - 1 else 'M'}{px} {py}"
            for i, (px, py, n, _) in enumerate(points)
        )
        lines.append({"series": row["series"], "path": path, "points": points})
    ticks = [(x.at(n), str(n)) for n in STEPS]
    return {"lines": lines, "x_ticks": ticks, "y_ticks": y.ticks}


def scatter(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """IFR against Preservation: one point a marked row with its intervals; best is up and left."""
    shown = [row for row in rows if _is(row["IFR"]) and _is(row["Preservation"])]
    beyond = [row[BEYOND] for row in shown if _is(row.get(BEYOND))]
    right = max([1.0, *(row["IFR"] for row in shown), *beyond])
    x = Axis(0.0, math.ceil(right * 10) / 10, LEFT + 8, WIDTH - RIGHT - 8)
    kept = [row["Preservation"] for row in shown]
    ends = [row["Preservation low"] for row in shown if _is(row["Preservation low"])]
    low = math.floor(10 * (min([1.0, *kept, *ends]) - 0.05)) / 10  # from 0, all are at the top
    y = _vertical(kept, max(0.0, low))
    points = [
        {
            "series": row["series"],
            "at": (x.at(row["IFR"]), y.at(row["Preservation"])),
            "ifr": row["IFR"],
            "preservation": row["Preservation"],
            "ifr_beyond": row.get(BEYOND),
            "beyond": x.at(row[BEYOND]) if _is(row.get(BEYOND)) else None,
            "across": _bar(row, "IFR", x),
            "up": _bar(row, "Preservation", y),
        }
        for row in shown
    ]
    _label(points)
    return {"points": points, "x_ticks": x.ticks, "y_ticks": y.ticks}


def _bar(row: dict[str, Any], title: str, axis: Axis) -> tuple[float, float] | None:
    low, high = row[f"{title} low"], row[f"{title} high"]
    if not (_is(low) and _is(high)):
        return None
    return axis.at(max(axis.low, low)), axis.at(min(axis.high, high))


LETTER, WORD, LINE, MARK = 6.2, 10.0, 12.0, 6.0
"""Pixels: of a letter, of a word beyond its letters, of a line, and of half a mark."""
OFFSETS = tuple(
    (dx, dy, anchor)
    for ring in range(24)
    for dy in ((4.0,) if ring == 0 else (4 + LINE * ring, 4 - LINE * ring))
    for dx, anchor in ((9, "start"), (-9, "end"), (42, "start"), (-42, "end"))
)
"""From a point to the start or the end of its label's line, the best first."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Label:
    """The place of a point's name.

    Attributes:
        x, y: start or end of the line of text, as `anchor` says.
        leader: end of a line from the point, for a label that is not beside it; else None.
    """

    x: float
    y: float
    anchor: str
    leader: Point | None

    def box(self, name: str) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the text, or a little more."""
        wide = LETTER * len(name) + WORD
        left = self.x if self.anchor == "start" else self.x - wide
        return left, self.y - LINE + 2, left + wide, self.y + 2


def _label(points: Sequence[dict[str, Any]]) -> None:
    """Give each point a `label`: a place where its name covers no other name, mark or line.

    A point without room has None. A level line leads to the point's IFR beyond the subject.
    """
    lines = [(p["at"][0], p["beyond"], p["at"][1]) for p in points if p["beyond"] is not None]
    marks = [
        (mx - MARK, my - MARK, mx + MARK, my + MARK)
        for mx, my in (*(p["at"] for p in points), *((end, my) for _, end, my in lines))
    ]
    marks += [(min(a, b), my - 1, max(a, b), my + 1) for a, b, my in lines]
    taken: list[tuple[float, float, float, float]] = []
    for point in points:
        name = point["series"].name
        point["label"] = next(
            (
                label for label in _candidates(point["at"])
                if _inside(box := label.box(name)) and not _meets(box, [*taken, *marks])
            ),
            None,
        )  # fmt: skip
        if point["label"] is not None:
            taken.append(point["label"].box(name))


def _candidates(at: Point) -> Iterator[Label]:
    for dx, dy, anchor in OFFSETS:
        x, y = round(at[0] + dx, 1), round(at[1] + dy, 1)
        near = abs(dx) < 10 and -9 < dy < 17
        yield Label(x, y, anchor, None if near else (x, y - 4))


def _inside(box: tuple[float, ...]) -> bool:
    return box[0] > LEFT and box[2] < WIDTH and box[1] > 0 and box[3] < HEIGHT - BOTTOM


def _meets(box: tuple[float, ...], others: Sequence[tuple[float, ...]]) -> bool:
    return any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in others)


def _is(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


# The frontier of a co-edit as a drawing of its page, whose points lead to the rounds' edits.


def plot(out: CoEditOut) -> dict[str, Any]:
    """IFR against the loss of the facts not edited, one point a round, as pixels.

    A filled point keeps the first edit; the chosen one is ringed. Each leads to its edit's page.
    """
    points = coedit_kind.points(out)
    right = max([0.1, *(point.lost for point in points)])
    left = min([0.0, *(point.lost for point in points)])
    x = Axis(left, right * 1.05, LEFT + 8, WIDTH - RIGHT - 8)
    y = Axis(0.0, max([0.1, *(point.ifr for point in points)]) * 1.1, HEIGHT - BOTTOM, TOP)
    edits = {row.number: row.edit for row in out.rounds}
    spots = [
        {
            "x": x.at(point.lost), "y": y.at(point.ifr), "edit": edits[point.number],
            "label": str(point.facts), "installed": point.installed, "chosen": point.chosen,
            "title": f"Round {point.number}: {point.facts} facts edited, IFR {point.ifr:.3f},"
            f" neighbours kept {1 - point.lost:.3f}",
        }
        for point in points
    ]  # fmt: skip
    path = " ".join(f"{'L' if i else 'M'}{s['x']} {s['y']}" for i, s in enumerate(spots))
    return {
        "spots": spots, "path": path, "x_ticks": x.ticks, "y_ticks": y.ticks, "width": WIDTH,
        "height": HEIGHT, "left": LEFT, "bottom": HEIGHT - BOTTOM, "right": WIDTH - RIGHT,
        "top": TOP,
    }  # fmt: skip


# Values of `_experiments_paired.html`: paired differences to the best method, one bar a row.

BAR_WIDTH, MIDDLE = 240.0, 120.0
"""Width of a row's bar, and where 0 is, in pixels."""
PAD = 8.0

METRICS = (("ifr", "IFR"), ("preservation", "Preservation"), ("subject_retention", "retention"))


@dataclass(frozen=True, slots=True)
class PairedRow:
    """One method beside the best one.

    Attributes:
        at, bar: the IFR difference and its interval in pixels; None without an interval.
        others: (title, difference) in the metrics beside IFR; None where undefined.
    """

    method: str
    ifr: Difference
    at: float
    bar: tuple[float, float] | None
    others: tuple[tuple[str, Difference | None], ...]


@dataclass(frozen=True, slots=True)
class PairedTable:
    """The best method of a model and the others beside it.

    Attributes:
        scale: the value at either edge.
        comparisons: the number that p is adjusted over.
        refused: sentences on methods that are not paired.
        why: the reason to compare with the best one.
        methods: those compared; `like` is an edit whose request further ones repeat.
        more: unrelated facts that are missing to show a difference.
    """

    model: str
    best: str
    verdict: str
    rows: tuple[PairedRow, ...]
    scale: float
    comparisons: int
    refused: tuple[str, ...]
    methods: tuple[str, ...]
    like: str
    more: int
    why: str


def tables(found: Sequence[Against]) -> list[PairedTable]:
    """One table a model, its bars on one scale."""
    return [_table(against) for against in found if against.of("ifr") or against.refused]


def _table(against: Against) -> PairedTable:
    rows = against.of("ifr")
    ends = [abs(end) for row in rows for end in (row.value, *(row.interval or ()))]
    scale = max([0.05, *ends])
    others = {metric: {row.first: row for row in against.of(metric)} for metric, _ in METRICS[1:]}

    def place(value: float) -> float:
        return round(MIDDLE + value / scale * (MIDDLE - PAD), 1)

    drawn = tuple(
        PairedRow(
            row.first,
            row,
            place(row.value),
            (place(row.interval[0]), place(row.interval[1])) if row.interval else None,
            tuple((title, others[metric].get(row.first)) for metric, title in METRICS[1:]),
        )
        for row in rows
    )
    comparisons = max((row.comparisons for row in rows), default=0)
    return PairedTable(
        against.model, against.best, verdict(rows), drawn, scale, comparisons, against.refused,
        tuple(against.methods), against.like.edit if against.like else "", further(rows),
        against.why,
    )  # fmt: skip
