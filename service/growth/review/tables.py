"""Tables of a review, for the terminal and for CSV files, and decisions read from CSV files.

The CSV of candidates has an empty column `verb`: filled in, by a spreadsheet for one, the file is
read as decisions. The CSV of decisions is read in the same way: they can be given to another run.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import cast, get_args

from pydantic import ValidationError

from ...errors import UsageError
from ...reports.formats import Column
from .record import PARTS, Decision
from .schemas import CandidateOut, DecisionOut, Triplet, Verdict

VERBS = (*get_args(Verdict), "add")

_NAMES: list[Column[CandidateOut]] = [
    Column("subject", lambda c: (c.corrected or c).subject),
    Column("relation", lambda c: (c.corrected or c).relation),
    Column("object", lambda c: (c.corrected or c).object),
]
_STATE: list[Column[CandidateOut]] = [
    Column("state", lambda c: c.state),
    Column("state reason", lambda c: c.reason),
    Column("kind", lambda c: c.kind, optional=3),
    Column("iteration", lambda c: c.iteration, optional=3),
    Column("share", lambda c: c.share),
    Column("answers", lambda c: c.n_answers, optional=1),
    Column("judged", lambda c: c.judged),
    Column("judge", lambda c: c.judge, optional=2),
    Column("decided", lambda c: c.verdict),
    Column("decided by", lambda c: c.decided_by, optional=1),
]


CANDIDATES: list[Column[CandidateOut]] = [
    Column("candidate", lambda c: c.id, whole=True),
    *_NAMES,
    *_STATE,
]
"""Candidates as the terminal prints them."""

SHEET: list[Column[CandidateOut]] = [
    Column("candidate", lambda c: c.id),
    Column("verb", lambda c: None),
    *_NAMES,
    Column("reason", lambda c: None),
    *_STATE,
    Column("statements", lambda c: "\n".join(c.statements)),
]
"""Candidates as CSV: `verb` and `reason` are to be filled in."""

DECISIONS: list[Column[DecisionOut]] = [
    Column("number", lambda d: d.number),
    Column("at", lambda d: d.at, whole=True, optional=1),
    Column("by", lambda d: d.by),
    Column("role", lambda d: d.role),
    Column("candidate", lambda d: d.candidate, optional=2),
    Column("verb", lambda d: d.verb),
    *(
        Column(name, lambda d, name=name: getattr(d.after or d.before, name, None))
        for name in PARTS
    ),
    Column("before", lambda d: before(d)),
    Column("reason", lambda d: d.reason),
]
"""Decisions with the triplet that was decided; `before`: the one that a correction replaced."""


def before(decision: DecisionOut) -> str | None:
    """Return the triplet that a correction replaced; None for other decisions."""
    if decision.verb != "correct" or decision.before is None:
        return None
    return " | ".join(getattr(decision.before, part) for part in PARTS)


@dataclass(frozen=True, slots=True)
class Read:
    """The decisions of a file.

    Attributes:
        undecided: number of rows without a verb.
        judged: number of rows of a model judge.
    """

    decisions: list[Decision]
    undecided: int
    judged: int


def read_decisions(text: str, name: str, by: str | None = None) -> Read:
    """Read the decisions of a CSV: candidate, verb; subject, relation, object, reason where needed.

    A row without a verb, and one whose `role` is judge, is no decision. `add` needs no candidate.

    Args:
        by: who decides where a row has no `by` of its own.

    Raises:
        UsageError: a column is missing or a row cannot be read, with its line; or none decides.
    """
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    columns = {key.strip().casefold(): key for key in reader.fieldnames or () if key}
    if not {"candidate", "verb"} <= columns.keys():
        raise UsageError(
            f"{name} has no columns candidate and verb; its columns are"
            f" {', '.join(columns) or 'none'}.",
            remedy="Separate columns by commas. Further ones are subject, relation, object,"
            " question, reason and by.",
        )
    found: list[Decision] = []
    undecided = judged = 0
    for row in reader:
        cells = {key: (row[column] or "").strip() for key, column in columns.items()}
        where = f"{name}, line {reader.line_num}"
        if not cells["verb"]:
            undecided += any(cells.values())
        elif cells.get("role") == "judge":
            judged += 1
        else:
            found.append(_read(cells, where, cells.get("by") or by))
    if not found:
        raise UsageError(
            f"{name} has no decision of a person.",
            remedy=f"Write one of {', '.join(VERBS)} into the column verb.",
        )
    return Read(found, undecided, judged)


def decoded(body: bytes, name: str) -> str:
    """Return the text of a CSV file.

    Raises:
        UsageError: it is not UTF-8.
    """
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{name} is not UTF-8: byte {error.start}.", remedy="Give a CSV file in UTF-8."
        ) from error


def _read(cells: dict[str, str], where: str, by: str | None) -> Decision:
    verb = cells["verb"].casefold()
    if verb not in VERBS:
        raise UsageError(
            f"{where}: {cells['verb']!r} is no decision.", remedy=f"It is {', '.join(VERBS)}."
        )
    if not by:
        raise UsageError(
            f"{where}: nothing says who decides.",
            remedy="Give a name (--as; `by` over REST), or a column by.",
        )
    after = _triplet(cells, where) if verb in ("correct", "add") else None
    candidate = None if verb == "add" else cells["candidate"]
    kept = cast("Verdict", "keep" if verb == "add" else verb)
    return Decision(candidate, kept, by, after, cells.get("reason") or None, where=where)


def _triplet(cells: dict[str, str], where: str) -> Triplet:
    parts = {name: cells.get(name, "") for name in PARTS}
    if cells.get("question"):
        parts["question"] = cells["question"]
    try:
        return Triplet.model_validate(parts)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"{where} is no triplet: {place} {first['msg']}.".replace(":  ", ": "),
            remedy="Give a subject, a relation and another object.",
        ) from error
