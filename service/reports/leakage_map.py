"""The leakage map: the chains of an edit from subject to old object, laid out once."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..base.formatting import short

if TYPE_CHECKING:
    from ...cypher.rows import ScoredChainRow
    from ...cypher.rows.chains import Link


# Widths of texts on a leakage map, and names broken into lines, before a font is at hand.
#
# The widths are those of DejaVu Sans, which figures use and which is wider than the fonts of most
# browsers: a text that fits by them fits.

_GROUPS = {
    0.32: "ijlIJ'., ",
    0.34: "/:;\\|",
    0.42: "ftr()[]-!",
    0.55: 'cszL*_?`"',
    0.62: "aekovxyFPTY",
    0.65: "bdghnpquSEK0123456789$",
    0.70: "ABCRVXZ",
    0.79: "DGHNUOQ&",
    0.85: "w+<>=~^#→",
    1.00: "mMW@%…",
}
_ADVANCE = {letter: width for width, letters in _GROUPS.items() for letter in letters}

OTHER = 0.72
"""Width of any other letter, in ems; that of East Asian wide ones is `FULL`."""
FULL = 1.05

ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Wrap:
    """Widths at which names and relations are wrapped.

    Attributes:
        name, label: width of a name's lines, and of a relation's, where no word is longer.
        lines: lines of a name at most; one more for the edit's own, one less for relations. The
            rest is an ellipsis.
    """

    name: float
    label: float
    lines: int


WRAPS = (Wrap(106.0, 98.0, 3), Wrap(84.0, 78.0, 4), Wrap(64.0, 60.0, 5))
"""From the widest columns to the narrowest."""


def text_width(text: str, size: float) -> float:
    """Width of one line in letters of this size, in the size's unit."""
    return size * sum(_advance(letter) for letter in text)


def fitting(text: str, size: float, width: float, most: float) -> float:
    """The width to wrap a text by: as asked, unless that breaks a word that `most` holds."""
    longest = max((text_width(word, size) for word in text.split()), default=0.0)
    return max(width, min(longest, most))


def wrapped(text: str, width: float, size: float, lines: int) -> tuple[str, ...]:
    """The text in as few lines of this width as possible, of about the same length.

    Args:
        lines: at most so many; the rest is an ellipsis. A word that is wider than a line is broken.
    """
    found = _lines(text.split(), width, size)
    if len(found) > lines:
        return (*found[: lines - 1], _cut(found[lines - 1], width, size))
    for tenths in range(9, 4, -1):
        closer = _lines(text.split(), width * tenths / 10, size)
        # A narrower text must not break a word that the whole width holds.
        if len(closer) > len(found) or " ".join(closer) != " ".join(found):
            break
        found = closer
    return tuple(found) or ("",)


def _cut(line: str, width: float, size: float) -> str:
    """A line that an ellipsis ends: after a word where there are several."""
    while line and text_width(f"{line} {ELLIPSIS}", size) > width:
        line = line.rpartition(" ")[0] if " " in line else line[:-1]
    return f"{line} {ELLIPSIS}"


def _lines(words: list[str], width: float, size: float) -> list[str]:
    found: list[str] = []
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if found and text_width(f"{found[-1]} {word}", size) <= width:
            found[-1] += f" {word}"
            continue
        fits = next((n for n in range(len(word), 1, -1) if text_width(word[:n], size) <= width), 1)
        found.append(word[:fits])
        if fits < len(word):
            rest.append(word[fits:])
    return found


def _advance(letter: str) -> float:
    if letter in _ADVANCE:
        return _ADVANCE[letter]
    if unicodedata.combining(letter):
        return 0.0
    return FULL if unicodedata.east_asian_width(letter) in "WF" else OTHER


# Places of the entities and labels of a leakage map: layers by distance from the subject.
#
# Sugiyama's walk in small: entities in columns by distance, a column of labels between two of
# them, and every link led through one slot of each column it crosses. A slot belongs to one
# entity or one link alone, so nothing overlaps; order in a column follows the neighbours' mean
# (barycentre), and the same links always give the same picture.

Node = Hashable
ROUNDS = 16
PORT_GAP = 10.0
"""Distance between two links at the side of a box."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One link to lay out; `height` is the height of its label, in the units of y."""

    id: str
    source: str
    target: str
    height: float


@dataclass(slots=True)
class Layout:
    """Columns and heights.

    Attributes:
        column: of each entity, 0 for the subject; even, since labels are in odd ones.
        y: of each slot, growing upwards.
        routes: of each edge the (column, slot) it passes, from its source to its target.
        labels: of each edge the (column, slot) of its label.
        top, bottom: the whole height used.
    """

    column: dict[str, int]
    y: dict[Node, float] = field(default_factory=dict)
    routes: dict[str, list[tuple[int, Node]]] = field(default_factory=dict)
    labels: dict[str, tuple[int, Node]] = field(default_factory=dict)
    top: float = 0.0
    bottom: float = 0.0
    ports: dict[tuple[str, int], float] = field(default_factory=dict)
    """(edge, 0 at its source or 1 at its target): height above the entity's middle."""
    stepped: set[str] = field(default_factory=set)
    """Edges whose lines keep to the grid of heights (`routing.keep_apart`)."""


def lay_out(
    edges: Sequence[Edge], subject: str, old: str, heights: Mapping[str, float], thin: float
) -> Layout:
    """Lay the edges out, `subject` in the first column and `old` in the last.

    Args:
        heights: of each entity's box.
        thin: height of a link where it passes a column without a label.
    """
    laid = Layout(columns(edges, subject, old))
    size: dict[Node, float] = {**heights}
    layers: dict[int, list[Node]] = {}
    for name, column in laid.column.items():
        layers.setdefault(column, []).append(name)
    for edge in edges:
        _route(edge, laid, size, layers, thin)
    near = _neighbours(laid)
    _order(layers, near)
    _place(layers, near, size, laid)
    _ports(laid)
    return laid


def columns(edges: Sequence[Edge], subject: str, old: str) -> dict[str, int]:
    """The column of each entity: twice its distance from the subject; the old object's is last."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from([subject, old])
    graph.add_edges_from((e.source, e.target) for e in edges)
    steps = nx.single_source_shortest_path_length(graph.subgraph(set(graph) - {old}), subject)
    # In the order in which links name them, so that sets decide nothing.
    columns = {name: 2 * steps[name] for name in graph if name != old}
    return columns | {old: 2 * (max(steps.values()) + 1)}


def _route(
    edge: Edge,
    laid: Layout,
    size: dict[Node, float],
    layers: dict[int, list[Node]],
    thin: float,
) -> None:
    """Give the edge a slot in each column between its ends; next to them where they share one."""
    first, last = laid.column[edge.source], laid.column[edge.target]
    step = 1 if last >= first else -1
    between = list(range(first + step, last, step)) or [first + 1]
    # The label is in the first gap: links fan out of the subject, and gather at the old object.
    label = between[0]
    route: list[tuple[int, Node]] = [(first, edge.source)]
    for column in between:
        slot: Node = (edge.id, column)
        size[slot] = edge.height if column == label else thin
        layers.setdefault(column, []).append(slot)
        route.append((column, slot))
    laid.routes[edge.id] = [*route, (last, edge.target)]
    laid.labels[edge.id] = (label, (edge.id, label))


def _neighbours(laid: Layout) -> dict[Node, list[Node]]:
    near: dict[Node, list[Node]] = {}
    for route in laid.routes.values():
        for (_, a), (_, b) in pairwise(route):
            near.setdefault(a, []).append(b)
            near.setdefault(b, []).append(a)
    return near


def _order(layers: dict[int, list[Node]], near: Mapping[Node, Sequence[Node]]) -> None:
    """Sweep to and fro; keep the order with the fewest crossings."""
    best, fewest = {c: list(nodes) for c, nodes in layers.items()}, _crossings(layers, near)
    for turn in range(ROUNDS):
        columns = sorted(layers, reverse=turn % 2 == 1)
        for column, before in zip(columns[1:], columns, strict=False):
            rank = {n: i / max(1, len(layers[before]) - 1) for i, n in enumerate(layers[before])}
            own = {n: i / max(1, len(layers[column]) - 1) for i, n in enumerate(layers[column])}

            def wish(node: Node, rank: dict = rank, own: dict = own) -> float:  # type: ignore[type-arg]
                held = [rank[other] for other in near.get(node, ()) if other in rank]
                return sum(held) / len(held) if held else own[node]

            layers[column].sort(key=wish)  # stable: equals keep their order
        crossings = _crossings(layers, near)
        if crossings < fewest:
            best, fewest = {c: list(nodes) for c, nodes in layers.items()}, crossings
    layers.update(best)


def _crossings(layers: Mapping[int, list[Node]], near: Mapping[Node, Sequence[Node]]) -> int:
    count = 0
    for column in sorted(layers)[:-1]:
        after = {n: i for i, n in enumerate(layers.get(column + 1, []))}
        ends = [
            (i, after[other])
            for i, node in enumerate(layers[column])
            for other in near.get(node, ())
            if other in after
        ]
        count += sum(
            (a - c) * (b - d) < 0 for k, (a, b) in enumerate(ends) for c, d in ends[k + 1 :]
        )
    return count


def _place(
    layers: Mapping[int, list[Node]],
    near: Mapping[Node, Sequence[Node]],
    size: Mapping[Node, float],
    laid: Layout,
) -> None:
    """Heights: each slot as near to its neighbours' mean as order and sizes allow."""
    for nodes in layers.values():
        total = sum(size[n] for n in nodes)
        laid.y.update(_stacked(nodes, size, [0.0] * len(nodes), total))
    for turn in range(ROUNDS):
        for column in sorted(layers, reverse=turn % 2 == 0):
            nodes = layers[column]
            wishes = [
                sum(laid.y[o] for o in near[n]) / len(near[n]) if near.get(n) else laid.y[n]
                for n in nodes
            ]
            laid.y.update(_stacked(nodes, size, wishes))
    laid.top = max(laid.y[n] + size[n] / 2 for n in laid.y)
    laid.bottom = min(laid.y[n] - size[n] / 2 for n in laid.y)


def _stacked(
    nodes: Sequence[Node],
    size: Mapping[Node, float],
    wishes: Sequence[float],
    total: float = 0.0,
) -> dict[Node, float]:
    """From top to bottom without overlap, least squares from the wishes (isotonic regression)."""
    offsets, depth = [], -total / 2
    for node in nodes:
        offsets.append(depth + size[node] / 2)
        depth += size[node]
    blocks: list[tuple[float, int]] = []  # mean and length of runs that move together
    for wish, offset in zip(wishes, offsets, strict=True):
        mean, length = wish + offset, 1
        while blocks and blocks[-1][0] <= mean:
            other, more = blocks.pop()
            mean = (mean * length + other * more) / (length + more)
            length += more
        blocks.append((mean, length))
    moved = [mean for mean, length in blocks for _ in range(length)]
    return {node: at - offset for node, at, offset in zip(nodes, moved, offsets, strict=True)}


def _ports(laid: Layout) -> None:
    """Spread the links over the side of the box where they leave or arrive, in order of height."""
    sides: dict[tuple[Node, bool], list[tuple[float, str, int]]] = {}
    for edge, route in laid.routes.items():
        for end, (column, node), (towards, slot) in (
            (0, route[0], route[1]),
            (1, route[-1], route[-2]),
        ):
            sides.setdefault((node, towards > column), []).append((laid.y[slot], edge, end))
    for held in sides.values():
        for rank, (_, edge, end) in enumerate(sorted(held, reverse=True)):
            laid.ports[edge, end] = PORT_GAP * ((len(held) - 1) / 2 - rank)


# Orthogonal lines of a leakage map: level through columns, upright in tracks between them.
#
# The layout gives each fact one slot of its own in each column that it crosses, so that level
# parts never meet a box or another fact's label. Between two columns each fact changes its height
# in one track. Tracks are ordered for few crossings (of two facts, the order with fewer), and
# facts share a track where their upright parts do not touch.

GRID = 5.0
"""Lines are level at multiples of this in columns of entities, and halfway between in columns of
labels: so no line runs along another between two columns."""

LEVEL = 0.6 * GRID
"""A line goes straight on to a height that differs by less than this from its own."""

TOUCH = 2.0
"""Level parts of two facts that are closer than this would look like one line."""

CLEAR = 4.0
"""Distance between the upright parts of two facts in one track, and between level parts."""

ASIDE = 5.0
"""Height above and below the middle of a label at which a line between two entities of one column
enters and leaves it."""


@dataclass(frozen=True, slots=True)
class Wire:
    """One fact between column `gap` and the next: from height `left` to height `right`."""

    fact: str
    part: int
    gap: int
    left: float
    right: float

    @property
    def low(self) -> float:
        """Lower end of its upright part."""
        return min(self.left, self.right)

    @property
    def high(self) -> float:
        """Upper end of its upright part."""
        return max(self.left, self.right)


@dataclass(frozen=True, slots=True)
class Tracks:
    """The track of each wire, and how many each gap has.

    Attributes:
        of: {(fact, part): track}, 0 the leftmost; a level wire has none.
        count: {gap: number of tracks}.
    """

    of: Mapping[tuple[str, int], int]
    count: Mapping[int, int]


def heights(laid: Layout, fact: str) -> list[tuple[int, float, float]]:
    """Of each stop of a fact its column and the heights at which the line arrives and leaves.

    Where the next stop is at nearly the height that the line has, the line goes straight on,
    unless it is one of `laid.stepped`.
    """
    route = laid.routes[fact]
    last = len(route) - 1
    stops: list[tuple[int, float, float]] = []
    for i, (column, node) in enumerate(route):
        y = laid.y[node]
        if i in (0, last):
            y += laid.ports[fact, int(i == last)]
        turns = 0 < i < last and route[i - 1][0] == route[i + 1][0]
        aside = (ASIDE if laid.y[route[0][1]] >= laid.y[route[-1][1]] else -ASIDE) * turns
        y = round(y / GRID) * GRID if column % 2 == 0 else (y // GRID + 0.5) * GRID
        straight = i and not turns and fact not in laid.stepped
        if straight and abs(y - stops[-1][2]) < LEVEL:
            y = stops[-1][2]
        stops.append((column, y + aside, y - aside))
    return stops


def wires(laid: Layout) -> list[Wire]:
    """All changes of height between neighbouring columns."""
    found = []
    for fact in laid.routes:
        for part, ((a, _, leave), (b, arrive, _)) in enumerate(pairwise(heights(laid, fact))):
            left, right = (leave, arrive) if a < b else (arrive, leave)
            found.append(Wire(fact, part, min(a, b), left, right))
    return found


def keep_apart(laid: Layout) -> None:
    """Take from the grid no line that would then run along another one; sets `laid.stepped`."""
    while touching := _touching(laid):
        laid.stepped |= touching


def _touching(laid: Layout) -> set[str]:
    """Facts that went straight on, off the grid, to the height of another one's level part."""
    gaps: dict[int, list[Wire]] = {}
    for wire in wires(laid):
        gaps.setdefault(wire.gap, []).append(wire)
    found = {
        wire.fact
        for held in gaps.values()
        for pair in combinations(held, 2)
        if any(
            abs(a - b) < TOUCH
            for a in (pair[0].left, pair[0].right)
            for b in (pair[1].left, pair[1].right)
        )
        for wire in pair
    }
    return found - laid.stepped


def tracks(laid: Layout) -> Tracks:
    """A track for each wire that changes its height."""
    gaps: dict[int, list[Wire]] = {}
    for wire in wires(laid):
        gaps.setdefault(wire.gap, []).append(wire)
    of: dict[tuple[str, int], int] = {}
    count: dict[int, int] = {}
    for gap, held in gaps.items():
        placed: list[tuple[Wire, int]] = []
        for wire in _ordered([w for w in held if w.left != w.right]):
            track = max((t + 1 for other, t in placed if _apart(other, wire)), default=0)
            placed.append((wire, track))
            of[wire.fact, wire.part] = track
        count[gap] = max((t for _, t in placed), default=-1) + 1
    return Tracks(of, count)


def _apart(before: Wire, after: Wire) -> bool:
    """Return True if two upright parts touch: `after` needs a track to the right of `before`."""
    return before.low - CLEAR < after.high and after.low - CLEAR < before.high


def _ordered(held: Sequence[Wire]) -> list[Wire]:
    """From left to right: by the sum of crossings saved, then neighbours exchanged that gain."""
    crossings = _routing_crossings(held)
    gain = (crossings - crossings.T).sum(axis=1)
    places = range(len(held))
    order = sorted(places, key=lambda i: (gain[i], -held[i].left, held[i].fact, held[i].part))
    for _ in places:
        changed = False
        for i in range(len(order) - 1):
            a, b = order[i], order[i + 1]
            if crossings[b, a] < crossings[a, b]:
                order[i], order[i + 1] = b, a
                changed = True
        if not changed:
            break
    return [held[i] for i in order]


def _routing_crossings(held: Sequence[Wire]) -> np.ndarray:
    """Crossings of each two wires where the first has the track to the left: [wires, wires].

    Then the first's upright part meets the second's level part on the left, and the second's
    upright part the first's on the right. Levels that nearly coincide count double.
    """
    left = np.array([wire.left for wire in held])
    right = np.array([wire.right for wire in held])
    low, high = np.minimum(left, right), np.maximum(left, right)
    first, second = np.s_[:, None], np.s_[None, :]
    met_left = (low[first] < left[second]) & (left[second] < high[first])
    met_right = (low[second] < right[first]) & (right[first] < high[second])
    close = np.abs(right[first] - left[second]) < CLEAR
    return met_left.astype(int) + met_right + 2 * close


# A leakage map as boxes, labels and lines with places, drawn by page, figure and export.
#
# Units are those of an SVG: 1/96 inch, y grows downwards. Nothing overlaps by construction:
# entities and labels have columns of their own, lines are level within columns and upright
# between them.

Role = Literal["subject", "target_true", "target_new", "entity"]

FRAME = (822.0, 385.0)
"""Width and height of the frame of the map in the web UI, in a window of 1280 x 900 px."""
LINE_H, THIN = 15.0, 10.0
"""Height of a line of text, and of a line that passes a column."""
PAD, TRACK = 8.0, 5.0
"""Room around a box or label, and between two tracks."""
AFTER_BOX, BEFORE_BOX, BESIDE_LABEL = 10.0, 13.0, 5.0
"""Room between a column and the track next to it: arrows end before boxes, few of them after."""
BESIDE = 12.0
"""Distance between two boxes of one column."""
ROOMS = (6.0, 12.0, 20.0, 30.0, 42.0)
"""Further distances of a drawing that is lower than the frame."""
LEADING, LARGEST = 3, 1.25
"""First facts whose strongest chains are drawn before all others; largest scale in the web UI."""
SHORT = 2
"""Facts of a chain for which no shorter one is drawn instead."""
MARGIN = 10.0
NAME, LABEL = 12.5, 12.0
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
        alive: surviving chains beside the edited fact: drawn, and all found; `cut`: the same of cut
            ones.
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
    fit: bool = False,
) -> MapDrawing:
    """Place the first of these chains, in the columns that make it largest in `FRAME`.

    The strongest chain of each of the `LEADING` first facts that carry most of IFR comes first.

    A chain that the model did not know before is neither surviving nor cut, and is not drawn.

    Args:
        rows: chains with their numbers, surviving first, then by part of IFR.
        limit: surviving chains at most, and a third as many cut ones (at least 1); where none
            survives, as many cut ones.
        edited: the edited fact's old and new form with their roles, drawn beside the chains.
        fit: draw fewer chains, `LEADING` at least, and then shorter ones, where that many fill
            more than `FRAME`; and spread a drawing that is lower than it.
    """
    surviving = [row for row in rows if row[1].surviving]
    cut = sorted(
        (row for row in rows if row[1].known and not row[1].surviving),
        key=lambda r: (-r[1].r_pre, r[1].entities),
    )
    longest = max((row[1].steps for row in surviving), default=0)
    alive = _leading(surviving, longest)
    roles: dict[str, Role] = {
        target_new: "target_new", target_true: "target_true", subject: "subject",
    }  # fmt: skip
    lasting = {link.id for _, row in alive for link in row.links}
    if not alive and not cut:
        return MapDrawing(0, 0, (), (), (), (0, 0), (0, 0))
    most = limit
    while True:
        few = max(1, most // 3) if alive else most
        shown = sorted([*alive[:most], *cut[:few]], key=lambda row: row[0])
        place = partial(_best, shown, edited, roles, subject, target_true, lasting)
        best = place()
        if not fit or _scale(best) >= 1:
            break
        if most > LEADING:
            most = min(most, len(alive)) - 1
        elif longest > SHORT:
            longest -= 1
            alive = _leading(surviving, longest)
            cut.sort(key=lambda row: row[1].steps > longest)
        else:
            break
    for room in ROOMS if fit else ():
        wider = place(room)
        if min(_scale(wider), LARGEST) < min(_scale(best), LARGEST):
            break
        best = wider
    # The edited fact by itself is drawn, and is no chain that survives.
    facts = {link.id for link, _ in edited}
    bare = [row[1].steps == 1 and row[1].links[0].id in facts for row in alive]
    return replace(
        best,
        shown=tuple(shown),
        alive=(min(most, len(alive)) - sum(bare[:most]), len(alive) - sum(bare)),
        cut=(min(few, len(cut)), len(cut)),
    )


def _leading(
    alive: Sequence[tuple[int, ScoredChainRow]], longest: int
) -> list[tuple[int, ScoredChainRow]]:
    """The surviving chains, the strongest of each leading first fact before all others.

    Of a first fact with chains of at most `longest` facts, the strongest of these.
    """
    parts: Counter[str] = Counter()
    for _, row in alive:
        parts[row.links[0].id] += (row.ratio or 0.0) / row.steps**0.5
    strongest: dict[str, tuple[int, ScoredChainRow]] = {}
    for row in sorted(alive, key=lambda row: row[1].steps > longest):
        strongest.setdefault(row[1].links[0].id, row)
    leaders = [strongest[first] for first, _ in parts.most_common(LEADING)]
    return [*leaders, *(row for row in alive if row not in leaders)]


def _best(
    shown: Sequence[tuple[int, ScoredChainRow]],
    edited: Sequence[tuple[Link, str]],
    roles: Mapping[str, Role],
    subject: str,
    target_true: str,
    lasting: Collection[str],
    room: float = 0.0,
) -> MapDrawing:
    """These chains with their texts wrapped so that the drawing is largest.

    Args:
        room: further distance between two boxes or labels of a column.
    """
    through: dict[str, list[int]] = {}
    links: dict[str, tuple[Link, str]] = {}
    for number, row in shown:
        for link in row.links:
            links.setdefault(link.id, (link, "fact"))
            through.setdefault(link.id, []).append(number)
    for link, role in edited:
        links.setdefault(link.id, (link, role))
    best: MapDrawing | None = None
    for wrap in WRAPS:
        drawing = _placed(links, roles, subject, target_true, through, lasting, wrap, room)
        if best is None or _scale(drawing) > _scale(best):
            best = drawing
        if _scale(best) >= 1:
            break
    assert best is not None
    return best


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
    room: float,
) -> MapDrawing:
    """The drawing with texts wrapped like this, its boxes and its lines, without its chains."""
    names = dict.fromkeys(n for link, _ in links.values() for n in (link.subject, link.object))
    texts = {name: entity_text(name, roles.get(name, "entity"), wrap) for name in names}
    labels = {id: label_text(link, wrap) for id, (link, _) in links.items()}
    edges = [
        Edge(id, link.subject, link.object, _label_height(labels[id]) + room)
        for id, (link, _) in links.items()
    ]
    high = _heights(edges, columns(edges, subject, target_true), texts)
    laid = lay_out(
        edges, subject, target_true, {n: h + BESIDE + room for n, h in high.items()}, THIN
    )
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
    """The text on a fact's line: the relation, and its probability where the edit changed it."""
    relation = link.relation.replace("_", " ").replace("-", " ")
    before, after = short(link.pre), short(link.post)
    numbers = (f"{before} → {after}",) if before != after else ()
    asked = max([wrap.label, *(text_width(each, LABEL) - MARK for each in numbers)])
    width = fitting(relation, LABEL, asked, WRAPS[0].label)
    return (*wrapped(relation, width, LABEL, wrap.lines - 1), *numbers)


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
    return max([first + MARK, *others]) + BESIDES


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


# A leakage map as SVG: for the web UI, whose style sheet colours it.
#
# Every part names its content: `data-fact`, `data-entity`, `data-chains`.

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


CUT_MARK = '<tspan class="scissors">✂</tspan> '
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
    text = _lines_of(line.text, x + w / 2, y, "p", CUT_MARK * following)
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
