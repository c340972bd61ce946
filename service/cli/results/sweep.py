"""The report of a sweep in a terminal: methods, equal efficacy, differences, failed cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...formatting import interval, number, pluralize, signed
from ...reports.formats import Column, Table
from ...schemas import Measure
from ..output import emit_note, emit_table, more_below
from .tables import show_means_table, show_method_table

if TYPE_CHECKING:
    from ...reports.matched import Difference, Matched
    from ...reports.sweep import SweepReport
    from ...scoring.sweep import Outcome

SKIPPED = 10
"""Skipped cells that are printed."""

FAILED: list[Column[Outcome]] = [
    Column("cell", lambda outcome: outcome.cell.name, whole=True),
    Column("reason", lambda outcome: outcome.error),
]
MATCHED: list[Column[Matched]] = [
    Column("method", lambda row: row.method),
    Column("efficacy", lambda row: row.efficacy),
    Column("IFR", lambda row: row.ifr),
    Column("95 % over families", lambda row: row.ifr_interval, interval),
    Column("Preservation", lambda row: row.preservation),
    Column("subject retention", lambda row: row.subject_retention, optional=1),
    Column("IFR beyond subject", lambda row: row.ifr_beyond_subject, optional=1),
    Column("rewrites", lambda row: row.n),
    Column("families", lambda row: row.n_families, optional=2),
]


def _level(efficacy: float | None) -> str:
    return number(efficacy, "as it is")


DIFFERENCES: list[Column[Difference]] = [
    Column("methods", lambda row: f"{row.first} − {row.second}"),
    Column("metric", lambda row: row.metric),
    Column("at efficacy", lambda row: row.efficacy, _level),
    Column("difference", lambda row: row.value, signed),
    Column("95 % over families", lambda row: row.interval, interval),
    Column("sd over seeds", lambda row: row.spread),
]


def show_sweep(report: SweepReport, measure: Measure) -> None:
    """The table, methods at equal efficacy, differences that count, failed cells."""
    if report.means is not None:
        show_means_table(report.means)
    elif report.scores:
        show_method_table(report.comparison, measure)
    _show_matched(report)
    for model, rows in report.differences.items():
        _show_differences(model, rows)
    if report.failed:
        title = f"{pluralize(len(report.failed), 'cell')} failed"
        emit_table(Table("failed", title, FAILED, report.failed))
    if report.skipped:
        note = more_below(len(report.skipped), SKIPPED)
        title = (
            f"{pluralize(len(report.skipped), 'cell')} skipped: the model does not know the fact"
            " (--anyway edits it)"
        )
        emit_table(Table("skipped", title, FAILED, report.skipped[:SKIPPED], note))


def _show_matched(report: SweepReport) -> None:
    for (model, seed), rows in report.matched.items():
        if not rows:
            continue
        note = (
            "Updates were also applied at a quarter, half and three quarters of their size;"
            " the values are interpolated at the mean efficacy of the row, over the rewrites that"
            " all methods have. The interval is over families of rewrites that share chain facts."
            " A dash: the method never reaches that efficacy."
        )
        title = f"At equal efficacy: {model}, seed {seed}"
        emit_table(Table("matched", title, MATCHED, rows, note))


def _show_differences(model: str, rows: list[Difference]) -> None:
    """Differences that exceed chance, and the number of comparisons.

    Where methods were compared at equal efficacy, only that: as they are they differ in strength.
    """
    if any(row.efficacy is not None for row in rows):
        rows = [row for row in rows if row.efficacy is not None]
    counted = [row for row in rows if row.beyond_rewrites and row.beyond_seeds is not False]
    if not rows:
        return
    seeds = rows[0].seeds
    over_seeds = (
        f" and exceed twice their standard deviation over {seeds} seeds"
        if seeds > 1
        else "; the spread over seeds needs several: add --seed 1 --seed 2"
    )
    if not counted:
        emit_note(
            f"{model}: none of {len(rows)} differences between methods leaves 0 out of its 95 %"
            f" interval over families of rewrites{over_seeds}."
        )
        return
    note = (
        f"{len(counted)} of {len(rows)} differences between methods of efficacy above .5 leave"
        f" 0 out of their 95 % interval over families of rewrites (paired bootstrap){over_seeds}."
        " Not corrected for the number of comparisons."
    )
    title = f"Differences that exceed chance: {model}"
    emit_table(Table("differences", title, DIFFERENCES, counted, note))
