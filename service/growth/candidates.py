"""Candidates of one pass over a run, and the findings of an elicitor that they come from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import Field

from ...cypher import rows
from ...cypher.rows.growth import CandidateKind, CandidateState, Verb
from ...loaders.records import digest
from .schemas import CandidateFields, CandidateOut, DecisionOut
from .schemas import Triplet as NamedTriplet

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ..base.leases import Lease


# Candidates of one pass over a run: triplets and chains in order of appearance, with their
# states.
#
# A pass computes them anew from request, answers and decisions; its findings overwrite those of
# an earlier pass stored. Decisions are read from the database, never written here.

BATCH = 2000
"""Rows of one query."""
Triplet = tuple[str, str, str]
"""Subject, relation, object."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The decisions about a candidate.

    Attributes:
        verdict, corrected: a person's.
        judged, judge_corrected: the model judge's.
    """

    verdict: Verb | None = None
    corrected: Triplet | None = None
    judged: Verb | None = None
    judge_corrected: Triplet | None = None
    question: str | None = None


class Candidate(CandidateFields):
    """A candidate of this pass; see growth/write_candidates.

    Attributes:
        relations: of a chain, in order.
        entities: of a chain, in order.
        corrected: the triplet that a decision put in its place.
        other: id of the candidate that has the corrected triplet already.
        asked: questions that were tried, with their answers' texts.
    """

    relations: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    corrected: Triplet | None = None
    other: str | None = None
    paraphrases: tuple[str, ...] = ()
    statements: list[str] = Field(default_factory=list)
    queries: list[str] = Field(default_factory=list)
    checks: dict[str, Any] = Field(default_factory=dict)
    asked: list[tuple[str, list[str]]] = Field(default_factory=list)

    @property
    def triplet(self) -> Triplet:
        """The triplet in force: the corrected one where there is one."""
        return self.corrected or (self.subject, self.relation, self.object)

    def end(self, state: CandidateState, reason: str | None = None) -> None:
        """Set its state with the reason."""
        self.state, self.reason = state, reason

    def row(self) -> dict[str, Any]:
        """As growth/write_candidates takes it."""
        checks = dict(self.checks)
        if self.kind == "chain":
            checks["entities"] = list(self.entities)
        return self.model_dump(include=set(CandidateFields.model_fields)) | {
            "prompt": self.prompt,
            "statements": list(dict.fromkeys(self.statements)),
            "queries": list(dict.fromkeys(self.queries)),
            "checks": json.dumps(checks, ensure_ascii=False, sort_keys=True) if checks else None,
        }


def triplet_id(subject: str, relation: str, object: str) -> str:
    """Id of a triplet's candidate within its run."""
    return digest(["triplet", subject, relation, object], 16)


class Candidates:
    """The candidates of one pass."""

    def __init__(self, decided: dict[str, Verdicts]) -> None:
        self.decided = decided
        self._all: dict[str, Candidate] = {}
        self._in_force: dict[Triplet, str] = {}
        self._written: dict[str, str] = {}

    def verdicts(self, candidate: Candidate) -> Verdicts:
        """Return the decisions about a candidate."""
        return self.decided.get(candidate.id, Verdicts())

    def all(self, kind: CandidateKind | None = None) -> list[Candidate]:
        """All of a kind, in order of appearance."""
        return [one for one in self._all.values() if kind is None or one.kind == kind]

    def found(self, triplet: Triplet) -> Candidate | None:
        """Return the candidate of a triplet as it was found; None without one."""
        return self._all.get(triplet_id(*triplet))

    def other(self, candidate: Candidate) -> Candidate | None:
        """The candidate that has its corrected triplet already; None where none has."""
        return self._all.get(candidate.other) if candidate.other else None

    def triplet(
        self, subject: str, relation: str, object: str, iteration: int
    ) -> tuple[Candidate, bool]:
        """Return the candidate of a triplet, and True if it is new."""
        known = self._in_force.get((subject, relation, object))
        name = known or triplet_id(subject, relation, object)
        if name in self._all:
            return self._all[name], False
        made = Candidate(
            id=name,
            kind="triplet",
            subject=subject,
            relation=relation,
            object=object,
            iteration=iteration,
            place=len(self._all),
        )
        self._all[name] = made
        self._in_force[made.triplet] = name
        return made, True

    def correct(self, candidate: Candidate, triplet: Triplet) -> bool:
        """Put a corrected triplet in force; False where another candidate has it already."""
        other = self._in_force.get(triplet, candidate.id)
        if other != candidate.id:
            candidate.other = other
            return False
        self._in_force[triplet] = candidate.id
        candidate.corrected = triplet
        return True

    def chain(
        self, entities: Sequence[str], relations: Sequence[str], iteration: int
    ) -> tuple[Candidate, bool]:
        """Return the candidate of a chain, and True if it is new."""
        name = digest(["chain", list(entities), list(relations)], 16)
        if name in self._all:
            return self._all[name], False
        made = Candidate(
            id=name,
            kind="chain",
            subject=entities[0],
            relation=" → ".join(relations),
            object=entities[-1],
            iteration=iteration,
            place=len(self._all),
            relations=tuple(relations),
            entities=tuple(entities),
        )
        self._all[name] = made
        return made, True

    def write(self, db: Database, run: str, lease: Lease | None) -> None:
        """Store the changes since the last call."""
        fresh = []
        for one in self._all.values():
            row = one.row()
            text = json.dumps(row, sort_keys=True)
            if self._written.get(one.id) != text:
                self._written[one.id] = text
                fresh.append(row)

        def store(part: list[dict[str, object]], tx: Tx) -> None:
            tx.run(rows.WrittenRow, "growth/write_candidates", run=run, rows=part)
            if lease is not None:
                lease.assert_owned(tx.run)

        for start in range(0, len(fresh), BATCH):
            db.atomically(partial(store, fresh[start : start + BATCH]))


def decisions(db: Database, run: str) -> tuple[dict[str, Verdicts], list[Triplet]]:
    """Return the decisions by candidate, and the triplets that persons added, in their order."""
    found: dict[str, Verdicts] = {}
    added: list[Triplet] = []
    given = {
        each.candidate
        for each in db.read(DecisionOut, "growth/decisions", run=run)
        if each.verb == "add"
    }
    for row in db.read(CandidateOut, "growth/candidates", run=run):
        if row.verdict is None and row.judged is None:
            continue
        found[row.id] = Verdicts(
            row.verdict,
            _triplet(row.corrected),
            row.judged,
            _triplet(row.judge_corrected),
            row.corrected.question if row.corrected else None,
        )
        # Whatever was decided about it later, no answer leads to it: only the decision knows it.
        if row.id in given and row.verdict != "prune":
            added.append((row.subject, row.relation, row.object))
    return found, added


def _triplet(of: NamedTriplet | None) -> Triplet | None:
    return (of.subject, of.relation, of.object) if of else None


# Findings of an elicitor: statements, and the triplets that they state.


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that triplets come from.

    Attributes:
        id: within the run.
        answer: id of the answer that it is part of.
        place: its order in there.
        parsed: True if triplets could be read from it.
    """

    id: str
    text: str
    place: int
    answer: str
    parsed: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    """A triplet that an elicitor found; names as they were written.

    Attributes:
        statements: ids of the statements it comes from, within the run.
        share: fraction of answers that name the object, where the elicitor has asked for it: such a
            triplet is not validated again. None: it is to be validated.
        n_answers: number of these answers.
        queries: ids of their queries within the run.
        discarded: why it is recorded and is no fact; None where it may be one.
        unknown: the model says that it does not know: the triplet is recorded, and is no fact.
        review: why a person shall decide about it.
        checks: further figures that are stored with it.
    """

    subject: str
    relation: str
    object: str
    statements: tuple[str, ...] = ()
    share: float | None = None
    n_answers: int = 0
    queries: tuple[str, ...] = ()
    discarded: str | None = None
    unknown: bool = False
    review: str | None = None
    checks: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Elicited:
    """The findings of one iteration, in order of appearance.

    Attributes:
        queries: requests for reasoning that were made: the iteration table's CoT queries.
    """

    found: Sequence[Found]
    statements: Sequence[Statement] = ()
    queries: int = 0
