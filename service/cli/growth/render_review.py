"""Tables of a review: candidates, decisions, the judge's report, agreement."""

from __future__ import annotations

from ...formatting import cell, several
from ...growth.review.schemas import (
    AgreementReport,
    CandidateOut,
    DecisionOut,
    Effort,
    JudgeReport,
    JudgeRow,
    Triplet,
)
from ...reports.formats import Column
from ..output import emit_table, emit_values


def triplet_text(of: Triplet | CandidateOut | None) -> str:
    """Subject, relation and object in one line; `–` for None."""
    return "–" if of is None else f"{of.subject} | {of.relation} | {of.object}"


def _decided(candidate: CandidateOut) -> str:
    return "–" if candidate.verdict is None else f"{candidate.verdict} ({candidate.decided_by})"


CANDIDATES: list[Column[CandidateOut]] = [
    Column("candidate", lambda c: c.id),
    Column("triplet", lambda c: triplet_text(c.corrected or c)),
    Column("state", lambda c: c.state),
    Column("share", lambda c: c.share),
    Column("n", lambda c: c.n_answers),
    Column("judge", lambda c: c.judged or "–"),
    Column("person", _decided),
    Column("why", lambda c: c.reason or ""),
]

DECISIONS: list[Column[DecisionOut]] = [
    Column("no.", lambda d: d.number),
    Column("at", lambda d: d.at[:19]),
    Column("who", lambda d: d.by),
    Column("role", lambda d: d.role),
    Column("verb", lambda d: d.verb),
    Column("candidate", lambda d: d.candidate),
    Column("before", lambda d: triplet_text(d.before)),
    Column("after", lambda d: triplet_text(d.after)),
    Column("why", lambda d: d.reason or ""),
    Column("digest", lambda d: d.digest[:12]),
]

JUDGED: list[Column[tuple[str, JudgeRow]]] = [
    Column("iteration", lambda r: r[0]),
    Column("triplets", lambda r: r[1].triplets),
    Column("TP", lambda r: r[1].tp),
    Column("FP", lambda r: r[1].fp),
    Column("FN", lambda r: r[1].fn),
    Column("precision", lambda r: r[1].precision),
    Column("recall", lambda r: r[1].recall),
    Column("F1", lambda r: r[1].f1),
]


def show_judge(report: JudgeReport, of: str) -> None:
    """Print the judge's report: iterations, the last one, the sum, and people's effort."""
    rows = [(str(row.iteration), row) for row in report.rows]
    if report.last is not None:
        rows += [("last", report.last), ("sum", report.sum)]
    notes = [f"note: {note}" for note in report.notes]
    notes += [
        f"A person decided about {effort(each)} {which} a judge's verdict."
        for each, which in ((report.with_judge, "with"), (report.without_judge, "without"))
        if each is not None
    ]
    emit_table(f"The judge against people: {of}", JUDGED, rows, note="\n".join(notes))


def effort(of: Effort) -> str:
    """How many of how many triplets a person decided about."""
    return f"{of.touched} of {several(of.n, 'triplet')} ({cell(of.share)})"


def show_agreement(report: AgreementReport, of: str) -> None:
    """Print all four figures with the number of items."""
    emit_values(
        f"Agreement: {of}",
        [
            ("items with two ratings or more", report.n),
            ("annotators", ", ".join(report.annotators) or "–"),
            ("raw, pairwise", cell(report.pairwise)),
            ("raw, unanimous", cell(report.unanimous)),
            ("Gwet's AC1", cell(report.ac1)),
            ("Krippendorff's alpha (nominal)", cell(report.alpha)),
        ],
        note="AC1 is never above the pairwise agreement.",
    )
