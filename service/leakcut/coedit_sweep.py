"""Co-edits of many rewrites beside random controls: how many further facts until little leaks.

Each rewrite is co-edited by the chosen facts and, as a control, by as many random facts of its
chains under the same constraints, several times. A run that ended (nothing leaks, or no further
fact may be edited) keeps its last round for larger numbers of facts, so that each row is over the
same rewrites.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel

from ..base.errors import UsageError, in_one_line
from ..models.leakcut import CoEditIn, CoEditOut, RoundOut
from ..scoring.resolved import require_hparams

if TYPE_CHECKING:
    from ...loaders.records import RewriteRequest
    from ..scoring.runtime import Runtime


ROUNDING = 1e-12
"""Values of IFR that differ by less are equal: a mean of equal values may round differently."""


class CoEditCell(BaseModel):
    """A rewrite by a method: its co-edit, and the random controls.

    Attributes:
        error: why there is none.
    """

    method: str
    rewrite: str
    chosen: CoEditOut | None = None
    controls: list[CoEditOut] = []
    error: str | None = None


class FrontierRow(BaseModel):
    """Medians over rewrites after editing `m` further facts.

    Attributes:
        n: rewrites.
        ratio: IFR relative to that of the edit alone, over rewrites where that is above 0.
        clean: rewrites with no chain above `leak`.
        random_ifr: mean over the controls of a rewrite, then the median.
        lower, higher: rewrites whose IFR is below, and above, the mean of their controls.
        p: two-sided sign test of that; None without a difference.
    """

    method: str
    m: int
    n: int
    ifr: float | None
    ratio: float | None
    n_ratio: int
    clean: int
    efficacy: float | None
    coedit_efficacy: float | None
    preservation: float | None
    preservation_unedited: float | None
    subject_retention: float | None
    coedited_retention: float | None
    random_ifr: float | None
    random_preservation_unedited: float | None
    lower: int
    higher: int
    p: float | None


class ChosenSummary(BaseModel):
    """The chosen rounds of a method.

    Attributes:
        reduction: median of 1 - IFR / IFR of the edit alone, where the latter is above 0.
        kept: rewrites whose chosen round is not the edit alone.
        alone: rewrites that leak little already: no chain above `leak` after the edit alone.
        missed: rewrites where the edit alone is chosen although it leaks, with the reason.
        facts_to_clean: median number of further facts until no chain is above `leak`.
        n_clean: rewrites where that was reached.
    """

    method: str
    n: int
    reduction: float | None
    n_reduction: int
    kept: int
    alone: int
    missed: dict[str, str]
    facts_to_clean: float | None
    n_clean: int


class CoEditSweep(BaseModel):
    """The results of a sweep of co-edits over rewrites."""

    graph: str
    rewrites: int
    draws: int
    rows: list[FrontierRow]
    chosen: list[ChosenSummary]
    cells: list[CoEditCell]


@dataclass(frozen=True)
class Plan:
    """The plan of a sweep: options, rewrites and methods.

    Attributes:
        options: of each co-edit; its rewrite and method are the cell's.
        draws: random controls of each rewrite.
    """

    options: CoEditIn
    rewrites: tuple[RewriteRequest, ...]
    methods: tuple[str, ...]
    draws: int = 3


def run(
    runtime: Runtime, plan: Plan, report: Callable[[CoEditCell], None] | None = None
) -> CoEditSweep:
    """Co-edit every rewrite by every method; stored co-edits are found, so that it resumes.

    Raises:
        UsageError: nothing to sweep over.
        HparamsError: a method has no hyperparameters for the model.
    """
    if not plan.rewrites or not plan.methods:
        raise UsageError("The sweep is empty: it needs a rewrite and a method.")
    require_hparams(
        runtime, (plan.options.model_copy(update={"method": name}) for name in plan.methods)
    )
    cells = []
    for cell in _cells(runtime, plan):
        cells.append(cell)
        if report is not None:
            report(cell)
    rows = [row for method in plan.methods for row in frontier(method, cells, plan.options.rounds)]
    return CoEditSweep(
        graph=plan.options.graph,
        rewrites=len(plan.rewrites),
        draws=plan.draws,
        rows=rows,
        chosen=[chosen(method, cells) for method in plan.methods],
        cells=cells,
    )


def _cells(runtime: Runtime, plan: Plan) -> Iterator[CoEditCell]:
    from ...editing.errors import EditingError
    from .coedit import co_edit

    total = len(plan.methods) * len(plan.rewrites)
    for number, (method, rewrite) in enumerate(
        (method, rewrite) for method in plan.methods for rewrite in plan.rewrites
    ):
        runtime.progress(number, total, "co-edits")
        mine = plan.options.model_copy(update={"method": method, "rewrite": rewrite.id})
        draws = [
            mine.model_copy(update={"choose": "random", "draw": draw}) for draw in range(plan.draws)
        ]
        try:
            found, *controls = [co_edit(runtime, each, rewrite) for each in (mine, *draws)]
            yield CoEditCell(method=method, rewrite=rewrite.id, chosen=found, controls=controls)
        except EditingError as error:
            yield CoEditCell(method=method, rewrite=rewrite.id, error=in_one_line(error))
    runtime.progress(total, total, "co-edits")


def at(out: CoEditOut, m: int) -> RoundOut:
    """The last round with at most m further facts."""
    return [row for row in out.rounds if row.facts - 1 <= m][-1]


def frontier(method: str, cells: Sequence[CoEditCell], most: int) -> list[FrontierRow]:
    """One row for each number of further facts, from 0."""
    mine = [cell for cell in cells if cell.method == method and cell.chosen is not None]
    return [_row(method, mine, m) for m in range(most + 1)] if mine else []


def _row(method: str, cells: Sequence[CoEditCell], m: int) -> FrontierRow:
    found = [(at(cell.chosen, m), at(cell.chosen, 0)) for cell in cells if cell.chosen]
    rounds = [row for row, _ in found]
    ratios = [r.ifr / alone.ifr for r, alone in found if alone.ifr and r.ifr is not None]
    controls = [[at(out, m) for out in cell.controls] for cell in cells]
    random = [_mean(row.ifr for row in rows) for rows in controls]
    pairs = [
        (row.ifr, mean)
        for row, mean in zip(rounds, random, strict=True)
        if row.ifr is not None and mean is not None
    ]
    lower = sum(one < other - ROUNDING for one, other in pairs)
    higher = sum(one > other + ROUNDING for one, other in pairs)
    kept = [_mean(row.preservation_unedited for row in rows) for rows in controls]
    return FrontierRow(
        method=method,
        m=m,
        n=len(rounds),
        ifr=_median(row.ifr for row in rounds),
        ratio=_median(ratios),
        n_ratio=len(ratios),
        clean=sum(row.leaking == 0 for row in rounds),
        efficacy=_median(row.efficacy for row in rounds),
        coedit_efficacy=_median(row.coedit_efficacy for row in rounds),
        preservation=_median(row.preservation for row in rounds),
        preservation_unedited=_median(row.preservation_unedited for row in rounds),
        subject_retention=_median(row.subject_retention for row in rounds),
        coedited_retention=_median(row.coedited_retention for row in rounds),
        random_ifr=_median(random),
        random_preservation_unedited=_median(kept),
        lower=lower,
        higher=higher,
        p=sign_test(lower, higher),
    )


def chosen(method: str, cells: Sequence[CoEditCell]) -> ChosenSummary:
    """Return a summary of the chosen rounds of a method."""
    found = {c.rewrite: c.chosen for c in cells if c.method == method and c.chosen is not None}
    reductions, clean = [], []
    missed: dict[str, str] = {}
    kept = alone = 0
    for rewrite, out in found.items():
        first, row = out.rounds[0], out.rounds[out.chosen]
        if first.ifr and row.ifr is not None:
            reductions.append(1 - row.ifr / first.ifr)
        kept += out.chosen > 0
        alone += first.leaking == 0
        if out.chosen == 0 and first.leaking:
            missed[rewrite] = _why(out)
        ends = [row.facts - 1 for row in out.rounds if row.leaking == 0]
        clean += ends[:1]
    return ChosenSummary(
        method=method,
        n=len(found),
        reduction=_median(reductions),
        n_reduction=len(reductions),
        kept=kept,
        alone=alone,
        missed=missed,
        facts_to_clean=_median(clean),
        n_clean=len(clean),
    )


def _why(out: CoEditOut) -> str:
    """Return the reason why no round beyond the edit alone was chosen."""
    if len(out.rounds) == 1:
        return out.stopped
    from .coedit import preserves

    first = out.rounds[1]
    if not first.reaches:
        return f"efficacy falls to {first.efficacy or 0:.2f} with one further fact"
    if preserves(first):
        return "no further fact lowers IFR"
    kept = first.preservation_unedited
    return f"Preservation of the rest falls to {kept or 0:.2f} with one further fact"


def sign_test(lower: int, higher: int) -> float | None:
    """Two-sided p of a sign test; None without a difference."""
    if not lower + higher:
        return None
    from scipy.stats import binomtest  # slow to import

    return float(binomtest(lower, lower + higher).pvalue)


def _mean(values: Iterator[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _median(values: Iterator[float | None] | Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
