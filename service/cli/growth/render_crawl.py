"""Tables of crawls: levels, figures against the truth, calibration, by relation and depth."""

from __future__ import annotations

from collections.abc import Sequence

from ...formatting import pluralize
from ...growth.crawl.schemas import (
    AgainstTruth,
    CalibrationBin,
    CrawlReport,
    DepthRow,
    LevelRow,
    RelationRow,
    Retrieval,
)
from ...reports.formats import Column, Table
from ..output import emit_note, emit_table, emit_values

LEVELS: list[Column[LevelRow]] = [
    Column("level", lambda row: row.depth),
    Column("entities", lambda row: row.entities),
    Column("questions", lambda row: row.questions),
    Column("unknown", lambda row: row.unknown),
    Column("refused", lambda row: row.refused, optional=1),
    Column("facts", lambda row: row.facts),
    Column("new entities", lambda row: row.new),
]

Named = tuple[str | int, Retrieval]


def _columns(first: str) -> list[Column[Named]]:
    return [
        Column(first, lambda row: row[0]),
        Column("true", lambda row: row[1].true),
        Column("found", lambda row: row[1].found),
        Column("right", lambda row: row[1].right),
        Column("precision", lambda row: row[1].precision),
        Column("of them recalled", lambda row: row[1].recalled),
        Column("recall", lambda row: row[1].recall),
        Column("F1", lambda row: row[1].f1),
    ]


BINS: list[Column[CalibrationBin]] = [
    Column("fraction of answers", lambda row: f"{row.low:.1f} to {row.high:.1f}"),
    Column("objects", lambda row: row.n),
    Column("mean fraction", lambda row: row.share),
    Column("true", lambda row: row.right),
]


def show_report(report: CrawlReport, *, details: bool = False) -> None:
    """Print a crawl's report.

    Args:
        details: calibration, and the figures by relation and by depth as well.
    """
    emit_table(Table("levels", f"Levels of {report.run}", LEVELS, report.levels))
    emit_values(
        f"Crawl of {report.model} from {', '.join(report.start)}",
        [
            ("graph stored as", report.graph if report.facts else "none: no fact was found"),
            ("facts", report.facts),
            ("unknown pairs", report.unknown),
            ("entities", report.entities),
            ("questions", report.questions),
            ("answers", report.answers),
            ("seconds", round(report.seconds, 1)),
            ("stopped", report.stop_reason or "not finished"),
        ],
    )
    if report.asked:
        emit_note(report.asked)
    if report.against is not None:
        _show_against(report.against, details)


def _show_against(against: AgainstTruth, details: bool) -> None:
    rows: list[Named] = [("facts", against.facts), ("entities", against.entities)]
    missed = ""
    if against.chains is not None:
        rows.append((f"chains to {against.chains.object}", against.chains))
        missed = f" {pluralize(against.chains.missed, 'chain')} missed."
    note = (
        f"True are the {pluralize(against.facts.true, 'fact')} in reach of"
        f" {pluralize(against.steps, 'step')}; precision is over the whole graph.{missed}"
    )
    emit_table(Table("against", f"Against {against.truth}", _columns("what"), rows, note))
    if not details:
        return
    _show_rows("By relation", "relation", [(row.relation, row) for row in against.by_relation])
    _show_rows("By level", "level", [(row.depth, row) for row in against.by_depth])
    brier = against.calibration.brier
    note = (
        f"Brier score {'–' if brier is None else f'{brier:.3f}'} over"
        f" {pluralize(against.calibration.n, 'object')}."
    )
    emit_table(Table("calibration", "Calibration", BINS, against.calibration.bins, note))


def _show_rows(
    title: str,
    first: str,
    rows: Sequence[tuple[str, RelationRow]] | Sequence[tuple[int, DepthRow]],
) -> None:
    emit_table(Table(first, title, _columns(first), [(name, row) for name, row in rows]))
