"""Rows of `rules/`."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Row, WrittenRow


@dataclass(frozen=True)
class MergeRulesRow(WrittenRow):
    """Number of rules stored, and of new ones among them."""

    created: int


@dataclass(frozen=True)
class RuleBody(Row):
    """First premise, about x and y (of one premise x and z), and conclusion, from x to z."""

    relation1: str
    inverse1: bool
    relation3: str
    kind_x: str | None
    kind_z: str | None


@dataclass(frozen=True)
class RuleRow(RuleBody):
    """A stored rule with the annotators' labels."""

    dataset: str
    rule: str
    relation2: str | None
    inverse2: bool
    kind_y: str | None
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
class MinePairRow(RuleBody):
    """A rule with one premise mined from pairs of facts; `total` rules were found."""

    support: int
    total: int


@dataclass(frozen=True)
class MineRow(MinePairRow):
    """A rule with two premises mined from triangles of a graph."""

    relation2: str
    inverse2: bool
    kind_y: str | None


@dataclass(frozen=True)
class BodyCountRow(Row):
    """Number of groundings of a rule's premises, and of those with the conclusion."""

    rule: str
    body: int
    support: int


@dataclass(frozen=True)
class PairCountRow(Row):
    """Distinct conclusions of a rule, counted as pairs of entities x and z.

    Attributes:
        known: number of those that the graph has.
        comparable: number of those whose x has any fact of the conclusion's relation.
        heads: number of pairs of entities with that relation.
    """

    rule: str
    pairs: int
    known: int
    comparable: int
    heads: int


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
