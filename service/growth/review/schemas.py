"""Schemas of a run's review: the same for CLI, REST, web UI and client."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ....cypher import rows
from ....cypher.rows.growth import CandidateKind, CandidateState, EvidenceRow, Verb
from ...agreement import Agreement

Verdict = Literal["keep", "prune", "correct"]
DecidedBy = Literal["human", "judge"]
NameText = Annotated[str, Field(min_length=1, max_length=400)]
Annotator = Annotated[str, Field(min_length=1, max_length=100)]
Reason = Annotated[str, Field(max_length=2000)]


class Triplet(BaseModel):
    """Subject, relation and object by their names."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    subject: NameText = Field(description="Name.")
    relation: NameText = Field(description="Relation.")
    object: NameText = Field(description="Name.")
    question: NameText | None = Field(default=None, description="Of a correction: ask this.")

    @model_validator(mode="after")
    def _of_two(self) -> Triplet:
        if self.subject.casefold() == self.object.casefold():
            raise ValueError("subject and object are the same")
        return self


def _as_stored(value: object) -> object:
    """Return a triplet that is stored as JSON as it is, acceptable today or not."""
    return Triplet.model_construct(**json.loads(value)) if isinstance(value, str) else value


FROM_JSON = BeforeValidator(_as_stored)


class DecisionIn(BaseModel):
    """A person's decision about a candidate."""

    model_config = ConfigDict(extra="forbid")

    verb: Verdict = Field(description="keep, prune or correct.")
    by: Annotator = Field(description="Name of the person; distinguishes annotators.")
    after: Triplet | None = Field(default=None, description="The corrected triplet.")
    reason: Reason | None = Field(default=None, description="Why, in the person's words.")


class AddIn(BaseModel):
    """A triplet that a person adds to a run."""

    model_config = ConfigDict(extra="forbid")

    triplet: Triplet = Field(description="The triplet to add.")
    by: Annotator = Field(description="Name of the person who adds it.")
    reason: Reason | None = Field(default=None, description="Why, in the person's words.")


class DecisionOut(BaseModel):
    """A stored decision."""

    number: int = Field(description="From 1.")
    at: str = Field(description="Time of the decision, ISO 8601 in UTC.")
    role: DecidedBy = Field(description="Who decided: human or judge.")
    by: str = Field(description="Name of the person, or model@address.")
    verb: Verb = Field(description="keep, prune, correct or add.")
    candidate: str = Field(description="Id of the candidate.")
    before: Annotated[Triplet | None, FROM_JSON] = Field(
        description="Null where the triplet was added."
    )
    after: Annotated[Triplet | None, FROM_JSON] = Field(description="Null where it was pruned.")
    reason: str | None = Field(description="Why, in words; null without.")
    evidence: list[str] = Field(description="Ids of answers that the candidate rests on.")


class Recorded(BaseModel):
    """Recorded decisions, and how many candidates still wait for one."""

    number: int = Field(description="Number of the last decision, from 1.")
    candidate: str = Field(description="Id of the candidate of the last decision.")
    recorded: int = Field(default=1, description="Decisions recorded by this request.")
    waiting: int = Field(description="Candidates that still wait for a decision.")
    resumed: bool = Field(default=False, description="The run was queued again: nothing waits.")


class RecordedFile(Recorded):
    """The decisions of a file that were recorded, and the rows that are none of a person."""

    undecided: int = Field(description="Rows without a verb.")
    judged: int = Field(description="Rows of a model judge, which are recorded for no person.")


class Decisions(BaseModel):
    """The decisions of a run, oldest first."""

    items: list[DecisionOut] = Field(description="The items of this page, in order.")
    total: int = Field(description="Number of items on all pages.")


class CandidateFields(BaseModel):
    """A candidate as a run found it; a chain has its ends, and its relations joined by arrows."""

    id: str = Field(description="Id of the candidate.")
    kind: CandidateKind = Field(description="Triplet or chain.")
    subject: str = Field(description="Subject of the fact.")
    relation: str = Field(description="Relation of the fact.")
    object: str = Field(description="Object of the fact.")
    prompt: str | None = Field(
        default=None, exclude=True, description="Cloze with one {} for the subject."
    )
    question: str | None = Field(
        default=None, description="Question that was asked for it; null without one."
    )
    state: CandidateState = Field(default="new", description="State of the candidate so far.")
    reason: str | None = Field(
        default=None, description="Why it is in this state; null where the state says all."
    )
    tries: int = Field(default=0, description="Number of questions that were tried.")
    share: float | None = Field(default=None, description="Answers that name the object.")
    n_answers: int = Field(default=0, description="Number of answers to its validating question.")
    iteration: int = Field(description="Iteration that found it.")
    place: int = Field(description="Place in the order of appearance.")


class CandidateOut(CandidateFields):
    """A stored candidate beside the decisions about it."""

    checks: Annotated[dict[str, Any] | None, rows.FROM_JSON] = Field(
        default=None, exclude=True, description="Further stored figures."
    )
    verdict: Verb | None = Field(description="What a person decided last.")
    decided_by: str | None = Field(description="Name of the person who decided last; null before.")
    corrected: Annotated[Triplet | None, FROM_JSON] = Field(
        description="The triplet that a person put in its place; null without a correction."
    )
    judged: Verdict | None = Field(
        description="Verdict of the judge: keep, prune or correct; null without one."
    )
    judge: str | None = Field(description="Name of the judge; null without one.")
    judge_corrected: Annotated[Triplet | None, FROM_JSON] = Field(
        description="The triplet that the judge would put in its place; null without one."
    )
    statements: list[str] = Field(description="Statements of the model that it was read from.")


class CandidatePage(BaseModel):
    """Candidates in order of appearance; `next` is null on the last page."""

    items: list[CandidateOut] = Field(description="The items of this page, in order.")
    next: str | None = Field(description="`cursor` of the next page; null on the last one.")
    total: int = Field(description="Candidates in these states, on all pages.")


class CandidateDetail(CandidateOut):
    """A candidate with the answers that it rests on and its decisions, oldest first."""

    evidence: list[EvidenceRow] = Field(description="The answers that it rests on.")
    decisions: list[DecisionOut] = Field(description="The decisions about it, oldest first.")


class AgreementReport(Agreement):
    """Agreement of people over what they decided; null where undefined."""

    annotators: list[str] = Field(description="Names of the people.")
