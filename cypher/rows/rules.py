"""Rows of `rules/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cypher.rows.base import Row, WrittenRow


@dataclass(frozen=True)
class MergeRulesRow(WrittenRow):
    """How many rules were stored, and how many of them are new."""

    QUERY: ClassVar[str] = "rules/merge_rules"
    created: int


@dataclass(frozen=True)
class RuleRow(Row):
    """A stored rule with what each annotator said of it."""

    QUERY: ClassVar[str] = "rules/list_rules"
    dataset: str
    rule: str
    relation1: str
    inverse1: bool
    relation2: str
    inverse2: bool
    relation3: str
    kind_x: str | None
    kind_y: str | None
    kind_z: str | None
    word_x: str | None
    word_y: str | None
    word_z: str | None
    templates1: tuple[str, ...]
    templates2: tuple[str, ...]
    templates3: tuple[str, ...]
    support: int | None
    body_count: int | None
    source: str
    status: str
    annotators: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class DeleteRulesRow(Row):
    """How many rules went."""

    QUERY: ClassVar[str] = "rules/delete_rules"
    deleted: int


@dataclass(frozen=True)
class LabelRuleRow(Row):
    """A rule that was labelled, and its status now."""

    QUERY: ClassVar[str] = "rules/label_rule"
    rule: str
    status: str


@dataclass(frozen=True)
class VocabularyRow(Row):
    """A relation of a graph's facts, or a kind of its entities, and how many there are."""

    QUERY: ClassVar[str] = "rules/vocabulary"
    sort: str
    name: str | None
    n: int
