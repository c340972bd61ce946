"""The log of decisions about a run's candidates: append-only, each with the digest of the last.

A record's digest covers its content and the digest of the record before, so an altered, removed or
inserted record is found by `verify`; the run notes number and digest of the last one, so records
missing at the end are found too. Writers lock the run, so concurrent decisions make one chain.

What counts is a person's latest decision; a judge's never changes it
(cypher/growth/append_decision.cypher).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ....cypher import rows
from ....loaders.records import digest
from ...digest_chain import Linked, digest_of, first_broken
from ...errors import ConflictError, NotFoundError, UsageError
from .schemas import (
    Appended,
    DecidedBy,
    DecisionOut,
    LogOut,
    Triplet,
    Verdict,
    Verified,
)

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ....cypher.sending import Tx

WAITING = ("review", "conflict")
"""States of candidates that a person shall decide."""


def run_of(db: Database, run: str) -> rows.GrowthRunRow:
    """A stored run.

    Raises:
        NotFoundError: there is none; close names are suggested.
    """
    found = db.read(rows.GrowthRunRow, id=run)
    if not found:
        known = [row.id for row in db.read(rows.GrowthRunRow)]
        raise NotFoundError("growth run", run, known, listing="thinkeval grow list")
    return found[0]


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
    evidence: Sequence[str] = (),
) -> Appended:
    """Append a decision about a candidate to the log of its run.

    Args:
        by: name of the person, or model@address of the judge.
        after: the corrected triplet.
        evidence: ids of answers beside those that the candidate rests on.

    Raises:
        NotFoundError: no such run or candidate.
        UsageError: no such verb, no valid name, or a correction is missing, idle or of a chain.
    """
    name = annotator(by)

    def write(tx: Tx) -> Appended:
        end = _locked(db, tx, run)
        found = tx.run(rows.CandidateRow, run=run, ids=[candidate])
        if not found:
            raise NotFoundError(
                "candidate", candidate, [], listing=f"thinkeval grow review {run} --list"
            )
        before = current(found[0])
        _check(found[0], verb, before, after)
        rests_on = {row.id for row in tx.run(rows.EvidenceRow, run=run, id=candidate) if row.id}
        return _append(
            tx,
            run,
            end,
            role=role,
            by=name,
            verb=verb,
            candidate=candidate,
            before=_json(before),
            after=_json({"keep": before, "correct": after}.get(verb)),
            reason=reason,
            evidence=sorted(rests_on | set(evidence)),
        )

    return db.atomically(write)


def add(
    db: Database, run: str, triplet: Triplet, by: str, *, reason: str | None = None
) -> Appended:
    """Add a triplet as a candidate of the run, which validates it like any other.

    Raises:
        NotFoundError: no such run.
        ConflictError: it is a candidate already.
        UsageError: no valid name.
    """
    name = annotator(by)
    key = triplet_id(triplet)

    def write(tx: Tx) -> Appended:
        end = _locked(db, tx, run)
        added = tx.run(
            rows.AddCandidateRow, run=run, id=key, **triplet.model_dump(exclude={"question"})
        )
        if not added[0].created:
            raise ConflictError(
                f"{triplet.subject} | {triplet.relation} | {triplet.object} is a candidate of the"
                f" run already: {added[0].id}.",
                remedy="Keep it, or correct it.",
            )
        return _append(
            tx,
            run,
            end,
            role="human",
            by=name,
            verb="add",
            candidate=key,
            before=None,
            after=_json(triplet.model_copy(update={"question": None})),
            reason=reason,
            evidence=[],
        )

    return db.atomically(write)


def triplet_id(triplet: Triplet) -> str:
    """Id of a candidate for a triplet within its run."""
    return digest(["triplet", triplet.subject, triplet.relation, triplet.object], 16)


def current(candidate: rows.CandidateRow) -> Triplet:
    """The triplet of a candidate as people have it: their correction, or else as it was found."""
    found = candidate.subject, candidate.relation, candidate.object
    parts: dict[str, Any] = dict(zip(("subject", "relation", "object"), found, strict=True))
    # Not checked: the answer of a model may have any triplet.
    return read_triplet(candidate.corrected) or Triplet.model_construct(**parts)


def read_triplet(text: str | None) -> Triplet | None:
    """A stored triplet; None where there is none, or what is stored is none."""
    try:
        return None if text is None else Triplet.model_validate_json(text)
    except ValidationError:
        return None


def annotator(name: str) -> str:
    """The name of who decides, without spaces around it.

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


def log_of(db: Database, run: str, candidate: str | None = None) -> LogOut:
    """The decisions of a run, oldest first.

    Args:
        candidate: only those about this one.

    Raises:
        NotFoundError: no such run.
    """
    items = [_out(row) for row in records(db, run, candidate)]
    return LogOut(items=items, total=len(items))


def records(db: Database, run: str, candidate: str | None = None) -> list[rows.DecisionRow]:
    """The stored records of a run's log in order.

    Raises:
        NotFoundError: no such run.
    """
    run_of(db, run)
    return db.read(rows.DecisionRow, run=run, candidate=candidate)


def verify(db: Database, run: str) -> Verified:
    """Whether the log of a run is whole; else the first broken record and what is wrong with it.

    Raises:
        NotFoundError: no such run.
    """
    kept = records(db, run)
    broken = first_broken(_linked(run, row) for row in kept)
    if broken is not None:
        return Verified(ok=False, records=len(kept), broken=broken.number, why=broken.why)
    previous = kept[-1].digest if kept else ""
    end = db.read(rows.LogEndRow, run=run)[0]
    if end.decisions > len(kept):
        missing = end.decisions - len(kept)
        why = f"{missing} of {end.decisions} records are missing at the end"
        return Verified(ok=False, records=len(kept), broken=len(kept) + 1, why=why)
    if (end.decisions, end.digest) != (len(kept), previous):
        why = "the run notes another end of its log"
        return Verified(ok=False, records=len(kept), broken=len(kept), why=why)
    return Verified(ok=True, records=len(kept))


def _linked(run: str, row: rows.DecisionRow) -> Linked:
    content = _content(run, asdict(row))
    return Linked(row.number, row.previous_digest, row.digest, content)


def _content(run: str, record: dict[str, Any]) -> dict[str, Any]:
    """What the digest of a record covers."""
    content = {key: value for key, value in record.items() if key != "digest"}
    return content | {"run": run, "evidence": list(record["evidence"])}


def _locked(db: Database, tx: Tx, run: str) -> rows.LockLogRow:
    end = tx.run(rows.LockLogRow, run=run)
    if not end:
        run_of(db, run)
    return end[0]


def _append(tx: Tx, run: str, end: rows.LockLogRow, **content: Any) -> Appended:
    record = content | {
        "number": end.number,
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "previous_digest": end.digest,
    }
    record["digest"] = digest_of(_content(run, record))
    tx.run(rows.AppendDecisionRow, run=run, **record)
    (left,) = tx.run(rows.WaitingRow, run=run, states=list(WAITING))
    return Appended(
        number=end.number,
        candidate=record["candidate"],
        digest=record["digest"],
        waiting=left.candidates,
    )


def _check(candidate: rows.CandidateRow, verb: str, before: Triplet, after: Triplet | None) -> None:
    if verb not in ("keep", "prune", "correct"):
        raise UsageError(f"{verb!r} is no decision.", remedy="It is keep, prune or correct.")
    if (verb == "correct") != (after is not None):
        raise UsageError(
            "A correction needs the corrected triplet."
            if after is None
            else f"{verb} takes no corrected triplet.",
            remedy="Give subject, relation and object with `correct`, and only with it.",
        )
    if after is None:
        return
    if candidate.kind == "chain":
        raise UsageError(
            "A chain cannot be corrected.", remedy="Correct its triplets, or prune the chain."
        )
    if before == after:
        raise UsageError("The correction changes nothing.", remedy="Decide `keep`.")


def _json(of: Triplet | None) -> str | None:
    parts = None if of is None else of.model_dump(exclude_none=True)
    return None if parts is None else json.dumps(parts, ensure_ascii=False)


def _out(row: rows.DecisionRow) -> DecisionOut:
    values = asdict(row) | {
        "before": _loose(row.before),
        "after": _loose(row.after),
        "evidence": list(row.evidence),
    }
    return DecisionOut.model_validate(values)


def _loose(text: str | None) -> Triplet | None:
    """A logged triplet as it is, whether it would be accepted today or not."""
    return None if text is None else Triplet.model_construct(**json.loads(text))
