"""Rows of `backup/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .base import Row


@dataclass(frozen=True)
class NodeRow(Row):
    """A node with all that it has; `node` is its element id."""

    node: str
    labels: tuple[str, ...]
    properties: dict[str, Any]


@dataclass(frozen=True)
class RelationshipRow(Row):
    """A relationship with all that it has, between two element ids."""

    start: str
    end: str
    type: str
    properties: dict[str, Any]


@dataclass(frozen=True)
class FinishedRow(Row):
    """A complete graph or a job that succeeded; `mark` changes when it is replaced."""

    node: str
    mark: str


@dataclass(frozen=True)
class SizeRow(Row):
    """Numbers of nodes and relationships of a database."""

    nodes: int
    relationships: int


@dataclass(frozen=True)
class CountRow(Row):
    """A number of nodes (`kind` is `label`) or of relationships (`type`)."""

    kind: str
    name: str
    n: int


@dataclass(frozen=True)
class PlacedRow(Row):
    """The element id of the node that has a place in a backup."""

    place: int
    node: str
