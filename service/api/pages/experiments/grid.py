"""Chains by edits: how much of each chain's reliability every one of several edits leaves.

A chain is its sequence of entities, as in the diff of two edits; each edit counts its chains by its
own options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ....reports.paired import COUNTED
from ....scoring.metrics import chain_rows
from .matrix import band

if TYPE_CHECKING:
    from .....cypher.rows import ScoredChainRow
    from .....cypher.run import Database
    from ....schemas import Measure, Score

SHOWN = 15
"""Chains on one page."""

Which = Literal["all", "differ", "survive", "cut"]
"""All chains, those that only some edits cut, those that all leave, those that all cut."""


@dataclass(frozen=True, slots=True)
class GridCell:
    """One chain after one edit; `ratio` is R'/R, None where R is 0."""

    ratio: float | None
    surviving: bool

    @property
    def band(self) -> str:
        """Class of its colour."""
        return band(self.ratio)


@dataclass(frozen=True, slots=True)
class GridRow:
    """One chain; a cell is None where that edit does not count the chain.

    Attributes:
        compared: places of the edits by which the chain's kind and spread are taken.
    """

    entities: tuple[str, ...]
    steps: int
    cells: tuple[GridCell | None, ...]
    compared: tuple[int, ...]

    @property
    def _compared(self) -> list[GridCell]:
        return [cell for place in self.compared if (cell := self.cells[place])]

    @property
    def kind(self) -> Which:
        """Outcome of the compared edits that count it: all cut it, all leave it, or they differ."""
        surviving = [cell.surviving for cell in self._compared]
        return "survive" if all(surviving) else "differ" if any(surviving) else "cut"

    @property
    def spread(self) -> float:
        """Largest minus lowest retention."""
        found = [cell.ratio for cell in self._compared if cell.ratio is not None]
        return max(found) - min(found) if found else 0.0


@dataclass(frozen=True, slots=True)
class Grid:
    """One page of the chains, those first on which the edits differ most.

    Attributes:
        counts: number of chains by kind, and of `all`.
        total: chains of the chosen kind.
    """

    rows: tuple[GridRow, ...]
    counts: Mapping[str, int]
    which: Which
    page: int
    total: int

    @property
    def pages(self) -> int:
        """Number of pages, at least 1."""
        return max(1, -(-self.total // SHOWN))


def read(db: Database, scores: Sequence[Score], measure: Measure) -> list[GridRow]:
    """Every chain of these edits, of one subject and old object, in the order of the scores.

    Chains differ by the edits that took (efficacy above .5), if two did: one that installs nothing
    leaves every chain.
    """
    took = [i for i, s in enumerate(scores) if (s.number("efficacy", measure) or 0.0) > COUNTED]
    compared = tuple(took) if len(took) > 1 else tuple(range(len(scores)))
    of = [{row.entities: row for row in chain_rows(db, score, measure)} for score in scores]
    chains = {entities: row for each in of for entities, row in each.items()}
    found = [
        GridRow(entities, row.steps, tuple(_cell(each.get(entities)) for each in of), compared)
        for entities, row in chains.items()
    ]
    kinds = ("differ", "survive", "cut")
    found.sort(key=lambda row: (kinds.index(row.kind), -row.spread, row.steps, row.entities))
    return found


def _cell(row: ScoredChainRow | None) -> GridCell | None:
    return None if row is None else GridCell(row.ratio, row.surviving)


def shown(found: Sequence[GridRow], which: Which, page: int) -> Grid:
    """One page of the chains of a kind."""
    counts = {"all": len(found)} | {
        kind: sum(row.kind == kind for row in found) for kind in ("differ", "survive", "cut")
    }
    rows = [row for row in found if which in ("all", row.kind)]
    page = min(max(page, 1), max(1, -(-len(rows) // SHOWN)))
    return Grid(tuple(rows[(page - 1) * SHOWN : page * SHOWN]), counts, which, page, len(rows))
