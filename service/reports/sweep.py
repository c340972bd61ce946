"""Report of a sweep: table, methods at equal efficacy, differences that count, failed cells."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ..models.checks import MethodCheck
from ..models.edit import AppendOptions, Measure, Score
from ..models.forms import MethodForm
from ..scoring.sweep import Outcome
from . import by_kind, forms
from . import paired as matching
from .comparison import COUNTED, Comparison, common
from .pooling import MeansTable, pooled
from .table import caption, method_table, records

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class SweepReport:
    """A sweep in numbers.

    Attributes:
        scores: of the whole edits (strength 1); `method` names the setting of axes too.
        comparison: those by which the table is made.
        matched: per model and seed, methods at equal efficacy.
        differences: per model, pairs of methods that were compared.
        failed: cells without a score, with the reason.
        skipped: cells whose fact the model does not know, with its probability.
        means: the table of requests to append or to forget, in place of that of replacements.
        checks: the questions of the data set, where its requests have some.
    """

    measure: Measure
    scores: list[Score]
    comparison: Comparison
    matched: dict[tuple[str, int], list[matching.Matched]]
    differences: dict[str, list[matching.Difference]]
    failed: list[Outcome]
    skipped: list[Outcome]
    means: MeansTable | None = None
    checks: Sequence[MethodCheck] = ()

    def table(self) -> pd.DataFrame:
        """One row a model and method, in the shape of ThinkEval's Table 4."""
        if self.means is not None:
            return self.means.frame()
        return method_table(self.comparison.scores, self.measure, self.comparison.families)

    @property
    def caption(self) -> str:
        """The caption: the meaning of the table's numbers."""
        if self.means is not None:
            return self.means.caption
        used, families = self.comparison.scores, self.comparison.families
        return caption(used, self.measure, families=families)

    @property
    def forms(self) -> list[MethodForm]:
        """The forms of each method, where edits were asked in any."""
        return forms.by_method(self.comparison.scores, self.comparison.families)[0]

    def as_dict(self) -> dict[str, Any]:
        """JSON-able; undefined is null."""
        return {
            "measure": self.measure,
            "caption": self.caption if self.scores else "",
            "warnings": list(self.comparison.warnings),
            "left_out": dict(self.comparison.left_out),
            "table": records(self.table()) if self.scores else [],
            "forms": [row.model_dump() for row in self.forms],
            "checks": [row.model_dump() for row in self.checks],
            "form_differences": [
                asdict(row) | {"answer": row.answer}
                for row in forms.paired_forms(self.comparison.scores, self.comparison.families)
            ],
            "edits": list(dict.fromkeys(s.edit for s in self.scores)),
            "matched": [
                {"model": model, "seed": seed, **asdict(row)}
                for (model, seed), rows in self.matched.items()
                for row in rows
            ],
            "differences": [
                {
                    "model": model,
                    **asdict(row),
                    "beyond_rewrites": row.beyond_rewrites,
                    "beyond_seeds": row.beyond_seeds,
                }
                for model, rows in self.differences.items()
                for row in rows
            ],
            "failed": [{"cell": o.cell.name, "reason": o.error} for o in self.failed],
            "skipped": [{"cell": o.cell.name, "reason": o.error} for o in self.skipped],
        }


def report(
    outcomes: Sequence[Outcome], measure: Measure, families: Mapping[str, str] | None = None
) -> SweepReport:
    """Sum up the outcomes of a sweep.

    Args:
        families: {edit: family of its rewrite} (`service.reports.comparison`); by default each
            rewrite is one.

    Raises:
        NothingStoredError: when the table is asked for and no cell has a score.
    """
    outcomes = [_named(outcome) for outcome in outcomes]
    whole = [o.score for o in outcomes if o.score is not None and o.cell.strength == 1]
    means = by_kind.table_by_kind(whole, measure)
    # An appended answer replaces none: there is no IFR to compare at equal efficacy.
    curves = {} if any(s.append for s in whole) else matching.curves(outcomes, measure, families)
    by_model: dict[str, list[Mapping[str, matching.Curve]]] = {}
    for (model, _), methods in curves.items():
        by_model.setdefault(model, []).append(methods)
    return SweepReport(
        measure=measure,
        scores=whole,
        comparison=replace(common([] if means else whole, measure), families=families or {}),
        matched={place: matching.matched(methods) for place, methods in curves.items()},
        differences={model: _compared(seeds) for model, seeds in by_model.items()},
        failed=[o for o in outcomes if o.score is None and not o.skipped],
        skipped=[o for o in outcomes if o.skipped],
        means=means,
    )


def _named(outcome: Outcome) -> Outcome:
    """Return an outcome whose method is that with its setting of the axes, as `rome v_lr=0.5`.

    Tables, curves and differences then have a row a setting; the options of an append name their
    variants by themselves.
    """
    label = outcome.cell.setting.label(AppendOptions.model_fields)
    if not label or outcome.score is None:
        return outcome
    method = f"{outcome.cell.method} {label}"
    cell = replace(outcome.cell, method=method)
    return replace(outcome, cell=cell, score=outcome.score.model_copy(update={"method": method}))


def _compared(by_seed: Sequence[Mapping[str, matching.Curve]]) -> list[matching.Difference]:
    """All pairs of methods that took: as they are and, with strengths swept, at each level."""
    took = [name for name, curve in by_seed[0].items() if _took(curve)]
    pairs = list(itertools.combinations(took, 2))
    swept = any(len(curve.strengths) > 1 for curve in by_seed[0].values())
    # One table is of one efficacy: p is adjusted over the comparisons of a reader of it.
    return [
        row
        for level in (None, *(matching.LEVELS if swept else ()))
        for row in matching.adjusted(matching.differences(by_seed, pairs, level=level))
    ]


def _took(curve: matching.Curve) -> bool:
    if not curve.ids or 1.0 not in curve.strengths:
        return False
    return pooled(curve.whole.terms[0])[0] > COUNTED
