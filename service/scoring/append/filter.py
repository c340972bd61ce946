"""The filter of answers before an edit: which names of a prompt its metrics are taken over.

Ma et al. 2024 (ICML), §5.1 ("a certain threshold"), as their published code does it. The same as in
cypher/append/additivity.cypher, for edits whose loss takes the kept answers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LARGER = 0.2
"""A correct answer is dropped where this fraction of the hard false ones is likelier, or more."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Places of the kept names in their lists; a prompt counts where all three have some."""

    correct: tuple[int, ...]
    hard: tuple[int, ...]
    random: tuple[int, ...]

    @property
    def counts(self) -> bool:
        """Whether metrics are taken at the prompt."""
        return bool(self.correct and self.hard and self.random)


def kept(correct: Sequence[float], hard: Sequence[float], random: Sequence[float]) -> Kept:
    """The names of one prompt that the filter keeps, by place: ties and equal names stay apart.

    Args:
        correct: probabilities before the edit, one a name; likewise `hard` and `random`.
    """
    places = tuple(
        i
        for i, p in enumerate(correct)
        if not hard or sum(wrong > p for wrong in hard) / len(hard) < LARGER
    )
    least = min((correct[i] for i in places), default=float("inf"))

    def below(wrong: Sequence[float]) -> tuple[int, ...]:
        return tuple(i for i, p in enumerate(wrong) if p < least)

    return Kept(places, below(hard), below(random))
