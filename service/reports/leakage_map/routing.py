"""Orthogonal lines of a leakage map: level through columns, upright in tracks between them.

The layout gives each fact one slot of its own in each column that it crosses, so that level parts
never meet a box or another fact's label. Between two columns each fact changes its height in one
track. Tracks are ordered for few crossings (of two facts, the order with fewer), and facts share a
track where their upright parts do not touch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from .layout import Layout

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
    crossings = _crossings(held)
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


def _crossings(held: Sequence[Wire]) -> np.ndarray:
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
