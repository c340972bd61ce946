"""A matrix of rewrites by methods: IFR of every edit, and the queued, failed or missing cells."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from .....cypher import rows
from ....reports.comparison import Comparison
from ....reports.paired import COUNTED
from ....reports.pooling import pooled, terms
from ....schemas import Score

ROWS = 25
"""Rewrites on one page of the matrix."""
BANDS = (0.05, 0.2, 0.4, 0.6, 0.8)
"""Upper bounds of the classes of IFR by which a cell is coloured; the last class is above them."""

Order = Literal["name", "ifr", "spread"]
"""Rewrites by subject, by the IFR they leak on average, or by how far methods differ."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One edit of the matrix, scored or not; fields as those of the edit."""

    edit: str
    dataset: str
    rewrite: str
    fact: str
    target_true: str
    target_new: str
    model: str
    method: str
    status: str
    error: str | None = None
    score: Score | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """The edits of one rewrite by one method; several where there are several seeds.

    Attributes:
        edit: the one that the cell links to.
        n: number of scored edits that `ifr` and `efficacy` are means of.
        took: True if the efficacy is above one half.
        best: True if it is the lowest IFR of its row among those that took.
    """

    edit: str
    status: str
    error: str | None
    ifr: float | None
    efficacy: float | None
    n: int
    best: bool = False

    @property
    def took(self) -> bool:
        """True if the efficacy is above one half."""
        return self.efficacy is not None and self.efficacy > COUNTED

    @property
    def band(self) -> str:
        """Class of its colour: h0 to h5, or empty without an IFR and for an edit without effect."""
        return band(self.ifr) if self.took else ""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One rewrite, its cells in the order of the columns; None without an edit."""

    entry: Entry
    cells: tuple[Cell | None, ...]

    @property
    def known(self) -> list[Cell]:
        """The cells that took and have an IFR."""
        return [cell for cell in self.cells if cell and cell.took and cell.ifr is not None]

    @property
    def mean(self) -> float | None:
        """Mean IFR of the methods that took."""
        return fmean(cell.ifr or 0.0 for cell in self.known) if self.known else None

    @property
    def spread(self) -> float:
        """Largest minus lowest IFR of the methods that took."""
        values = [cell.ifr or 0.0 for cell in self.known]
        return max(values) - min(values) if values else 0.0


Columns = tuple[tuple[str, str], ...]
"""(model, method) of each column."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """One page of the matrix.

    Attributes:
        columns: (model, method) of each column.
        several: True if there are several models, which then head the columns.
        foot: IFR of each column pooled over the rewrites common to all; None without any.
        total: rewrites on all pages.
    """

    columns: Columns
    several: bool
    rows: tuple[MatrixRow, ...]
    foot: tuple[float | None, ...]
    page: int
    total: int

    @property
    def pages(self) -> int:
        """Number of pages, at least 1."""
        return max(1, -(-self.total // ROWS))


def band(ifr: float | None) -> str:
    """The class of the colour of an IFR, h0 to h5; empty for None."""
    return "" if ifr is None else f"h{sum(ifr > bound for bound in BANDS)}"


def of_scores(scores: Iterable[Score]) -> list[Entry]:
    """Entries of stored scores."""
    return [
        Entry(
            score.edit, score.dataset, score.rewrite, score.prompt.replace("{}", score.subject),
            score.target_true, score.target_new, score.model, score.method, "succeeded",
            score=score,
        )
        for score in scores
    ]  # fmt: skip


def of_rows(found: Iterable[rows.PageEditRow], scores: Mapping[str, Score]) -> list[Entry]:
    """Entries of edits as they are listed, with the scores of those that have one."""
    return [
        Entry(
            row.id, row.dataset, row.rewrite, row.prompt.replace("{}", row.subject),
            row.target_true, row.target_new, row.model, row.method, row.status,
            row.error, scores.get(row.id),
        )
        for row in found
    ]  # fmt: skip


def table(
    entries: Sequence[Entry], measure: str, *, by_model: bool = True
) -> tuple[Columns, list[MatrixRow]]:
    """The columns, and every row in the order in which its rewrite first comes."""
    grouped: dict[tuple[str, str], dict[tuple[str, str], list[Entry]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for entry in entries:
        column = (entry.model if by_model else "", entry.method)
        grouped[entry.dataset, entry.rewrite][column].append(entry)
    columns = tuple(sorted({column for row in grouped.values() for column in row}))
    return columns, [_row(cells, columns, measure) for cells in grouped.values()]


def build(
    entries: Sequence[Entry],
    measure: str,
    compared: Comparison | None = None,
    *,
    order: Order = "name",
    page: int = 1,
    by_model: bool = True,
) -> Matrix:
    """One page of the matrix of these edits.

    Args:
        compared: the scores that the last line pools; without, it is empty.
        by_model: False where the edits are of one model, whose name a worker may still complete.
    """
    columns, found = table(entries, measure, by_model=by_model)
    found.sort(key=_order(order))
    page = min(max(page, 1), max(1, -(-len(found) // ROWS)))
    return Matrix(
        columns=columns,
        several=len({model for model, _ in columns}) > 1,
        rows=tuple(found[(page - 1) * ROWS : page * ROWS]),
        foot=_foot(columns, compared, measure, by_model),
        page=page,
        total=len(found),
    )


def _order(order: Order) -> Callable[[MatrixRow], tuple[Any, ...]]:
    if order == "ifr":
        return lambda row: (-(row.mean if row.mean is not None else -1.0), row.entry.fact)
    if order == "spread":
        return lambda row: (-row.spread, row.entry.fact)
    return lambda row: (row.entry.fact, row.entry.rewrite)


def _row(
    by_column: Mapping[tuple[str, str], Sequence[Entry]],
    columns: Sequence[tuple[str, str]],
    measure: str,
) -> MatrixRow:
    cells = [_cell(by_column[c], measure) if c in by_column else None for c in columns]
    took = [cell.ifr for cell in cells if cell and cell.took and cell.ifr is not None]
    lowest = min(took) if len(took) > 1 else None
    marked = tuple(_marked(cell, lowest) for cell in cells)
    return MatrixRow(next(iter(by_column.values()))[0], marked)


def _marked(cell: Cell | None, lowest: float | None) -> Cell | None:
    if cell is None or lowest is None or not cell.took or cell.ifr != lowest:
        return cell
    return Cell(cell.edit, cell.status, cell.error, cell.ifr, cell.efficacy, cell.n, best=True)


def _cell(entries: Sequence[Entry], measure: str) -> Cell:
    """One cell; an unfinished or failed edit is shown only where none is scored."""
    scored = [e for e in entries if e.score is not None and measure in e.score.measures]
    if not scored:
        entry = entries[-1]
        return Cell(entry.edit, entry.status, entry.error, None, None, 0)
    return Cell(
        scored[-1].edit,
        "succeeded",
        None,
        _mean(scored, "ifr", measure),
        _mean(scored, "efficacy", measure),
        len(scored),
    )


def _mean(entries: Sequence[Entry], metric: str, measure: str) -> float | None:
    values = [
        value
        for entry in entries
        if entry.score and (value := entry.score.number(metric, measure)) is not None
    ]
    return fmean(values) if values else None


def _foot(
    columns: Sequence[tuple[str, str]],
    compared: Comparison | None,
    measure: str,
    by_model: bool,
) -> tuple[float | None, ...]:
    """Pooled IFR (Definition 3 over the chains of all rewrites) of each column."""
    of: dict[tuple[str, str], list[Score]] = defaultdict(list)
    for score in compared.scores if compared and compared.comparable else ():
        if measure in score.measures:
            of[score.model if by_model else "", score.method].append(score)
    found = [
        pooled(terms(of[column], measure))[1] if of.get(column) else None for column in columns
    ]
    return tuple(None if value is None or math.isnan(value) else value for value in found)
