"""Rows of `rules/`."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Row, WrittenRow


@dataclass(frozen=True)
class MergeRulesRow(WrittenRow):
    """Number of rules stored, and of new ones among them."""

    created: int


@dataclass(frozen=True)
class RuleRow(Row):
    """A stored rule with the annotators' labels."""

    dataset: str
    rule: str
    relation1: str
    inverse1: bool
    relation2: str | None
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
class LabelRuleRow(Row):
    """A labelled rule, and its status now."""

    rule: str
    status: str


@dataclass(frozen=True)
class VocabularyRow(Row):
    """A relation of a graph's facts, or a kind of its entities, with its count."""

    sort: str
    name: str | None
    n: int
    prompt: str | None


@dataclass(frozen=True)
class RelationFactRow(Row):
    """A fact with the kinds of its entities; an empty text for none."""

    subject: str
    subject_kind: str
    relation: str
    object: str
    object_kind: str


@dataclass(frozen=True)
class FactColumnsRow(Row):
    """A page of facts as columns; `last` is the id of its last fact, None if it has none."""

    subjects: tuple[str, ...]
    subject_kinds: tuple[str, ...]
    relations: tuple[str, ...]
    objects: tuple[str, ...]
    object_kinds: tuple[str, ...]
    last: str | None


@dataclass(frozen=True)
class GroundingRow(Row):
    """A grounding of a rule; `conclusion` is None where the graph lacks it (predicted)."""

    rule: str
    x: str
    y: str | None
    z: str
    premise1: str
    premise2: str | None
    conclusion: str | None
    premise1_pre: float | None
    premise1_post: float | None
    premise2_pre: float | None
    premise2_post: float | None
    conclusion_pre: float | None
    conclusion_post: float | None


@dataclass(frozen=True)
class AffectedRow(GroundingRow):
    """A grounding that contains a fact; `part` is the role of the fact."""

    part: str


@dataclass(frozen=True)
class FactsAboutRow(Row):
    """A fact of a subject and relation."""

    id: str
    object: str
    role: str
