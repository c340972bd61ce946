"""Tables over several edits in a terminal: one row a method, or one row an edit; sorted by IFR.

A terminal of 80 columns has the four numbers that an edit is judged by. Further columns are
omitted there by name, least important first; files and `--json` have all columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ....cypher.metric_options import interval_titles
from ...formatting import cell, interval, signed, with_interval
from ...reports.comparison import COUNTED
from ...reports.formats import Column, Table
from ...reports.table import (
    STEPS,
    by_ifr,
    caption,
    caption_each,
    method_table,
    rows_of,
    unranked,
)
from ...schemas import MEASURE_NAMES, Measure, Score
from ..output import emit_table

if TYPE_CHECKING:
    from ...reports.comparison import Comparison
    from ...reports.matched import Difference
    from ...reports.means import MeansTable

OPTIONAL = {
    **{f"{n}-step": n + 2 for n in STEPS},
    "Generalization": 9,
    "IFR mean": 8,
    "IFR beyond subject": 2,
    "rewrites": 1,
    "families": 10,
    "chains": 10,
}
"""Columns that a narrow terminal omits first."""

HIDDEN = ["n gen.", "n ret.", "IFR sd", "IFR beyond mean"]
"""Columns that only reports have."""

COUNTS = ("Model", "rewrites", "families", "chains")
"""Columns that say the same in every row go below the table."""

ORDER = ("Model", "Method", "Efficacy", "IFR", "Preservation", "Subject retention")
"""The columns that come first."""

EACH = ("efficacy", "ifr", "preservation", "subject_retention")
"""The metrics of a table with one row an edit."""


def show_method_table(found: Comparison, measure: Measure) -> None:
    """One row a method, lowest IFR first, those that installed nothing last; a table a model.

    Columns that say the same in every row go below, the model's name into the title.
    """
    scores, families = found.scores, found.families
    frame = by_ifr(method_table(scores, measure, families), ranked=found.comparable)
    last = [unranked(frame)] if found.comparable and unranked(frame) else []
    frame = frame.drop(columns=HIDDEN)
    values = {c: list(dict.fromkeys(frame[c].tolist())) for c in COUNTS}
    constant = [c for c, found_values in values.items() if len(found_values) == 1]
    same = [f"{c.lower()} {values[c][0]}" for c in constant]
    bounded = set(interval_titles().values())
    bounds = {f"{title} {end}" for title in bounded for end in ("low", "high")}
    listed = [str(c) for c in frame.columns if c not in (*constant, *bounds)]
    columns = sorted(listed, key=lambda c: ORDER.index(c) if c in ORDER else len(ORDER))
    said = caption(scores, measure, columns, families)
    note = " ".join([*found.warnings, *last, f"{', '.join(same)}. " * bool(same) + said])
    models = list(dict.fromkeys(frame["Model"].tolist()))
    laid = [_column(name, name in bounded) for name in columns if name != "Model"]
    for model in models:
        title = (
            f"Scores by method: {MEASURE_NAMES[measure]}"
            + (", lowest IFR first" if found.comparable else "")
            + f", on {model}" * (len(models) > 1)
        )
        below = note if model == models[-1] else ""
        shown = rows_of(frame[frame["Model"] == model])
        emit_table(Table("methods", title, laid, shown, below))


PAIRED: list[Column[Difference]] = [
    Column("method", lambda row: row.first, whole=True),
    Column("IFR difference", lambda row: row.value, signed),
    Column("95 % interval", lambda row: row.interval, interval),
    Column("exceeds chance", lambda row: row.beyond_rewrites, cell),
    Column("rewrites", lambda row: row.n, optional=1),
]


def show_paired(found: Comparison, measure: Measure) -> None:
    """The best method of each model against each other one, over common rewrites."""
    from ...reports.paired import paired, verdict  # numpy; not for `--help`

    for against in paired(found, measure):
        note = (
            f"{against.best} has the lowest IFR among methods of efficacy above .5. Paired"
            " over the rewrites that both methods have; the interval is over families of them."
            f" {verdict(against.of('ifr'))}"
        )
        title = f"IFR of each method minus that of {against.best}: {against.model}"
        emit_table(Table("paired", title, PAIRED, against.of("ifr"), note))


def _column(name: str, bounded: bool) -> Column[Mapping[str, Any]]:
    """A column of the table of methods; a value's interval is in a line below it."""

    def with_bounds(row: Mapping[str, Any]) -> object:
        low, high = row[f"{name} low"], row[f"{name} high"]
        if math.isnan(low) or math.isnan(high):
            return row[name]
        return with_interval(row[name], low, high).replace(" [", "\n[", 1)

    return Column(
        "method" if name == "Method" else name,
        with_bounds if bounded else itemgetter(name),
        optional=OPTIONAL.get(name, 0),
        whole=bounded or name == "Method",
    )


def show_means_table(found: MeansTable) -> None:
    """Print one row a method over requests to append or to forget; a table a model."""
    models = list(dict.fromkeys(row.model for row in found.rows))
    for model in models:
        note = found.caption if model == models[-1] else ""
        shown = [row for row in found.rows if row.model == model]
        title = f"{found.title}, on {model}"
        emit_table(Table("means", title, found.columns[1:], shown, note))


_LAST = "Edits that did not take (efficacy of .5 or less) are last, whatever their IFR. "


def show_each_table(scores: Sequence[Score], measure: Measure) -> None:
    """One row an edit, lowest IFR first, those that did not take last; a table a model."""

    def value(metric: str) -> Column[Score]:
        title = interval_titles()[metric]
        return Column(title, lambda score: score.number(metric, measure), cell)

    columns: list[Column[Score]] = [
        Column("edit", lambda score: score.edit, whole=True),
        *map(value, EACH),
        Column("method", lambda score: score.method, optional=1),
        Column("graph", lambda score: score.dataset, whole=True, optional=2),
        Column("rewrite", lambda score: score.rewrite, whole=True, optional=3),
    ]
    ordered = sorted(scores, key=lambda score: _place(score, measure))
    models = list(dict.fromkeys(score.model for score in ordered))
    for model in models:
        note = f"{_LAST}{caption_each(scores, measure)}" if model == models[-1] else ""
        title = f"Scores by edit: {MEASURE_NAMES[measure]}, lowest IFR first, on {model}"
        shown = [score for score in ordered if score.model == model]
        emit_table(Table("edits", title, columns, shown, note))


def _place(score: Score, measure: Measure) -> tuple[bool, bool, float]:
    """Sorts edits by IFR: those of too little efficacy after the others, undefined ones last."""
    efficacy, ifr = score.number("efficacy", measure), score.number("ifr", measure)
    return efficacy is None or efficacy <= COUNTED, ifr is None, ifr or 0.0
