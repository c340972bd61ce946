"""Drawing of the nodes and relationships in an answer: columns by distance, captions between.

The subject of an edit is on the left and its old object on the right; elsewhere nodes that nothing
leads to come first. Captions take the place on their line where they cover least.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .....cypher.console import Answer, AnswerEdge, AnswerNode

MOST_NODES, MOST_EDGES = 60, 120
"""Nodes and relationships that are drawn; further ones are counted."""
WIDTH, HEIGHT = 156, 34
"""Size of a box, in pixels."""
COLUMN, ROW, MARGIN = 320, 78, 24
LETTERS = 21
"""Letters of a name that a box holds."""
LETTER = 6.2
"""Width of a letter of a caption, in pixels."""
SWEEPS = 8
PLACES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.22, 0.78)
"""Places of a caption on its line, as fractions of its length, best first."""
NAMES = ("name", "id", "text", "subject", "method", "key")
"""Properties that name a node, the best first."""
CLASSES = {"Subject": "subject", "TargetTrue": "object", "TargetNew": "new"}

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Spot:
    """A node with the left upper corner of its box."""

    x: float
    y: float
    name: str
    title: str
    css: str


@dataclass(frozen=True, slots=True)
class Line:
    """A relationship with its path, and its caption with the middle of its text."""

    path: str
    x: float
    y: float
    caption: str
    title: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """What the template draws; `left_out` nodes and relationships are in the table only."""

    width: int
    height: int
    nodes: list[Spot]
    lines: list[Line]
    left_out: int


def draw(answer: Answer) -> Drawing | None:
    """Lay an answer out; None if it has no node."""
    nodes = dict(list(answer.nodes.items())[:MOST_NODES])
    edges = [e for e in answer.edges.values() if e.source in nodes and e.target in nodes]
    edges = edges[:MOST_EDGES]
    if not nodes:
        return None
    columns = _columns(nodes, edges)
    corners = _places(_ordered(columns, edges))
    spots = [
        Spot(*corners[id], _cut(name_of(node), LETTERS), _title(node), _css(node))
        for id, node in nodes.items()
    ]
    taken = [(x, y, x + WIDTH, y + HEIGHT) for x, y in corners.values()]
    lines = list(_lines(edges, corners, taken))
    right = max(box[2] for box in taken)
    bottom = max(box[3] for box in taken)
    return Drawing(
        width=round(right + MARGIN),
        height=round(bottom + MARGIN),
        nodes=spots,
        lines=lines,
        left_out=len(answer.nodes) - len(nodes) + len(answer.edges) - len(edges),
    )


def name_of(node: AnswerNode) -> str:
    """What a node is called: one of its usual properties, else its first label."""
    for key in NAMES:
        if isinstance(node.properties.get(key), str):
            return node.properties[key]
    return node.labels[0] if node.labels else "node"


def caption_of(edge: AnswerEdge) -> str:
    """What a relationship is called: its relation with both probabilities, else its type."""
    relation = edge.properties.get("relation")
    caption = edge.properties.get("caption")
    if isinstance(caption, str) and isinstance(relation, str):
        words = relation.replace("-", " ").replace("_", " ")
        return f"{words} {caption.removeprefix(relation).strip()}".strip()
    return str(caption or relation or edge.type)


def _columns(nodes: Mapping[str, AnswerNode], edges: Sequence[AnswerEdge]) -> dict[str, int]:
    """The distance of each node from the first ones; an old object is behind all others."""
    after: dict[str, list[str]] = {id: [] for id in nodes}
    reached = {edge.target for edge in edges if edge.source != edge.target}
    for edge in edges:
        after[edge.source].append(edge.target)
    last = {id for id, node in nodes.items() if "TargetTrue" in node.labels}
    starts = [id for id, node in nodes.items() if "Subject" in node.labels]
    starts += [id for id in nodes if id not in reached and id not in starts and id not in last]
    columns: dict[str, int] = {}
    for start in [*starts, *nodes]:
        level, depth = [start], 0
        while level:
            level = list(dict.fromkeys(id for id in level if id not in columns and id not in last))
            columns.update(dict.fromkeys(level, depth))
            level = [target for id in level for target in after[id]]
            depth += 1
    behind = max(columns.values(), default=-1) + 1
    return columns | dict.fromkeys((id for id in nodes if id in last), behind)


def _ordered(columns: Mapping[str, int], edges: Iterable[AnswerEdge]) -> list[list[str]]:
    """Each column from top to bottom, near to what its nodes are joined with."""
    layers: list[list[str]] = [[] for _ in range(max(columns.values()) + 1)]
    for id, column in columns.items():
        layers[column].append(id)
    near: dict[str, list[str]] = {id: [] for id in columns}
    for edge in edges:
        near[edge.source].append(edge.target)
        near[edge.target].append(edge.source)
    at: dict[str, float] = {}
    for layer in layers:
        at.update({id: (i + 0.5) / len(layer) for i, id in enumerate(layer)})
    for turn in range(SWEEPS):
        for layer in layers if turn % 2 == 0 else reversed(layers):
            wish = {
                id: sum(at[other] for other in near[id]) / len(near[id]) if near[id] else at[id]
                for id in layer
            }
            layer.sort(key=wish.__getitem__)
            at.update({id: (i + 0.5) / len(layer) for i, id in enumerate(layer)})
    return layers


def _places(layers: Sequence[Sequence[str]]) -> dict[str, tuple[float, float]]:
    """Corners of the boxes; a shorter column is in the middle, and beside the lines of others.

    Every second column is moved by half a row, so that a line past it does not pass its boxes.
    """
    most = max(map(len, layers))
    corners = {}
    for column, layer in enumerate(layers):
        moved = ROW / 2 if column % 2 and len(layers) > 2 and len(layer) % 2 == most % 2 else 0
        top = MARGIN + (most - len(layer)) * ROW / 2 + moved
        for row, id in enumerate(layer):
            corners[id] = (float(MARGIN + column * COLUMN), float(top + row * ROW))
    return corners


def _lines(
    edges: Iterable[AnswerEdge], corners: Mapping[str, tuple[float, float]], taken: list[Box]
) -> Iterable[Line]:
    parallel: dict[tuple[str, str], int] = {}
    for edge in edges:
        ends = (min(edge.source, edge.target), max(edge.source, edge.target))
        nth = parallel[ends] = parallel.get(ends, -1) + 1
        points = _curve(corners[edge.source], corners[edge.target], nth)
        caption = _cut(caption_of(edge), 34)
        x, y = _free(points, len(caption) * LETTER, taken)
        path = "M{:.0f} {:.0f} C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}".format(
            *(part for point in points for part in point)
        )
        yield Line(path, round(x), round(y), caption, _edge_title(edge))


def _curve(
    start: tuple[float, float], end: tuple[float, float], nth: int
) -> list[tuple[float, float]]:
    """The four points of a curve between two boxes; the n-th of a pair is bent further."""
    bend = nth * 26.0
    (x0, y0), (x1, y1) = (start[0], start[1] + HEIGHT / 2), (end[0], end[1] + HEIGHT / 2)
    if start == end:
        return [
            (x0 + 40, y0 - HEIGHT / 2), (x0 + 20, y0 - 50 - bend),
            (x0 + WIDTH - 20, y0 - 50 - bend), (x0 + WIDTH - 40, y0 - HEIGHT / 2),
        ]  # fmt: skip
    if x0 == x1:  # in one column: an arc on the right
        out = x0 + WIDTH + 50 + bend
        return [(x0 + WIDTH, y0), (out, y0), (out, y1), (x1 + WIDTH, y1)]
    if x1 > x0:
        x0 += WIDTH
    else:
        x1 += WIDTH
    middle = (x0 + x1) / 2
    return [(x0, y0), (middle, y0 + bend), (middle, y1 + bend), (x1, y1)]


def _at(points: Sequence[tuple[float, float]], t: float) -> tuple[float, float]:
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    x = sum(w * p[0] for w, p in zip(weights, points, strict=True))
    return x, sum(w * p[1] for w, p in zip(weights, points, strict=True))


def _free(
    points: Sequence[tuple[float, float]], width: float, taken: list[Box]
) -> tuple[float, float]:
    """The place of a caption that covers least of what is there; it is taken from now on."""
    best: tuple[float, Box, tuple[float, float]] | None = None
    for place in PLACES:
        x, y = _at(points, place)
        box = (x - width / 2, y - 8, x + width / 2, y + 8)
        covered = sum(_overlap(box, other) for other in taken)
        if best is None or covered < best[0]:
            best = (covered, box, (x, y))
        if not covered:
            break
    assert best is not None
    taken.append(best[1])
    return best[2]


def _overlap(a: Box, b: Box) -> float:
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    return max(0.0, wide) * max(0.0, high)


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def _css(node: AnswerNode) -> str:
    return next((css for label, css in CLASSES.items() if label in node.labels), "")


def _title(node: AnswerNode) -> str:
    return "\n".join([f"{name_of(node)} ({', '.join(node.labels)})", *_listed(node.properties)])


def _edge_title(edge: AnswerEdge) -> str:
    return "\n".join([f"{edge.type}: {caption_of(edge)}", *_listed(edge.properties)])


def _listed(properties: Mapping[str, Any]) -> list[str]:
    return [f"{key}: {_cut(str(value), 80)}" for key, value in list(properties.items())[:12]]
