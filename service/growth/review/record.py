"""Decisions about a run's candidates: each is stored with who made it, when and why.

A decision is never changed: a later one is another record. A person's latest one counts; a judge's
never changes it (cypher/growth/append_decision.cypher). Writers lock the run, so concurrent
decisions are numbered in one order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ....cypher import rows
from ....loaders.records import digest
from ...errors import ConflictError, NotFoundError, ServiceError, UsageError
from ..runs import require_run
from .schemas import CandidateOut, DecidedBy, DecisionOut, Decisions, Recorded, Triplet, Verdict

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ....cypher.sending import Tx

PARTS = ("subject", "relation", "object")
WAITING = ("review", "conflict")
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
    rests_on = {
        row.id
        for row in tx.run(rows.EvidenceRow, "growth/evidence", run=run, id=candidate)
        if row.id
    }
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
        evidence=sorted(rests_on),
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
        listing = f"thinkeval grow candidates {run}"
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
