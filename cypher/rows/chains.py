"""Rows of `chains/`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from .base import Row


@dataclass(frozen=True)
class ChainRow(Row):
    """One chain without probabilities: `steps` facts over `steps` + 1 entities."""

    QUERY: ClassVar[str] = "chains/enumerate"
    steps: int
    entities: tuple[str, ...]
    facts: tuple[str, ...]
    relations: tuple[str, ...]
    prompts: tuple[str, ...]


@dataclass(frozen=True)
class ChainFactsRow(Row):
    """Ids of the facts on the chains of one rewrite, without that of the graph."""

    QUERY: ClassVar[str] = "chains/facts"
    id: str
    facts: tuple[str, ...]


@dataclass(frozen=True)
class KnownChainsRow(Row):
    """Chains of one rewrite, and how many of them a model knows before any edit."""

    QUERY: ClassVar[str] = "chains/known"
    PROBABILITIES: ClassVar[frozenset[str]] = frozenset({"known"})
    id: str
    chains: int
    known: int


@dataclass(frozen=True, slots=True)
class Link:
    """One fact of a chain, before (`pre`) and after (`post`) the edit.

    Attributes:
        id: id of the fact in the database.
        ratio: post / pre, the link's retention; None where pre is 0.
    """

    id: str
    subject: str
    relation: str
    object: str
    prompt: str
    question: str | None
    pre: float
    post: float
    ratio: float | None


@dataclass(frozen=True)
class ScoredChainRow(Row):
    """One chain with its reliability R before and R' after the edit (ThinkEval §5.1).

    Attributes:
        ratio: R'/R, the chain's retention; None where it was not known, or R is 0.
        known: the model knew the chain before the edit; by the papers' rule each counts.
        surviving: it was known, R' > threshold · R and R' > 0.
    """

    QUERY: ClassVar[str] = "chains/scored"
    PROBABILITIES: ClassVar[frozenset[str]] = frozenset({"r_pre", "r_post", "known", "surviving"})
    steps: int
    entities: tuple[str, ...]
    r_pre: float
    r_post: float
    ratio: float | None
    known: bool
    surviving: bool
    links: tuple[Link, ...]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """Turn the maps of `links` into Link records."""
        links = tuple(Link(**link) for link in values[-1])
        return super().of([*values[:-1], links])


@dataclass(frozen=True)
class CountChainsRow(Row):
    """Number of chains."""

    QUERY: ClassVar[str] = "chains/count"
    chains: int


@dataclass(frozen=True)
class LeakageRow(Row):
    """Leakage through one fact: the surviving chains it is on."""

    QUERY: ClassVar[str] = "chains/leakage"
    PROBABILITIES: ClassVar[frozenset[str]] = frozenset({"pre", "post"})
    id: str
    subject: str
    relation: str
    object: str
    prompt: str
    pre: float
    post: float
    chains: int
    share: float
    ifr_share: float
