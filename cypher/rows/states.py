"""Rows of `states/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, Field

from .base import Row
from .chains import Link


class DriftCounts(BaseModel):
    """Numbers of facts by how far two states differ on them, and how far in the mean."""

    n: int = Field(
        description="Facts that both states were asked for: kept + weakened + replaced + lost +"
        " added + unknown."
    )
    missing: int = Field(description="Facts without a probability in one of the states.")
    kept: int = Field(description="Facts known as before: p_post >= .9 p_pre.")
    weakened: int = Field(
        description="Facts with less than .9 of their probability whose own answer is still right,"
        " or, where it was not asked, with .1 or more."
    )
    replaced: int = Field(
        default=0, description="Facts whose own answer was right and is another one now."
    )
    lost: int = Field(
        validation_alias=AliasChoices("lost", "removed"),
        description="Facts with less than .1 of their probability, whose own answer is not known.",
    )
    added: int = Field(description="Facts that were not known (p_pre < .05), and are now.")
    unknown: int = Field(description="Facts that neither state knows (p below .05 in both).")
    mean_moved: float | None = Field(description="Mean of |p_post - p_pre|; null without facts.")
    mean_shift: float | None = Field(description="Mean of p_post - p_pre.")
    median_change: float | None = Field(
        default=None,
        description="Median of p_post / p_pre over the facts known before, kept + weakened +"
        " replaced + lost; null without one.",
    )


class DriftRow(DriftCounts):
    """Differences of two states on some facts.

    Attributes:
        by: `all`, `relation`, `distance`, or `far` for the facts at distance 2 and more.
        relation: of the facts, by relation.
        distance: facts between a subject and the nearest end, 3 for three and more; by distance.
    """

    by: Literal["all", "relation", "distance", "far"]
    relation: str | None
    distance: int | None


class RouteCounts(BaseModel):
    """Numbers of chains from subject to old object, by the states in which they lead there."""

    chains: int = Field(description="Number of all chains.")
    before: int = Field(
        description="Number of those that the first state knows: the product of their facts'"
        " probabilities is at least `floor` and not 0, and each is at least `known`."
    )
    after: int = Field(description="Number of those that the second state knows.")
    opened: int = Field(description="Number of those of the second state alone.")
    closed: int = Field(description="Number of those of the first state alone.")


class MovedRoute(BaseModel):
    """A chain that leads to the old object in one of two states, and not in the other."""

    r_pre: float | None = Field(description="Product of its probabilities in the first state.")
    r_post: float | None = Field(description="Product of its probabilities in the second state.")
    links: list[Link] = Field(description="The facts of the chain, in order.")


class ChangedFact(BaseModel):
    """A fact on which two states differ."""

    fact: str = Field(description="Id of the fact within the graph.")
    subject: str = Field(description="Subject of the fact.")
    relation: str = Field(description="Relation of the fact.")
    object: str = Field(description="Object of the fact.")
    prompt: str = Field(description="The fact's cloze, with `{}` for the subject.")
    before: float = Field(description="Probability in the first state.")
    after: float = Field(description="Probability in the second state.")
    change: Literal["weakened", "replaced", "lost", "added"] = Field(
        description="What became of the fact."
    )
    says_before: str | None = Field(
        description="The first state's own likeliest answer; null where it was not asked."
    )
    says_after: str | None = Field(
        description="The second state's own likeliest answer; null where it was not asked."
    )


class RoutesRow(RouteCounts):
    """The chains of one rewrite; `missing` of them have a fact that lacks a probability."""

    id: str
    missing: int
    moved: list[MovedRoute]


@dataclass(frozen=True)
class RevivedLink:
    """A fact of a chain, with its probability in the base, the first state and a later one."""

    subject: Annotated[str, Field(description="Subject of the fact.")]
    relation: Annotated[str, Field(description="Relation of the fact.")]
    object: Annotated[str, Field(description="Object of the fact.")]
    prompt: Annotated[str, Field(description="The fact's cloze, with `{}` for the subject.")]
    base: Annotated[float, Field(description="Probability in the base.")]
    edited: Annotated[float, Field(description="Probability in the first state.")]
    later: Annotated[float, Field(description="Probability in this state.")]


@dataclass(frozen=True)
class RevivedRow(Row):
    """The chains that an edit closed, and the strongest that is open again in a later state."""

    closed: int
    opened: int
    missing: int
    entities: tuple[str, ...]
    r_base: float | None
    r_edited: float | None
    r_later: float | None
    links: tuple[RevivedLink, ...]
