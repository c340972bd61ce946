"""Findings of an elicitor: statements, and the triplets that they state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that triplets come from.

    Attributes:
        id: within the run.
        answer: id of the answer that it is part of; None for a given text.
        source: name of the given text.
        place: its order in there.
        parsed: True if triplets could be read from it.
    """

    id: str
    text: str
    place: int
    answer: str | None = None
    source: str | None = None
    parsed: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    """A triplet that an elicitor found; names as they were written.

    Attributes:
        statements: ids of the statements it comes from, within the run.
        share: fraction of answers that name the object, where the elicitor has asked for it: such a
            triplet is not validated again. None: it is to be validated.
        n_answers: number of these answers.
        queries: ids of their queries within the run.
        discarded: why it is recorded and is no fact; None where it may be one.
        unknown: the model says that it does not know: the triplet is recorded, and is no fact.
        review: why a person shall decide about it.
        checks: further figures that are stored with it.
    """

    subject: str
    relation: str
    object: str
    statements: tuple[str, ...] = ()
    share: float | None = None
    n_answers: int = 0
    queries: tuple[str, ...] = ()
    discarded: str | None = None
    unknown: bool = False
    review: str | None = None
    checks: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Elicited:
    """The findings of one iteration, in order of appearance.

    Attributes:
        queries: requests for reasoning that were made: the iteration table's CoT queries.
    """

    found: Sequence[Found]
    statements: Sequence[Statement] = ()
    queries: int = 0
