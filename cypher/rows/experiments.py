"""Rows of `experiments/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .base import Row, WrittenRow


@dataclass(frozen=True)
class MergeExperimentRow(WrittenRow):
    """An experiment is stored, linked to the edits that it scored."""

    QUERY: ClassVar[str] = "experiments/merge"


@dataclass(frozen=True)
class ExperimentRow(Row):
    """A stored experiment; `request` and `outcome` are JSON."""

    QUERY: ClassVar[str] = "experiments/page"
    id: str
    graph: str
    request: str
    outcome: str
    created_at: str


@dataclass(frozen=True)
class DeleteExperimentRow(Row):
    """An experiment is deleted; the edits, graphs and updates that it alone had are named."""

    QUERY: ClassVar[str] = "experiments/delete"
    deleted: int
    edits: tuple[str, ...]
    graphs: tuple[str, ...]
    updates: tuple[str, ...]
