"""The judge against people: precision, recall and F1 by iteration and in sum; people's effort.

Positive is a triplet that people keep (ThinkEval, App. P, Table 11): TP where the judge keeps it
too, FN where the judge prunes it, FP where only the judge keeps it. A corrected or added triplet
counts as kept. Only triplets that both decided are counted.

Table 11's figures are those of its last iteration; the sum over iterations differs, so both are
reported, and which is which.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ....cypher import rows
from ...errors import UsageError
from .log import run_of
from .schemas import Effort, JudgeReport, JudgeRow

if TYPE_CHECKING:
    from ....cypher.run import Database

NEEDED = ("iteration", "tp", "fp", "fn")
OPTIONAL = ("tn", "triplets")


def stored(db: Database, run: str) -> JudgeReport:
    """The report over the stored decisions of a run.

    Raises:
        NotFoundError: no such run.
    """
    run_of(db, run)
    found = [row for row in db.read(rows.CandidateRow, run=run) if row.kind == "triplet"]
    by_iteration: dict[int, list[tuple[bool, bool]]] = {}
    for row in found:
        if row.verdict is not None and row.judged is not None:
            both = (row.judged != "prune", row.verdict != "prune")
            by_iteration.setdefault(row.iteration, []).append(both)
    counted = [_counted(number, both) for number, both in sorted(by_iteration.items())]
    judged = [row.verdict is not None for row in found if row.judged is not None]
    others = [row.verdict is not None for row in found if row.judged is None]
    return report(counted, with_judge=_effort(judged), without_judge=_effort(others))


def report(
    counted: Sequence[JudgeRow],
    *,
    with_judge: Effort | None = None,
    without_judge: Effort | None = None,
    notes: Sequence[str] = (),
) -> JudgeReport:
    """The report over counts by iteration."""
    tn = [row.tn for row in counted if row.tn is not None]
    total = judge_row(
        None,
        sum(row.tp for row in counted),
        sum(row.fp for row in counted),
        sum(row.fn for row in counted),
        sum(tn) if len(tn) == len(counted) else None,
        sum(row.triplets for row in counted),
    )
    return JudgeReport(
        rows=list(counted),
        last=counted[-1] if counted else None,
        sum=total,
        notes=list(notes),
        with_judge=with_judge,
        without_judge=without_judge,
    )


def judge_row(
    iteration: int | None, tp: int, fp: int, fn: int, tn: int | None, triplets: int
) -> JudgeRow:
    """Counts with precision tp / (tp + fp), recall tp / (tp + fn), F1; None where undefined."""
    return JudgeRow(
        iteration=iteration,
        triplets=triplets,
        tp=tp,
        fp=fp,
        fn=fn,
        tn=tn,
        precision=tp / (tp + fp) if tp + fp else None,
        recall=tp / (tp + fn) if tp + fn else None,
        f1=2 * tp / (2 * tp + fp + fn) if tp + fp and tp + fn else None,
    )


def read_csv(text: str, name: str = "the table") -> JudgeReport:
    """The report over given counts: columns iteration, tp, fp, fn; tn and triplets if known.

    Where `triplets` is given and differs from tp + fn, a note names the iteration.

    Raises:
        UsageError: a column is missing, or a cell is no whole number from 0; with its line.
    """
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    header = {key.strip().casefold(): key for key in reader.fieldnames or ()}
    missing = [column for column in NEEDED if column not in header]
    if missing:
        raise UsageError(
            f"{name} has no column {', '.join(missing)}.",
            remedy=f"Give the columns {', '.join(NEEDED)}, and {' and '.join(OPTIONAL)} if known.",
        )
    counted, notes = [], []
    for row in reader:
        cells = {
            column: _count(row[header[column]], f"{name}, line {reader.line_num}, {column}")
            for column in (*NEEDED, *OPTIONAL)
            if column in header
        }
        kept = cells["tp"] + cells["fn"]
        triplets = cells.get("triplets", kept)
        counted.append(
            judge_row(
                cells["iteration"], cells["tp"], cells["fp"], cells["fn"], cells.get("tn"), triplets
            )
        )
        if triplets != kept:
            notes.append(f"iteration {cells['iteration']}: TP + FN = {kept} ≠ {triplets} triplets")
    return report(counted, notes=notes)


def _count(cell: str | None, where: str) -> int:
    text = (cell or "").strip()
    if not (text.isascii() and text.isdigit()):
        raise UsageError(f"{where}: {text!r} is no count.", remedy="Give whole numbers from 0.")
    return int(text)


def _counted(iteration: int, both: Iterable[tuple[bool, bool]]) -> JudgeRow:
    pairs = list(both)
    tp, fp, fn, tn = (
        pairs.count(each) for each in ((True, True), (True, False), (False, True), (False, False))
    )
    return judge_row(iteration, tp, fp, fn, tn, len(pairs))


def _effort(touched: Sequence[bool]) -> Effort:
    share = sum(touched) / len(touched) if touched else None
    return Effort(n=len(touched), touched=sum(touched), share=share)
