"""Rows of `closure/`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from thinkeval.cypher.rows.base import Row, WrittenRow


@dataclass(frozen=True)
class ClosureStateRow(Row):
    """Which closure a graph has, and a fingerprint of its facts."""

    QUERY: ClassVar[str] = "closure/state"
    closure: str | None
    facts: int
    probed: int
    total: float


@dataclass(frozen=True)
class ClearClosureRow(Row):
    """What went from a graph's closure."""

    QUERY: ClassVar[str] = "closure/clear"
    conclusions: int
    groundings: int


@dataclass(frozen=True)
class DeriveRoundRow(Row):
    """What one round of the forward closure found; `conclusions` are new ones."""

    QUERY: ClassVar[str] = "closure/derive"
    groundings: int
    conclusions: int


@dataclass(frozen=True)
class AtomRow(Row):
    """A fact or a conclusion of a graph."""

    QUERY: ClassVar[str] = "closure/atoms"
    id: str
    implied: bool
    subject: str
    relation: str
    object: str
    role: str
    round: int
    leaves: int
    strength_pre: float | None
    strength_post: float | None


@dataclass(frozen=True)
class StoredGroundingRow(Row):
    """By which rule a conclusion follows from which two premises, all by id."""

    QUERY: ClassVar[str] = "closure/groundings"
    id: str
    rule: str
    premise1: str
    premise2: str
    conclusion: str
    round: int


@dataclass(frozen=True)
class SettleRow(WrittenRow):
    """How many conclusions were sent and found."""

    QUERY: ClassVar[str] = "closure/settle"


@dataclass(frozen=True)
class PruneRow(Row):
    """How many conclusions went because nothing but themselves supports them."""

    QUERY: ClassVar[str] = "closure/prune"
    pruned: int
    groundings: int


@dataclass(frozen=True)
class CompleteClosureRow(Row):
    """The graph whose closure is whole."""

    QUERY: ClassVar[str] = "closure/complete"
    graph: str


@dataclass(frozen=True)
class ContradictionRow(Row):
    """A conclusion, and what it cannot be true beside."""

    QUERY: ClassVar[str] = "closure/contradictions"
    subject: str
    relation: str
    object: str
    conclusion: str
    other: str
    against: str
    implied: bool


@dataclass(frozen=True)
class BackwardRow(Row):
    """A fact that answers an open goal."""

    QUERY: ClassVar[str] = "closure/backward"
    id: str
    subject: str
    relation: str
    object: str
    role: str
    pre: float | None
    post: float | None


@dataclass(frozen=True)
class ImplicationRow(Row):
    """A grounding that has the edited fact as a premise, with its old or its new object."""

    QUERY: ClassVar[str] = "closure/implications"
    side: str
    rule: str
    place: int
    object: str
    other: str
    other_subject: str
    other_relation: str
    other_object: str
    subject: str
    relation: str
    conclusion: str
    known: bool
    support: int
    edited_pre: float | None
    edited_post: float | None
    other_pre: float | None
    other_post: float | None
    conclusion_pre: float | None
    conclusion_post: float | None


@dataclass(frozen=True)
class OmegaRow(Row):
    """Whether the old object comes back by paths, rules or both, within `step` facts."""

    QUERY: ClassVar[str] = "closure/omega"
    kind: str
    step: int
    chains: int
    surviving: int
    value: float | None


@dataclass(frozen=True, slots=True)
class MixedLink:
    """One link of a chain that implied links are in: a fact, or what follows from some.

    Attributes:
        id: id of the fact or conclusion in the database.
        facts: how many of the chain's facts it stands for; None where the chain has no strength.
        pre, post: a fact's probability, or strength of the best proof of so many facts.
    """

    id: str
    implied: bool
    subject: str
    relation: str
    object: str
    facts: int | None
    pre: float | None
    post: float | None


@dataclass(frozen=True)
class MixedChainRow(Row):
    """A chain with an implied link at least; `steps` are facts, None with its strength."""

    QUERY: ClassVar[str] = "closure/mixed"
    steps: int | None
    entities: tuple[str, ...]
    r_pre: float | None
    r_post: float | None
    ratio: float | None
    surviving: bool | None
    links: tuple[MixedLink, ...]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """Turn the maps of `links` into MixedLink records."""
        steps, entities, r_pre, r_post, ratio, surviving, links = values
        told = tuple(MixedLink(**link) for link in links)
        return cls(steps, entities, r_pre, r_post, ratio, surviving, told)
