"""Rows of `experiments/`."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Row


@dataclass(frozen=True)
class ExperimentRow(Row):
    """A stored experiment; `request` and `outcome` are JSON."""

    id: str
    graph: str
    request: str
    outcome: str
    created_at: str


@dataclass(frozen=True)
class DeleteExperimentRow(Row):
    """An experiment is deleted; the edits, graphs and updates that it alone had are named."""

    deleted: int
    edits: tuple[str, ...]
    graphs: tuple[str, ...]
    updates: tuple[str, ...]
