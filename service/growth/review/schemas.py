"""What the review of a run takes and gives: the same for CLI, REST, web UI and client."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ....cypher.rows.growth import CandidateKind, CandidateState, EvidenceRow, Verb

Verdict = Literal["keep", "prune", "correct"]
DecidedBy = Literal["human", "judge"]
NameText = Annotated[str, Field(min_length=1, max_length=400)]
Annotator = Annotated[str, Field(min_length=1, max_length=100)]
Reason = Annotated[str, Field(max_length=2000)]


class Triplet(BaseModel):
    """Subject, relation and object by their names."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    subject: NameText
    relation: NameText
    object: NameText
    question: NameText | None = Field(default=None, description="Of a correction: ask this.")

    @model_validator(mode="after")
    def _of_two(self) -> Triplet:
        if self.subject.casefold() == self.object.casefold():
            raise ValueError("subject and object are the same")
        return self


class DecisionIn(BaseModel):
    """A person's decision about a candidate."""

    model_config = ConfigDict(extra="forbid")

    verb: Verdict
    by: Annotator = Field(description="Name of the person; distinguishes annotators.")
    after: Triplet | None = Field(default=None, description="The corrected triplet.")
    reason: Reason | None = None


class AddIn(BaseModel):
    """A triplet that a person adds to a run."""

    model_config = ConfigDict(extra="forbid")

    triplet: Triplet
    by: Annotator
    reason: Reason | None = None


class DecisionOut(BaseModel):
    """A stored decision."""

    number: int = Field(description="From 1.")
    at: str
    role: DecidedBy
    by: str = Field(description="Name of the person, or model@address.")
    verb: Verb
    candidate: str
    before: Triplet | None = Field(description="Null where the triplet was added.")
    after: Triplet | None = Field(description="Null where it was pruned.")
    reason: str | None
    evidence: list[str] = Field(description="Ids of answers that the candidate rests on.")


class Recorded(BaseModel):
    """Recorded decisions, and how many candidates still wait for one."""

    number: int = Field(description="Of the last one.")
    candidate: str = Field(description="Of the last one.")
    recorded: int = Field(default=1, description="Decisions recorded by this request.")
    waiting: int = Field(description="Candidates that still wait for a decision.")
    resumed: bool = Field(default=False, description="The run was queued again: nothing waits.")


class RecordedFile(Recorded):
    """The decisions of a file that were recorded, and the rows that are none of a person."""

    undecided: int = Field(description="Rows without a verb.")
    judged: int = Field(description="Rows of a model judge, which are recorded for no person.")


class Decisions(BaseModel):
    """The decisions of a run, oldest first."""

    items: list[DecisionOut]
    total: int


class CandidateOut(BaseModel):
    """A candidate beside what was decided about it."""

    id: str
    kind: CandidateKind
    subject: str
    relation: str
    object: str
    question: str | None
    state: CandidateState
    reason: str | None
    tries: int
    share: float | None = Field(description="Answers that name the object.")
    n_answers: int
    iteration: int
    place: int
    verdict: Verb | None = Field(description="What a person decided last.")
    decided_by: str | None
    corrected: Triplet | None
    judged: Verdict | None
    judge: str | None
    judge_corrected: Triplet | None
    statements: list[str]


class CandidatePage(BaseModel):
    """Candidates in order of appearance; `next` is null on the last page."""

    items: list[CandidateOut]
    next: str | None
    total: int = Field(description="Candidates in these states, on all pages.")


class CandidateDetail(CandidateOut):
    """A candidate with the answers that it rests on and its decisions, oldest first."""

    evidence: list[EvidenceRow]
    decisions: list[DecisionOut]


class AgreementReport(BaseModel):
    """Agreement of people over what they decided; null where undefined."""

    n: int = Field(description="Items with two ratings or more.")
    annotators: list[str]
    pairwise: float | None = Field(description="Mean fraction of pairs of equal ratings.")
    unanimous: float | None = Field(description="Fraction of items on which all agree.")
    ac1: float | None = Field(description="Gwet's AC1.")
    alpha: float | None = Field(description="Krippendorff's alpha, nominal.")


class JudgeRow(BaseModel):
    """The model judge against people, and people against each other, in one iteration or in all.

    Positive is a triplet that a person keeps, corrects or adds. Null where undefined.
    """

    iteration: int | None = Field(description="Null: all iterations.")
    judged: int = Field(description="Triplets that the judge decided.")
    both: int = Field(description="Of them, triplets that a person decided too.")
    tp: int = Field(description="Both keep it.")
    fp: int = Field(description="The judge alone keeps it.")
    fn: int = Field(description="The person alone keeps it.")
    tn: int = Field(description="Neither keeps it.")
    precision: float | None = Field(description="tp / (tp + fp).")
    recall: float | None = Field(description="tp / (tp + fn).")
    f1: float | None = Field(description="Null where precision or recall is.")
    rated: int = Field(description="Candidates that two persons or more decided.")
    pairwise: float | None = Field(description="Of them: mean fraction of equal pairs.")
    unanimous: float | None = Field(description="Of them: fraction on which all agree.")
    ac1: float | None = Field(description="Of them: Gwet's AC1.")
    alpha: float | None = Field(description="Of them: Krippendorff's alpha, nominal.")


class JudgeTable(BaseModel):
    """One row an iteration, and the last one over all of them."""

    items: list[JudgeRow]
