"""Rows of `depedit/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from thinkeval.cypher.rows.base import Row, WrittenRow


@dataclass(frozen=True)
class MergeSetRow(WrittenRow):
    """Whether all questions of a knowledge set are stored."""

    QUERY: ClassVar[str] = "depedit/merge_set"


@dataclass(frozen=True)
class KnowledgeSetRow(Row):
    """A stored knowledge set; `body` is JSON, if requested."""

    QUERY: ClassVar[str] = "depedit/list_sets"
    id: str
    dataset: str
    setting: str
    seed: int
    init: str
    rule: str
    text: str
    content_digest: str
    created_at: str
    body: str | None
    n_specific: int
    n_unrelated: int
    n_implications: int
    n_copies: int
    n_runs: int


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
class ProtocolRunRow(Row):
    """A stored run of the protocol; `hparams` is JSON."""

    QUERY: ClassVar[str] = "depedit/list_runs"
    id: str
    knowledge_set: str
    dataset: str
    setting: str
    init: str
    n_specific: int
    strategy: str
    editor: str | None
    method: str
    model: str
    hparams: str
    seconds: float | None
    created_at: str
    n_answers: int


@dataclass(frozen=True)
class DeleteRunRow(Row):
    """Number of deleted runs."""

    QUERY: ClassVar[str] = "depedit/delete_run"
    deleted: int


@dataclass(frozen=True)
class AnsweredRow(Row):
    """A model's answer to one question, with the expected and the established answer."""

    QUERY: ClassVar[str] = "depedit/answers"
    question: str
    phase: str
    copy: int | None
    role: str
    subject: str
    relation: str
    asked: str
    change: str
    expected: str | None
    answer: str
    established: str | None


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
