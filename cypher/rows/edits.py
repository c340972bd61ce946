"""Rows of `edits/`."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Row, WrittenRow


@dataclass(frozen=True)
class MergeEditRow(WrittenRow):
    """Whether an edit was recorded; `created` is false if it was stored before."""

    created: bool


@dataclass(frozen=True)
class PageEditRow(Row):
    """An edit of a list, with its rewrite request; `request` and `score` are JSON."""

    id: str
    model: str
    method: str
    dataset: str
    rewrite: str
    status: str
    progress: float
    stage: str | None
    error: str | None
    remedy: str | None
    created_at: str
    finished_at: str | None
    request: str | None
    score: str | None
    prompt: str
    subject: str
    relation: str
    target_true: str
    target_new: str
    attempts: int


@dataclass(frozen=True)
class EditRow(PageEditRow):
    """A recorded edit with its graph; `provenance` is JSON."""

    provenance: str | None
    graph: str | None


@dataclass(frozen=True)
class GetEditRow(EditRow):
    """The requested edit, with the ids that it was submitted under."""

    posted_as: tuple[str, ...]


@dataclass(frozen=True)
class ScoredStateRow(Row):
    """Number of scored edits, time of the newest score, and digests of the data sets."""

    edits: int
    newest: str | None
    contents: tuple[str, ...]


@dataclass(frozen=True)
class GenerationsRow(Row):
    """The prompts of an edit's free generations, and the texts before and after it."""

    prompts: tuple[str, ...]
    pre: tuple[str, ...]
    post: tuple[str, ...]


@dataclass(frozen=True)
class DeleteEditRow(Row):
    """Number of deleted edits, and of deleted entities of the graph."""

    edits: int
    n_entities: int


@dataclass(frozen=True)
class FollowingRow(Row):
    """The names that follow from an edit's new object."""

    names: tuple[str, ...]
