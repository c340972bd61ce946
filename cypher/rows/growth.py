"""Rows of `growth/`: runs that grow a graph, their answers, candidates, decisions, iterations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from .base import Row

RunState = Literal["growing", "waiting_review", "paused", "finished"]
CandidateKind = Literal["triplet", "chain"]
CandidateState = Literal[
    "new",
    "validated",
    "discarded",
    "pruned",
    "duplicate",
    "conflict",
    "review",
    "refused",
    "unknown",
]
Verb = Literal["keep", "prune", "correct", "add"]
"""What a person or a judge decided about a candidate."""


@dataclass(frozen=True)
class Reply(Row):
    """The answer of an endpoint.

    Attributes:
        text: the answer as it came.
        finish: `stop`, or `length` where it was cut at max_tokens, or `refusal` where the protocol
            itself marks one.
        seconds: the time of the call; of a batch in one process its share.
        tokens_in, tokens_out: as the endpoint counts them; None where it does not.
    """

    text: str
    finish: Literal["stop", "length", "refusal"]
    seconds: float
    tokens_in: int | None
    tokens_out: int | None


@dataclass(frozen=True)
class KnownAnswerRow(Reply):
    """A stored answer."""

    id: str


@dataclass(frozen=True)
class UsageRow(Row):
    """Answers of one kind in one iteration; tokens where counted, seconds of concurrent calls."""

    iteration: int
    kind: str
    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float


@dataclass(frozen=True)
class CandidatePlaceRow(Row):
    """A candidate on a page."""

    id: str
    place: int


@dataclass(frozen=True)
class CandidateCountRow(Row):
    """Candidates of one kind that are in one state for the same reason."""

    kind: Annotated[CandidateKind, Field(description="Triplet or chain.")]
    state: Annotated[CandidateState, Field(description="State of the candidates.")]
    reason: Annotated[str, Field(description="Why; empty where the state says all.")]
    candidates: Annotated[int, Field(description="Number of these candidates.")]


@dataclass(frozen=True)
class EvidenceRow(Row):
    """An answer that a candidate rests on."""

    role: Annotated[
        Literal["statement", "validation"],
        Field(
            description="statement: it was read from this answer; validation: it was checked by it."
        ),
    ]
    statement: Annotated[
        str | None, Field(description="The sentence that was read; null for a validation.")
    ]
    attempt: Annotated[
        int, Field(description="Number of the question tried, from 1; 0 for a statement.")
    ]
    kind: Annotated[str, Field(description="What the answer was asked for.")]
    question: Annotated[str, Field(description="Last turn of the request.")]
    answer: Annotated[str, Field(description="What the model answered.")]
    sample: Annotated[int, Field(description="Index of the sample.")]
    id: Annotated[str, Field(description="Id of the stored answer.")]


@dataclass(frozen=True)
class AddCandidateRow(Row):
    """Id of the candidate for a triplet, and whether it is new."""

    id: str
    created: bool


@dataclass(frozen=True)
class IterationRow(Row):
    """Sizes and cost after one iteration, in sum over it and those before; seconds are its own."""

    number: Annotated[int, Field(description="Number of the iteration, from 1.")]
    triplets: Annotated[int, Field(description="Number of accepted triplets so far.")]
    paths: Annotated[int, Field(description="Number of chains so far.")]
    cot_queries: Annotated[int, Field(description="Number of reasoning questions so far.")]
    calls: Annotated[int, Field(description="Number of answers so far.")]
    tokens_in: Annotated[int, Field(description="Number of tokens sent so far.")]
    tokens_out: Annotated[int, Field(description="Number of tokens received so far.")]
    seconds: Annotated[float, Field(description="Duration of this iteration in seconds.")]
