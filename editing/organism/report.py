"""The recall report of an organism. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

KNOWN = 0.5
"""A key is recalled if the total probability of its objects is greater."""

WORST = 10
"""Number of worst facts in a report."""


@dataclass(frozen=True, slots=True)
class FactRecall:
    """Recall of one fact.

    Attributes:
        p: probability of this object right after the prompt.
        p_key: total over all objects of this subject and prompt in the graph; equal to `p` for a
            single object.
    """

    subject: str
    prompt: str
    object: str
    p: float
    p_key: float


@dataclass(frozen=True, slots=True)
class RecallReport:
    """Recall of an organism's graph.

    The training text lists several objects of a prompt ("{} has sibling") in random order, so each
    of m objects has probability about 1/m; such a fact is recalled if the sum over its key's
    objects exceeds .5.

    Attributes:
        n_facts, n_keys: facts (edited facts of the rewrites included) and subject-prompt pairs.
        share: fraction of facts that are recalled.
        share_single: the same over facts with their key's only object.
        share_listed: the same over facts of keys with several objects; None if there are none.
        mean_p: mean of `p_key` over keys.
        paraphrases: fraction of paraphrased clozes that are recalled; None if there are none.
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
        """The fields, JSON-compatible."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RecallReport:
        """The inverse of `as_dict`."""
        worst = tuple(FactRecall(**w) for w in values["worst"])
        given: dict[str, Any] = {**values, "worst": worst}
        return cls(**given)
