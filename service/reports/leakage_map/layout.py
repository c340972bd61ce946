"""Places of the entities and labels of a leakage map: layers by distance from the subject.

Sugiyama's walk in small: entities in columns by distance, a column of labels between two of them,
and every link led through one slot of each column it crosses. A slot belongs to one entity or one
link alone, so nothing overlaps; order in a column follows the neighbours' mean (barycentre), and
the same links always give the same picture.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

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
