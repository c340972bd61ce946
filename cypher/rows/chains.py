"""Rows of `chains/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from .base import Row


@dataclass(frozen=True)
class ChainRow(Row):
    """One chain without probabilities: `steps` facts over `steps` + 1 entities."""

    steps: int
    entities: tuple[str, ...]
    facts: tuple[str, ...]
    relations: tuple[str, ...]
    prompts: tuple[str, ...]


@dataclass(frozen=True)
class ChainFactsRow(Row):
    """Ids of the facts on the chains of one rewrite, without that of the graph."""

    id: str
    facts: tuple[str, ...]


@dataclass(frozen=True)
class KnownChainsRow(Row):
    """Chains of one rewrite, and how many of them a model knows before any edit."""

    PROBABILITIES: ClassVar[frozenset[str]] = frozenset({"known"})
    id: str
    chains: int
    known: int


@dataclass(frozen=True)
class StoredTriple:
    """A fact or conclusion of a graph."""

    id: Annotated[str, Field(description="Id of the fact in the database.")]
    subject: Annotated[str, Field(description="Subject of the fact.")]
    relation: Annotated[str, Field(description="Relation of the fact.")]
    object: Annotated[str, Field(description="Object of the fact.")]


@dataclass(frozen=True)
class Link(StoredTriple):
    """One fact of a chain, before (`pre`) and after (`post`) the edit."""

    prompt: Annotated[str, Field(description="The fact's cloze, with `{}` for the subject.")]
    question: Annotated[str | None, Field(description="The fact's question; null without one.")]
    pre: Annotated[
        float,
        Field(description="Probability before the edit, 0 to 1; null where it was not measured."),
    ]
    post: Annotated[
        float,
        Field(description="Probability after the edit, 0 to 1; null where it was not measured."),
    ]
    ratio: Annotated[
        float | None, Field(description="Post / pre, the link's retention; null where pre is 0.")
    ]


@dataclass(frozen=True)
class ScoredChainRow(Row):
    """One chain with its reliability R before and R' after the edit (ThinkEval §5.1)."""

    PROBABILITIES: ClassVar[frozenset[str]] = frozenset({"r_pre", "r_post", "known", "surviving"})
    steps: Annotated[int, Field(description="Number of facts of the chain.")]
    entities: Annotated[
        tuple[str, ...], Field(description="Names from the subject to the old object.")
    ]
    r_pre: Annotated[
        float,
        Field(description="Reliability R before the edit: product of the facts' probabilities."),
    ]
    r_post: Annotated[
        float,
        Field(description="Reliability R' after the edit: product of the facts' probabilities."),
    ]
    ratio: Annotated[
        float | None,
        Field(description="R'/R, the chain's retention; null where it was not known, or R is 0."),
    ]
    known: Annotated[
        bool,
        Field(
            description="The model knew the chain before the edit; by the papers' rule each counts."
        ),
    ]
    surviving: Annotated[bool, Field(description="It was known, R' > threshold · R and R' > 0.")]
    links: Annotated[tuple[Link, ...], Field(description="The facts of the chain, in order.")]


@dataclass(frozen=True)
class LeakageRow(StoredTriple, Row):
    """Leakage through one fact: the surviving chains it is on."""

    PROBABILITIES: ClassVar[frozenset[str]] = frozenset({"pre", "post"})
    prompt: Annotated[str, Field(description="The fact's cloze, with `{}` for the subject.")]
    pre: Annotated[
        float,
        Field(description="Probability before the edit, 0 to 1; null where it was not measured."),
    ]
    post: Annotated[
        float,
        Field(description="Probability after the edit, 0 to 1; null where it was not measured."),
    ]
    chains: Annotated[int, Field(description="Number of surviving chains through it.")]
    share: Annotated[
        float, Field(description="Fraction of the surviving chains that go through it.")
    ]
    ifr_share: Annotated[float, Field(description="Fraction of IFR that goes through it.")]
