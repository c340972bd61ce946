"""Rows of `depedit/`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from .base import Row, WrittenRow

Setting = Literal["CQ_DT", "CQ_UT", "ICQ_DT"]
"""Wording of a set's questions."""
Source = Literal["stored", "shuffled", "file"]
"""Source of a set's facts."""
Phase = Literal["establish", "update"]
Role = Literal["specific", "unrelated", "implication"]
Change = Literal["kept", "updated", "new", "lost"]
"""How the answer to a question changed since phase establish."""


@dataclass(frozen=True)
class MergeSetRow(WrittenRow):
    """Whether all questions of a knowledge set are stored."""

    QUERY: ClassVar[str] = "depedit/merge_set"


@dataclass(frozen=True)
class StoredSet(Row):
    """A stored knowledge set with its counts."""

    id: str
    dataset: str = field(metadata={"description": "Its source graph; empty if read from a file."})
    setting: Setting
    seed: int
    init: Source = field(
        metadata={"description": "Facts as stored in the graph, shuffled by subject, or of a file."}
    )
    rule: str = field(metadata={"description": "Id of its rule."})
    text: str = field(metadata={"description": "The rule as a sentence."})
    created_at: str
    n_specific: int
    n_unrelated: int
    n_implications: int
    n_copies: int
    n_runs: int


@dataclass(frozen=True)
class KnowledgeSetRow(StoredSet):
    """A stored knowledge set; `body` is JSON, if requested."""

    QUERY: ClassVar[str] = "depedit/list_sets"
    content_digest: str
    body: str | None


@dataclass(frozen=True)
class CountSetsRow(Row):
    """Number of knowledge sets."""

    QUERY: ClassVar[str] = "depedit/count_sets"
    sets: int


@dataclass(frozen=True)
class CountRunsRow(Row):
    """Number of runs."""

    QUERY: ClassVar[str] = "depedit/count_runs"
    runs: int


@dataclass(frozen=True)
class DeleteSetRow(Row):
    """Number of deleted sets and runs."""

    QUERY: ClassVar[str] = "depedit/delete_set"
    deleted: int
    runs: int


@dataclass(frozen=True)
class MergeRunRow(WrittenRow):
    """Whether all answers of a run are stored."""

    QUERY: ClassVar[str] = "depedit/merge_run"


@dataclass(frozen=True)
class StoredRun(Row):
    """A stored run of the protocol on one set."""

    id: str
    knowledge_set: str
    dataset: str
    setting: Setting
    init: Source = field(
        metadata={"description": "Facts as stored in the graph, shuffled by subject, or of a file."}
    )
    n_specific: int
    strategy: str
    editor: str | None
    method: str = field(metadata={"description": "Label in tables: editor and strategy."})
    model: str
    seconds: float | None
    created_at: str
    n_answers: int


@dataclass(frozen=True)
class ProtocolRunRow(StoredRun):
    """A stored run of the protocol; `hparams` is JSON."""

    QUERY: ClassVar[str] = "depedit/list_runs"
    hparams: str


@dataclass(frozen=True)
class DeleteRunRow(Row):
    """Number of deleted runs."""

    QUERY: ClassVar[str] = "depedit/delete_run"
    deleted: int


@dataclass(frozen=True)
class StoredAnswer(Row):
    """A model's answer to one question, with the expected and the established answer."""

    question: str
    phase: Phase
    copy: int | None
    role: Role
    asked: str
    change: Change
    expected: str | None
    answer: str
    established: str | None = field(metadata={"description": "Its answer in phase establish."})


@dataclass(frozen=True)
class AnsweredRow(StoredAnswer):
    """A model's answer to one question about a subject and relation."""

    QUERY: ClassVar[str] = "depedit/answers"
    subject: str
    relation: str


@dataclass(frozen=True)
class _Fraction(Row):
    """One metric of one run: a fraction (None without questions), and its counts."""

    id: str
    value: float | None
    n: int
    copies: int


@dataclass(frozen=True)
class EstSRow(_Fraction):
    """Est.S of one run."""

    QUERY: ClassVar[str] = "depedit/est_s"


@dataclass(frozen=True)
class EstIRow(_Fraction):
    """Est.I of one run."""

    QUERY: ClassVar[str] = "depedit/est_i"


@dataclass(frozen=True)
class UpdSRow(_Fraction):
    """Upd.S of one run."""

    QUERY: ClassVar[str] = "depedit/upd_s"


@dataclass(frozen=True)
class UpdIRow(_Fraction):
    """Upd.I of one run."""

    QUERY: ClassVar[str] = "depedit/upd_i"


@dataclass(frozen=True)
class ConsNSRow(_Fraction):
    """Cons.NS of one run."""

    QUERY: ClassVar[str] = "depedit/cons_ns"


@dataclass(frozen=True)
class ConsURow(_Fraction):
    """Cons.U of one run."""

    QUERY: ClassVar[str] = "depedit/cons_u"


@dataclass(frozen=True)
class ConsNIRow(_Fraction):
    """Cons.NI of one run."""

    QUERY: ClassVar[str] = "depedit/cons_ni"
