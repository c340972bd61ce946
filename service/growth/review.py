"""Review of a run's candidates: decisions of people and of a judge, and their agreement."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from pydantic import ValidationError

from ...cypher import rows
from ...cypher.rows.growth import CandidateState
from ...loaders.records import digest
from ..base.errors import ConflictError, NotFoundError, ServiceError, UsageError
from ..base.statistics import agreement
from ..reports.formats import Column
from .runs import require_run
from .schemas import (
    CandidateDetail,
    CandidateOut,
    CandidatePage,
    DecidedBy,
    DecisionOut,
    Decisions,
    JudgeRow,
    Recorded,
    Triplet,
    Verdict,
)

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx

# Decisions about a run's candidates: each is stored with who made it, when and why.
#
# A decision is never changed: a later one is another record. A person's latest one counts; a
# judge's never changes it (cypher/growth/append_decision.cypher). Writers lock the run, so
# concurrent decisions are numbered in one order.

PARTS = ("subject", "relation", "object")
WAITING: tuple[CandidateState, ...] = ("review", "conflict")
"""States of candidates that a person shall decide."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision to record.

    Attributes:
        candidate: its id; None adds the triplet `after`.
        by: name of the person, or model@address of the judge.
        after: the corrected or added triplet.
        where: where it is written, for errors: a file's name and line.
    """

    candidate: str | None
    verb: Verdict
    by: str
    after: Triplet | None = None
    reason: str | None = None
    role: DecidedBy = "human"
    where: str = ""


def decide(
    db: Database,
    run: str,
    candidate: str,
    verb: Verdict,
    by: str,
    *,
    after: Triplet | None = None,
    reason: str | None = None,
    role: DecidedBy = "human",
) -> Recorded:
    """Record a decision about a candidate; raises as `record`."""
    return record(db, run, [Decision(candidate, verb, by, after, reason, role)])


def record(db: Database, run: str, decisions: Sequence[Decision]) -> Recorded:
    """Record decisions in their order: all of them, or none where one is refused.

    Raises:
        NotFoundError: no such run or candidate.
        ConflictError: an added triplet is a candidate already.
        UsageError: no such verb, no valid name, or a correction is missing, idle or of a chain.
    """
    if not decisions:
        raise UsageError("There is no decision to record.", remedy="Give one at least.")

    def write(tx: Tx) -> Recorded:
        locked = tx.run(int, "growth/lock_decisions", run=run)
        if not locked:
            require_run(db, run)
        first = locked[0]
        candidate = ""
        for number, each in enumerate(decisions, first):
            try:
                candidate = _write(tx, run, number, each)
            except ServiceError as error:
                if each.where:
                    error.detail = f"{each.where}: {error.detail}"
                raise
        (left,) = tx.run(int, "growth/waiting", run=run, states=list(WAITING))
        return Recorded(
            number=first + len(decisions) - 1,
            candidate=candidate,
            recorded=len(decisions),
            waiting=left,
        )

    return db.atomically(write)


def decisions_of(db: Database, run: str, candidate: str | None = None) -> Decisions:
    """Return the decisions of a run, oldest first.

    Args:
        candidate: only those about this one.

    Raises:
        NotFoundError: no such run.
    """
    require_run(db, run)
    items = db.read(DecisionOut, "growth/decisions", run=run, candidate=candidate)
    return Decisions(items=items, total=len(items))


def current(candidate: CandidateOut) -> Triplet:
    """Return the triplet of a candidate in force: people's correction, or else as it was found."""
    parts: dict[str, Any] = {name: getattr(candidate, name) for name in PARTS}
    # Not checked: the answer of a model may have any triplet.
    return candidate.corrected or Triplet.model_construct(**parts)


def annotator(name: str) -> str:
    """Return the name of who decides, without spaces around it.

    Raises:
        UsageError: it is empty, too long or not printable.
    """
    stripped = name.strip()
    if not stripped or len(stripped) > 400 or not stripped.isprintable():
        raise UsageError(
            f"{name!r} is not a valid name of an annotator.",
            remedy="Give a printable name: it distinguishes the annotators.",
        )
    return stripped


def _write(tx: Tx, run: str, number: int, decision: Decision) -> str:
    """Store one decision; return the id of its candidate."""
    by = annotator(decision.by)
    if decision.candidate is None:
        verb, candidate, before, after = "add", *_added(tx, run, decision)
    else:
        verb, candidate = decision.verb, decision.candidate
        before, after = _decided(tx, run, candidate, decision)
    evidence = tx.run(rows.EvidenceRow, "growth/evidence", run=run, id=candidate)
    tx.run(
        int,
        "growth/append_decision",
        run=run,
        number=number,
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        role=decision.role,
        by=by,
        verb=verb,
        candidate=candidate,
        before=_json(before),
        after=_json(after),
        reason=decision.reason,
        evidence=sorted({row.id for row in evidence}),
    )
    return candidate


def _added(tx: Tx, run: str, decision: Decision) -> tuple[str, None, Triplet]:
    """Store the candidate of an added triplet."""
    triplet = decision.after
    if triplet is None:
        raise UsageError("An addition needs the triplet.", remedy="Give its three names.")
    parts = (triplet.subject, triplet.relation, triplet.object)
    key = digest(["triplet", *parts], 16)
    names = triplet.model_dump(exclude={"question"})
    (stored,) = tx.run(rows.AddCandidateRow, "growth/add_candidate", run=run, id=key, **names)
    if not stored.created:
        raise ConflictError(
            f"{' | '.join(parts)} is a candidate of the run already: {stored.id}.",
            remedy="Keep it, or correct it.",
        )
    return key, None, triplet.model_copy(update={"question": None})


def _decided(
    tx: Tx, run: str, candidate: str, decision: Decision
) -> tuple[Triplet, Triplet | None]:
    """Check a decision; return the candidate's triplet before and after it."""
    found = tx.run(CandidateOut, "growth/candidates", run=run, ids=[candidate])
    if not found:
        listing = f"thinkeval graph grow candidates {run}"
        raise NotFoundError("candidate", candidate, [], listing=listing)
    before, verb, after = current(found[0]), decision.verb, decision.after
    if verb not in ("keep", "prune", "correct"):
        raise UsageError(f"{verb!r} is no decision.", remedy="It is keep, prune or correct.")
    if (verb == "correct") != (after is not None):
        raise UsageError(
            "A correction needs the corrected triplet."
            if after is None
            else f"{verb} takes no corrected triplet.",
            remedy="Give subject, relation and object with `correct`, and only with it.",
        )
    if after is not None and found[0].kind == "chain":
        raise UsageError(
            "A chain cannot be corrected.", remedy="Correct its triplets, or prune the chain."
        )
    if before == after:
        raise UsageError("The correction changes nothing.", remedy="Decide `keep`.")
    return before, {"keep": before, "correct": after}.get(verb)


def _json(of: Triplet | None) -> str | None:
    parts = None if of is None else of.model_dump(exclude_none=True)
    return None if parts is None else json.dumps(parts, ensure_ascii=False)


# Candidates of a run, page by page, and one with all that it rests on.
#
# The review queue are the candidates that wait (`record.WAITING`). A page reads its own rows
# only, whatever the number of candidates (benchmarks/growth/review_queue.py).

PAGE = 50
"""Default number of candidates on a page."""
ALL = 999_999
"""Candidates of a file, at most."""
SEPARATOR = "~"


def page(
    db: Database,
    run: str,
    states: Sequence[CandidateState] | None = None,
    *,
    limit: int = PAGE,
    cursor: str | None = None,
    undecided_by: str | None = None,
) -> CandidatePage:
    """One page of candidates in order of appearance.

    Args:
        states: only in these; None: all.
        undecided_by: only those that this person has not decided yet.

    Raises:
        NotFoundError: no such run.
        UsageError: the cursor is not one of ours.
    """
    place, name = _read_cursor(cursor)
    (all_,) = db.read(
        int, "growth/waiting", run=run, states=list(states or get_args(CandidateState))
    )
    places = db.read(
        rows.CandidatePlaceRow,
        "growth/candidate_page",
        run=run,
        states=None if states is None else list(states),
        after=place,
        after_id=name,
        limit=limit + 1,
        undecided_by=undecided_by,
    )
    if not places:
        require_run(db, run)
    shown = places[:limit]
    found = db.read(CandidateOut, "growth/candidates", run=run, ids=[each.id for each in shown])
    by_id = {row.id: row for row in found}
    return CandidatePage(
        items=[by_id[each.id] for each in shown if each.id in by_id],
        next=f"{shown[-1].place}{SEPARATOR}{shown[-1].id}" if len(places) > limit else None,
        total=all_,
    )


def detail(db: Database, run: str, candidate: str) -> CandidateDetail:
    """A candidate with the answers that it rests on and the decisions about it.

    Raises:
        NotFoundError: no such run or candidate.
    """
    decisions = decisions_of(db, run, candidate).items
    found = db.read(CandidateOut, "growth/candidates", run=run, ids=[candidate])
    if not found:
        raise NotFoundError(
            "candidate", candidate, [], listing=f"thinkeval graph grow candidates {run}"
        )
    evidence = db.read(rows.EvidenceRow, "growth/evidence", run=run, id=candidate)
    return CandidateDetail(**dict(found[0]), evidence=evidence, decisions=decisions)


def _read_cursor(cursor: str | None) -> tuple[int, str]:
    if cursor is None:
        return -1, ""
    place, mark, name = cursor.partition(SEPARATOR)
    if not (mark and name and place.isascii() and place.isdigit() and len(place) < 10):
        raise UsageError(
            f"{cursor!r} is not a cursor.", remedy="Give `next` of the previous page unchanged."
        )
    return int(place), name


# The judge against people, and people against each other: one table, a row an iteration.
#
# Positive is a triplet that people keep (ThinkEval, App. P, Table 11): TP where the judge keeps
# it too, FN where the judge prunes it, FP where only the judge keeps it. A corrected or added
# triplet counts as kept. Only triplets that both decided are counted. Table 11's figures are
# those of its last iteration; the sum over iterations differs.
#
# Agreement is over the candidates that two persons or more decided; of several decisions of one
# person about one candidate the latest counts.

CATEGORIES = ("keep", "prune", "correct")


def judge_rows(db: Database, run: str) -> list[JudgeRow]:
    """Return a row an iteration and one over all; none where nothing was judged or decided."""
    ratings = _ratings(db, run)
    by_iteration: dict[int, list[CandidateOut]] = defaultdict(list)
    for row in db.read(CandidateOut, "growth/candidates", run=run):
        if row.judged is not None or row.id in ratings:
            by_iteration[row.iteration].append(row)
    counted = [_row(number, each, ratings) for number, each in sorted(by_iteration.items())]
    every = [row for each in by_iteration.values() for row in each]
    return [*counted, _row(None, every, ratings)] if every else []


def quality(tp: int, fp: int, fn: int) -> dict[str, float | None]:
    """Return precision, recall and F1 of counts; None where undefined."""
    return {
        "precision": tp / (tp + fp) if tp + fp else None,
        "recall": tp / (tp + fn) if tp + fn else None,
        "f1": 2 * tp / (2 * tp + fp + fn) if tp + fp and tp + fn else None,
    }


def _ratings(db: Database, run: str) -> dict[str, dict[str, str]]:
    """Return the latest decision of each person, by candidate."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in db.read(DecisionOut, "growth/decisions", run=run):
        if row.role == "human":
            found[row.candidate][row.by] = "keep" if row.verb == "add" else row.verb
    return found


def _row(
    iteration: int | None,
    candidates: Sequence[CandidateOut],
    ratings: Mapping[str, Mapping[str, str]],
) -> JudgeRow:
    judged = [row for row in candidates if row.kind == "triplet" and row.judged is not None]
    pairs = [
        (row.judged != "prune", row.verdict != "prune") for row in judged if row.verdict is not None
    ]
    tp, fp, fn, tn = (
        pairs.count(each) for each in ((True, True), (True, False), (False, True), (False, False))
    )
    said = [list(ratings[row.id].values()) for row in candidates if row.id in ratings]
    agreed = agreement(said, CATEGORIES)
    values: dict[str, Any] = {
        name: getattr(agreed, name) for name in ("pairwise", "unanimous", "ac1", "alpha")
    }
    return JudgeRow(
        iteration=iteration,
        judged=len(judged),
        both=len(pairs),
        tp=tp,
        fp=fp,
        fn=fn,
        tn=tn,
        rated=agreed.n,
        **quality(tp, fp, fn),
        **values,
    )


# Tables of a review, for the terminal and for CSV files, and decisions read from CSV files.
#
# The CSV of candidates has an empty column `verb`: filled in, by a spreadsheet for one, the file
# is read as decisions. The CSV of decisions is read in the same way: they can be given to another
# run.

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
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    lines = _readable(reader, name)
    header = next(lines, [])
    columns = {key.strip().casefold(): key for key in header if key}
    if not {"candidate", "verb"} <= columns.keys():
        raise UsageError(
            f"{name} has no columns candidate and verb; its columns are"
            f" {', '.join(columns) or 'none'}.",
            remedy="Separate columns by commas. Further ones are subject, relation, object,"
            " question, reason and by.",
        )
    found: list[Decision] = []
    undecided = judged = 0
    for values in filter(None, lines):
        row = dict(zip(header, values, strict=False))
        cells = {key: row.get(column, "").strip() for key, column in columns.items()}
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


def _readable(reader: Any, name: str) -> Iterator[list[str]]:
    """The rows of a CSV file.

    Raises:
        UsageError: one cannot be read, such as a field above 131,072 characters; names the line.
    """
    try:
        yield from reader
    except csv.Error as error:
        raise UsageError(
            f"{name}, line {reader.line_num}: {error}.",
            remedy="Check that each quotation mark is closed, and that columns have commas.",
        ) from error


def read_file(path: Path, by: str | None) -> Read:
    """Read the decisions of a CSV file; called by `datasets.read_apart`.

    Raises:
        UsageError: there is no such file, or as `read_decisions`.
    """
    try:
        body = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror or error}.", remedy="Give a CSV file."
        ) from error
    return read_decisions(decoded(body, path.name), path.name, by)


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
