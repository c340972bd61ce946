"""Values of the pages of sweeps: rewrites by methods, chains by edits, forms and lists."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from ....cypher import rows
from ....editing import registry
from ...base.errors import NothingStoredError
from ...base.paging import Page, page_of
from ...experiments import sweep as edit_sweeps
from ...graphs import datasets
from ...models.edit import MEASURE_NAMES, Measure, Score, SharedOptions
from ...models.experiment import SweepIn, SweepOut
from ...reports.comparison import Comparison, compare, unrelated
from ...reports.paired import paired
from ...reports.pooling import pooled, terms
from ...reports.verdict import BestMethod, best_method, took
from ...scoring import record
from ...scoring.metrics import chain_rows
from ...scoring.request import posted
from . import charts
from .home import last_used

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ...base.cache import Cache


ROWS = 25
"""Rewrites on one page of the matrix."""
BANDS = (0.05, 0.2, 0.4, 0.6, 0.8)
"""Upper bounds of the classes of IFR by which a cell is coloured; the last class is above them."""

Order = Literal["name", "ifr", "spread"]
"""Rewrites by subject, by the IFR they leak on average, or by how far methods differ."""


Entry = Score | rows.PageEditRow
"""An edit of the matrix: its score, or its place in the queue where it has none."""
Key = tuple[str, str]
"""A column of the matrix: (model, method)."""


def band(ifr: float | None) -> str:
    """Return the class of the colour of an IFR, h0 to h5; empty for None."""
    return "" if ifr is None else f"h{sum(ifr > bound for bound in BANDS)}"


@dataclass(frozen=True, slots=True)
class Cell:
    """The edits of one rewrite by one method; several where there are several seeds.

    Attributes:
        edit: the one that the cell links to.
        n: number of scored edits that `ifr` and `efficacy` are means of.
        took: True if all scored edits took.
    """

    edit: str
    status: str = "succeeded"
    error: str | None = None
    ifr: float | None = None
    efficacy: float | None = None
    n: int = 0
    took: bool = False

    @property
    def band(self) -> str:
        """Class of its colour: h0 to h5, or empty without an IFR and for an edit without effect."""
        return band(self.ifr) if self.took else ""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One rewrite and its cells by column; a column without an edit of it has none.

    Attributes:
        entry: any of its edits.
        best: the edit to look at; None where none is scored.
    """

    entry: Entry
    cells: Mapping[Key, Cell]
    best: BestMethod | None

    @property
    def fact(self) -> str:
        """Return the edited fact as a sentence without its object."""
        return self.entry.prompt.replace("{}", self.entry.subject)

    @property
    def leaks(self) -> list[float]:
        """Return the IFR of each method that took."""
        return [c.ifr for c in self.cells.values() if c.took and c.ifr is not None]

    @property
    def mean(self) -> float | None:
        """Return the mean IFR of the methods that took."""
        return fmean(self.leaks) if self.leaks else None

    @property
    def spread(self) -> float:
        """Return the largest minus the lowest IFR of the methods that took."""
        return max(self.leaks) - min(self.leaks) if self.leaks else 0.0


@dataclass(frozen=True, slots=True)
class Matrix:
    """One page of the matrix.

    Attributes:
        several: True if there are several models, which then head the columns.
        foot: IFR by column, pooled over the rewrites common to all; undefined ones are left out.
    """

    columns: tuple[Key, ...]
    several: bool
    rows: Page[MatrixRow]
    foot: Mapping[Key, float]


def table(entries: Sequence[Entry], measure: Measure, *, by_model: bool = True) -> list[MatrixRow]:
    """Every row, in the order in which its rewrite first comes."""
    grouped: dict[tuple[str, str], dict[Key, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        column = (entry.model if by_model else "", entry.method)
        grouped[entry.dataset, entry.rewrite][column].append(entry)
    return [_row(by_column, measure) for by_column in grouped.values()]


def build(
    entries: Sequence[Entry],
    measure: Measure,
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
    found = table(entries, measure, by_model=by_model)
    found.sort(key=ORDERS[order])
    columns = tuple(sorted({column for row in found for column in row.cells}))
    several = len({model for model, _ in columns}) > 1
    foot = _foot(compared, measure, by_model)
    return Matrix(columns, several, page_of(found, page, ROWS), foot)


ORDERS: Mapping[Order, Callable[[MatrixRow], tuple[Any, ...]]] = {
    "name": lambda row: (row.fact, row.entry.rewrite),
    "ifr": lambda row: (1.0 if row.mean is None else -row.mean, row.fact),
    "spread": lambda row: (-row.spread, row.fact),
}


def _row(by_column: Mapping[Key, Sequence[Entry]], measure: Measure) -> MatrixRow:
    of = {column: _scored(entries, measure) for column, entries in by_column.items()}
    newest = [scores[-1] for scores in of.values() if scores]
    return MatrixRow(
        next(iter(by_column.values()))[0],
        {column: _cell(entries, of[column], measure) for column, entries in by_column.items()},
        best_method(newest, measure) if newest else None,
    )


def _scored(entries: Sequence[Entry], measure: Measure) -> list[Score]:
    return [each for each in entries if isinstance(each, Score) and measure in each.measures]


def _cell(entries: Sequence[Entry], scores: Sequence[Score], measure: Measure) -> Cell:
    """Return a cell; an unfinished or failed edit is shown only where none is scored."""
    last = scores[-1] if scores else entries[-1]
    if not isinstance(last, Score):
        return Cell(last.id, last.status, last.error)
    if not scores:
        return Cell(last.edit)
    return Cell(
        last.edit,
        ifr=_mean(scores, "ifr", measure),
        efficacy=_mean(scores, "efficacy", measure),
        n=len(scores),
        took=all(took(score, measure) for score in scores),
    )


def _mean(scores: Sequence[Score], metric: str, measure: Measure) -> float | None:
    values = [value for score in scores if (value := score.number(metric, measure)) is not None]
    return fmean(values) if values else None


def _foot(compared: Comparison | None, measure: str, by_model: bool) -> dict[Key, float]:
    """Pooled IFR (Definition 3 over the chains of all rewrites) by column."""
    of: dict[Key, list[Score]] = defaultdict(list)
    for score in compared.scores if compared and compared.comparable else ():
        if measure in score.measures:
            of[score.model if by_model else "", score.method].append(score)
    found = {column: pooled(terms(scores, measure))[1] for column, scores in of.items()}
    return {column: value for column, value in found.items() if not math.isnan(value)}


# Chains by edits: how much of each chain's reliability every one of several edits leaves.
#
# A chain is its sequence of entities; each edit counts its chains by its own options.

CHAINS_ON_PAGE = 15
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
    """One chain and its cells by edit; an edit that does not count the chain has none.

    Attributes:
        compared: the edits by which the chain's kind and spread are taken.
    """

    entities: tuple[str, ...]
    steps: int
    cells: Mapping[str, GridCell]
    compared: frozenset[str]

    @property
    def _compared(self) -> list[GridCell]:
        return [cell for edit, cell in self.cells.items() if edit in self.compared]

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
    """One page of the chains of a kind, those first on which the edits differ most.

    Attributes:
        counts: number of chains by kind, and of `all`.
    """

    rows: Page[GridRow]
    counts: Mapping[str, int]
    which: Which


def read(db: Database, scores: Sequence[Score], measure: Measure) -> list[GridRow]:
    """Every chain of these edits, which are of one subject and old object.

    Chains differ by the edits that took, if two did: one that installs nothing leaves every chain.
    """
    taken = {score.edit for score in scores if took(score, measure)}
    compared = frozenset(taken if len(taken) > 1 else {score.edit for score in scores})
    chains: dict[tuple[str, ...], dict[str, GridCell]] = defaultdict(dict)
    for score in scores:
        for row in chain_rows(db, score, measure):
            chains[row.entities][score.edit] = GridCell(row.ratio, row.surviving)
    found = [
        GridRow(entities, len(entities) - 1, cells, compared) for entities, cells in chains.items()
    ]
    kinds = ("differ", "survive", "cut")
    found.sort(key=lambda row: (kinds.index(row.kind), -row.spread, row.steps, row.entities))
    return found


def shown(found: Sequence[GridRow], which: Which, page: int) -> Grid:
    """Return one page of the chains of a kind."""
    counts = Counter[str](row.kind for row in found)
    counts["all"] = len(found)
    rows = [row for row in found if which in ("all", row.kind)]
    return Grid(page_of(rows, page, CHAINS_ON_PAGE), counts, which)


# Values of the pages of experiments: the form and list of sweeps, a sweep, a data set's matrix.

SWEEPS_ON_PAGE = 12
"""Sweeps on one page of their list."""
FAILURES = 10
"""Failed cells shown before the others, which are folded."""
CHOSEN = ("none", "rome", "memit", "alphaedit")
"""Methods ticked in an empty form."""


@dataclass(frozen=True, slots=True)
class View:
    """The parameters in the address of a matrix."""

    measure: Measure = "likelihood"
    order: Order = "name"
    page: int = 1


def progress(sweep: SweepOut) -> dict[str, Any]:
    """Return the progress of a sweep: numbers of all, ended and scored cells, open or not."""
    counts = sweep.counts
    total = sum(counts.values())
    open_ = counts["queued"] + counts["running"]
    return {"total": total, "ended": total - open_, "live": open_ > 0, "counts": counts}


def list_values(db: Database, graph: str, page: int) -> dict[str, Any]:
    """The form, one page of the sweeps, and the data sets whose matrix can be opened."""
    sets = [row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", kind="dataset")]
    used = last_used(db)
    graph = used.graph_of(sets, graph)
    if graph:
        datasets.require_graph(db, graph)
    shown = page_of(db.read(rows.SweepRow, "jobs/sweeps"), page, SWEEPS_ON_PAGE)
    sweeps = [edit_sweeps.counted(db, row) for row in shown.items]
    return {
        "sets": sets,
        "graph": graph,
        "rewrites": datasets.list_rewrites(db, graph) if graph else [],
        "methods": [registry.info(name) for name in registry.names()],
        "ticked": CHOSEN,
        "model": used.model,
        "sweeps": [(sweep, progress(sweep)) for sweep in sweeps],
        "shown": shown,
    }


def sweep_values(db: Database, boards: Cache[dict[str, Any]], name: str, view: View) -> dict:
    """One sweep: progress, failed cells, matrix, paired differences.

    Raises:
        NotFoundError: no such sweep.
    """
    sweep = edit_sweeps.read(db, name)
    done = progress(sweep)
    entries = _entries(db, boards, name, sweep)
    scores = [entry for entry in entries if isinstance(entry, Score)]
    compared = _compared(db, boards, ("sweep", name, view.measure), scores, view.measure)
    request = sweep.request
    one = len(request["models"]) == 1 and len(request["seeds"]) == 1
    return {
        "sweep": sweep,
        "asked": request,
        "again": json.dumps(request),
        "done": done,
        "failed": sweep.failed,
        "first": FAILURES,
        **_shown(entries, scores, compared, view, by_model=not one),
    }


def graph_values(
    db: Database, boards: Cache[dict[str, Any]], graph: str, model: str, view: View
) -> dict[str, Any]:
    """The newest edit of each rewrite by each method of a data set, whatever started it.

    Raises:
        NotFoundError: no such data set.
    """
    datasets.require_graph(db, graph)
    every, notes = stored_scores(db, boards, graph)
    models = sorted({score.model for score in every})
    model = model if model in models else (models[0] if len(models) == 1 else model)
    scores = [score for score in every if not model or score.model == model]
    compared = _compared(db, boards, ("matrix", graph, model, view.measure), scores, view.measure)
    compared = replace(compared, warnings=(*notes, *compared.warnings))
    return {
        "graph": graph,
        "model": model,
        "models": models,
        **_shown(scores, scores, compared, view, by_model=True),
    }


def further_sweep(
    db: Database, boards: Cache[dict[str, Any]], like: str, methods: Sequence[str], n: int
) -> SweepIn:
    """Return the request of a sweep on further facts, with the options of an edit.

    Args:
        like: id of the edit.
        n: number of facts that are unrelated to those scored by one of the methods.

    Raises:
        NotFoundError, NothingStoredError: there is no such edit, or it is not scored.
        UsageError: the graph has no such fact.
    """
    score = record.get_score(db, like)
    scored = {
        each.rewrite
        for each in stored_scores(db, boards, score.dataset)[0]
        if each.model == score.model and each.method in methods
    }
    asked = posted(score)
    shared = {name: asked[name] for name in SharedOptions.model_fields if name in asked}
    return SweepIn(
        **shared,
        rewrites=unrelated(db, score.dataset, scored, n),
        models=[asked["model"]],
        methods=list(methods),
        seeds=[asked.get("seed", 0)],
    )


def stored_scores(
    db: Database, boards: Cache[dict[str, Any]], graph: str
) -> tuple[list[Score], list[str]]:
    """The newest scores of a data set by model, method and rewrite, and notes on their choice.

    They are cached until a score or the data set changes.
    """
    state = db.read(rows.ScoredStateRow, "edits/scored_state", dataset=graph)[0]

    def read() -> dict[str, Any]:
        notes: list[str] = []
        try:
            return {"scores": record.scores(db, [], graph=graph, notes=notes), "notes": notes}
        except NothingStoredError:
            return {"scores": [], "notes": notes}

    found = boards.get(("scores", graph, state), read)
    return found["scores"], found["notes"]


def _compared(
    db: Database,
    boards: Cache[dict[str, Any]],
    of: tuple[str, ...],
    scores: Sequence[Score],
    measure: Measure,
) -> Comparison:
    """The comparison of these scores; it reads chains, so it is cached by the scored edits."""
    held = [score for score in scores if measure in score.measures]
    edits = tuple((score.edit, score.provenance.get("created_at")) for score in held)
    return boards.get((*of, hash(edits)), lambda: {"found": compare(db, held, measure)})["found"]


def _shown(
    entries: Sequence[Entry],
    scores: Sequence[Score],
    compared: Comparison,
    view: View,
    *,
    by_model: bool,
) -> dict[str, Any]:
    """Values that a sweep's page and a data set's matrix share."""
    return {
        "view": view,
        "matrix": build(
            entries, view.measure, compared, order=view.order, page=view.page, by_model=by_model
        ),
        "bands": BANDS,
        "warnings": compared.warnings,
        "paired": charts.tables(paired(compared, view.measure)),
        "measures": [m for m in MEASURE_NAMES if any(m in score.measures for score in scores)],
        "names": MEASURE_NAMES,
    }


def _entries(
    db: Database, boards: Cache[dict[str, Any]], name: str, sweep: SweepOut
) -> list[Entry]:
    """Every edit of a sweep with its score; scores are read again when their number changes."""
    found = edit_sweeps.edits(db, sweep, scores=False)
    scored = sorted(row.id for row in found if row.status == "succeeded")
    ended = max((row.finished_at or "" for row in found), default="")

    def read() -> dict[str, Any]:
        return {score.edit: score for score in edit_sweeps.scores(db, sweep)}

    scores = boards.get(("scores of", name, len(scored), ended), read)
    return [scores.get(row.id, row) for row in found]
