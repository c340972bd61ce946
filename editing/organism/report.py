"""The recall report of an organism. Imports no torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

KNOWN = 0.5
"""A key counts as recalled when its objects together have more than this probability."""

WORST = 10
"""How many of the worst facts a report names."""


@dataclass(frozen=True, slots=True)
class FactRecall:
    """One fact and how well it is known.

    Attributes:
        p: probability of this object right after the prompt.
        p_key: summed over all objects that the graph gives for this subject and prompt; equal
            to `p` for a single object.
    """

    subject: str
    prompt: str
    object: str
    p: float
    p_key: float


@dataclass(frozen=True, slots=True)
class RecallReport:
    """How well an organism knows its graph.

    A prompt with several objects ("{} has sibling") lists them in random order, so each of m
    objects has about 1/m at the first place; such a fact counts as recalled when the sum over
    its key's objects exceeds .5.

    Attributes:
        n_facts, n_keys: facts (edited facts of the rewrites included) and subject-prompt pairs.
        share: share of facts recalled.
        share_single: the same over facts that are their key's only object.
        share_listed: the same over facts of keys with several objects; None if there are none.
        mean_p: mean of `p_key` over keys.
        paraphrases: share of paraphrased clozes whose key is recalled; None if there are none.
        max_target_new: highest p(target_new) before any edit; None without rewrites.
        max_target_new_of: the id of that rewrite.
        worst: the facts recalled worst, worst first.
    """

    n_facts: int
    n_keys: int
    share: float
    share_single: float | None
    share_listed: float | None
    mean_p: float
    paraphrases: float | None
    max_target_new: float | None
    max_target_new_of: str | None
    worst: tuple[FactRecall, ...] = field(default=())

    def as_dict(self) -> dict[str, object]:
        """JSON-able."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict) -> RecallReport:
        """The inverse of `as_dict`."""
        return cls(**{**values, "worst": tuple(FactRecall(**w) for w in values["worst"])})
