"""Rows of `closure/`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from .base import Row

Kind = Literal["paths", "rules", "both"]
"""Ways to recover the old object: chains of facts, rules, or both together."""


@dataclass(frozen=True)
class ClosureStateRow(Row):
    """The stored closure of a graph, and a fingerprint of its facts.

    Attributes:
        closure: digest of the rules, options and facts that it was computed from.
        probed: number of facts with a probability before plus number with one after.
        total: weighted sum of these probabilities.
    """

    closure: str | None
    facts: int
    probed: int
    total: float


@dataclass(frozen=True)
class HeldClosureRow(Row):
    """The closure of a graph, locked.

    Attributes:
        token: of the process that stores one in parts; None if none does.
        closure: digest of the stored one, as in `ClosureStateRow`.
    """

    token: str | None
    closure: str | None


@dataclass(frozen=True)
class ClearClosureRow(Row):
    """Number of deleted conclusions and groundings."""

    conclusions: int
    groundings: int


@dataclass(frozen=True)
class AtomRow(Row):
    """A fact or a conclusion of a graph.

    Attributes:
        role: of a fact; `implied` for a conclusion.
        round: height of its lowest proof; 0 for a fact.
        leaves: number of facts in its smallest proof; 1 for a fact.
        strength_pre, strength_post: probability, or strength of the best proof.
        sized: False for a conclusion whose strengths by number of facts are unknown.
    """

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
    sized: bool


@dataclass(frozen=True)
class StoredGroundingRow(Row):
    """A grounding: rule, premises and conclusion, by id; `premise2` is None for one premise."""

    id: str
    rule: str
    premise1: str
    premise2: str | None
    conclusion: str


@dataclass(frozen=True)
class ContradictionRow(Row):
    """A conclusion, and the fact or conclusion that contradicts it.

    Attributes:
        other: the other object; `against`: id of the fact, or `implied` conclusion, that has it.
    """

    subject: str
    relation: str
    object: str
    conclusion: str
    other: str
    against: str
    implied: bool


@dataclass(frozen=True)
class ImplicationRow(Row):
    """A grounding that has the edited fact as a premise, with its old or its new object.

    Attributes:
        side: old or new; `object` is the edited fact's object there.
        place: position of the edited fact among the premises, 1 or 2.
        other: id of the other premise in the data set.
        conclusion: its object; `known` if the data set has it as a fact.
        support: number of other groundings of it without the edited fact.
    """

    side: str
    rule: str
    place: int
    object: str
    other: str | None
    other_subject: str | None
    other_relation: str | None
    other_object: str | None
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
    """Recovery of the old object by one kind of way, within `step` facts."""

    kind: Annotated[
        Kind,
        Field(
            description="`paths`: chains of facts. `rules`: proofs of the edited fact in its old"
            " form, one a size. `both`: chains with at least one conclusion among its links."
        ),
    ]
    step: Annotated[int, Field(description="Maximum number of facts.")]
    chains: Annotated[int, Field(description="Number of ways; `surviving` of them survive.")]
    surviving: Annotated[int, Field(description="Number of them that survive.")]
    value: Annotated[
        float | None, Field(description="deep-edited up to `step`: 1 if none survives, else 0.")
    ]
