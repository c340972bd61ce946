"""How a sweep's report looks in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinkeval.service.cli.options import cell, console, emit_table, interval, several
from thinkeval.service.cli.render import show_method_table
from thinkeval.service.schemas import Measure

if TYPE_CHECKING:
    from thinkeval.service.reports.matched import Difference
    from thinkeval.service.reports.sweep import SweepReport


def show_sweep(report: SweepReport, measure: Measure) -> None:
    """The table, methods at equal efficacy, differences that count, failed cells."""
    if report.scores:
        show_method_table(report.scores, measure)
    _show_matched(report)
    for model, rows in report.differences.items():
        _show_differences(model, rows)
    if report.failed:
        emit_table(
            f"{several(len(report.failed), 'cell')} failed",
            ["cell", "reason"],
            [(outcome.cell.name, outcome.error) for outcome in report.failed],
        )


def _show_matched(report: SweepReport) -> None:
    for (model, seed), rows in report.matched.items():
        if not rows:
            continue
        emit_table(
            f"At equal efficacy: {model}, seed {seed}",
            ["method", "efficacy", "IFR", "95 % over rewrites", "Preservation", "rewrites"],
            [
                (
                    row.method,
                    row.efficacy,
                    cell(row.ifr),
                    _interval(row.ifr_interval),
                    cell(row.preservation),
                    row.n,
                )
                for row in rows
            ],
            note="Updates were also put on at a quarter, half and three quarters of their size; IFR"
            " and Preservation are interpolated where the mean efficacy is the one given. A dash:"
            " the method never has that efficacy.",
        )


def _show_differences(model: str, rows: list[Difference]) -> None:
    """Those that exceed chance; how many were looked at stands beside them.

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
        else "; over seeds nothing is known from one: add --seed 1 --seed 2"
    )
    if not counted:
        console().print(
            f"{model}: none of {len(rows)} differences between methods leaves 0 out of its 95 %"
            f" interval over rewrites{over_seeds}."
        )
        return
    emit_table(
        f"Differences that exceed chance: {model}",
        ["methods", "metric", "at efficacy", "difference", "95 % over rewrites", "sd over seeds"],
        [
            (
                f"{row.first} − {row.second}",
                row.metric,
                "as it is" if row.efficacy is None else cell(row.efficacy),
                f"{row.value:+.3f}",
                _interval(row.interval),
                cell(row.spread),
            )
            for row in counted
        ],
        note=f"{len(counted)} of {len(rows)} differences between methods of efficacy above .5 leave"
        f" 0 out of their 95 % interval over rewrites (paired bootstrap){over_seeds}. With so many"
        " looked at, one in twenty does so by chance.",
    )


def _interval(bounds: tuple[float, float] | None) -> str:
    return cell(None) if bounds is None else interval(*bounds)
