"""Rows of `depedit/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from .base import Row

Setting = Literal["CQ_DT", "CQ_UT", "ICQ_DT"]
"""Wording of a set's questions."""
Source = Literal["stored", "shuffled", "file"]
"""Source of a set's facts."""
Phase = Literal["establish", "update"]
Role = Literal["specific", "unrelated", "implication"]
Change = Literal["kept", "updated", "new", "lost"]
"""How the answer to a question changed since phase establish."""


@dataclass(frozen=True)
class StoredSet(Row):
    """A stored knowledge set with its counts."""

    id: Annotated[str, Field(description="Id of the knowledge set: a digest of its content.")]
    dataset: Annotated[str, Field(description="Its source graph; empty if read from a file.")]
    setting: Annotated[
        Setting, Field(description="Wording of its questions: CQ_DT, CQ_UT or ICQ_DT.")
    ]
    seed: Annotated[int, Field(description="Seed that the set was drawn with.")]
    init: Annotated[
        Source,
        Field(description="Facts as stored in the graph, shuffled by subject, or of a file."),
    ]
    rule: Annotated[str, Field(description="Id of its rule.")]
    text: Annotated[str, Field(description="The rule as a sentence.")]
    created_at: Annotated[str, Field(description="Time of creation, ISO 8601 in UTC.")]
    n_specific: Annotated[int, Field(description="Number of its specific facts.")]
    n_unrelated: Annotated[int, Field(description="Number of its unrelated facts.")]
    n_implications: Annotated[int, Field(description="Number of its implications.")]
    n_copies: Annotated[int, Field(description="Number of its updated copies.")]
    n_runs: Annotated[int, Field(description="Number of stored runs on it.")]


@dataclass(frozen=True)
class KnowledgeSetRow(StoredSet):
    """A stored knowledge set; `body` is JSON, if requested."""

    content_digest: str
    body: str | None


@dataclass(frozen=True)
class DeleteSetRow(Row):
    """Number of deleted sets and runs."""

    deleted: int
    runs: int


@dataclass(frozen=True)
class StoredRun(Row):
    """A stored run of the protocol on one set."""

    id: Annotated[str, Field(description="Id of the run.")]
    knowledge_set: Annotated[str, Field(description="Id of the knowledge set it ran on.")]
    dataset: Annotated[str, Field(description="Id of the data set's graph.")]
    setting: Annotated[
        Setting, Field(description="Wording of the set's questions: CQ_DT, CQ_UT or ICQ_DT.")
    ]
    init: Annotated[
        Source,
        Field(description="Facts as stored in the graph, shuffled by subject, or of a file."),
    ]
    n_specific: Annotated[int, Field(description="Number of the set's specific facts.")]
    strategy: Annotated[
        str, Field(description="Strategy of the protocol, such as base, finetune or forwchain.")
    ]
    editor: Annotated[
        str | None,
        Field(
            description="Editing method that the strategy wraps; null for a strategy without one."
        ),
    ]
    method: Annotated[str, Field(description="Label in tables: editor and strategy.")]
    model: Annotated[str, Field(description="Name of the model.")]
    seconds: Annotated[
        float | None, Field(description="Duration in seconds; null where it was not measured.")
    ]
    created_at: Annotated[str, Field(description="Time of creation, ISO 8601 in UTC.")]
    n_answers: Annotated[int, Field(description="Number of stored answers.")]


@dataclass(frozen=True)
class ProtocolRunRow(StoredRun):
    """A stored run of the protocol; `hparams` is JSON."""

    hparams: str


@dataclass(frozen=True)
class Posed:
    """A question of a set, with the right answer."""

    phase: Annotated[Phase, Field(description="Phase of the protocol: establish or update.")]
    copy: Annotated[
        int | None, Field(description="Index of the updated copy; null in phase establish.")
    ]
    role: Annotated[Role, Field(description="specific, unrelated or implication.")]
    asked: Annotated[str, Field(description="The complete question.")]
    change: Annotated[
        Change,
        Field(
            description="Change of the right answer since phase establish: kept, updated, new or"
            " lost."
        ),
    ]
    expected: Annotated[
        str | None,
        Field(description="The right answer; null for an implication that no longer follows."),
    ]


@dataclass(frozen=True)
class StoredAnswer(Posed, Row):
    """A model's answer to one question, with the expected and the established answer."""

    question: Annotated[str, Field(description="Id of the question.")]
    answer: Annotated[str, Field(description="The model's answer.")]
    established: Annotated[str | None, Field(description="Its answer in phase establish.")]


@dataclass(frozen=True)
class AnsweredRow(StoredAnswer):
    """A model's answer to one question about a subject and relation."""

    subject: str
    relation: str


@dataclass(frozen=True)
class FractionRow(Row):
    """One metric of one run: a fraction, and its counts."""

    id: str
    metric: str
    value: float
    n: int
    copies: int


@dataclass(frozen=True)
class DeriveRow(Row):
    """A conclusion with the subjects of its premises; `fact` is the position of the new one."""

    fact: int
    subject: str
    object: str
    first: str
    second: str
