"""Unknown pairs: the model answers that it does not know, or with a different name each time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from ....editing.organism.unknown import UNKNOWN
from ....editing.probe.matching import first_sentence, normalise

PairState = Literal["known", "unknown", "refused"]

PHRASES = tuple(
    normalise(text)
    for text in (
        UNKNOWN, "unknown", "not known", "none", "no one", "null", "n/a", "not applicable",
        "I don't know", "I do not know", "don't know", "do not know", "I am not sure",
        "I'm not sure", "not sure", "no one knows", "it is unknown", "it is not known",
        "there is no", "there is none", "no information", "cannot be determined",
    )
)  # fmt: skip
"""An answer that is one of these, or begins with one of several words, names no object."""

REFUSALS = tuple(
    normalise(text)
    for text in (
        "I can't", "I cannot", "I'm sorry", "I am sorry", "I won't", "I'm unable", "I am unable",
        "as an AI",
    )
)  # fmt: skip
"""First words of a model that declines to answer, which is not the same as not to know."""

READ = 400
"""Characters of an answer that are read for this."""

UNKNOWN_SHARE = 0.5
"""Fraction of answers that say "unknown", or decline, from which the pair has that state."""


def is_unknown(answer: str) -> bool:
    """Return True if an answer says that it is not known."""
    return _begins(answer[:READ], PHRASES)


def is_refusal(answer: str) -> bool:
    """Return True if a model declines to answer."""
    return not is_unknown(answer) and _begins(answer[:READ], REFUSALS)


def pair_state(
    shares: Mapping[str, float], unknown: float, refused: float, pair_threshold: float
) -> PairState:
    """State of a pair of entity and relation.

    Args:
        shares: fraction of the answers that name each object.
        unknown, refused: fraction of the answers that say so.
        pair_threshold: smallest top share, for a known pair.
    """
    if refused >= UNKNOWN_SHARE:
        return "refused"
    if unknown >= UNKNOWN_SHARE or max(shares.values(), default=0.0) < pair_threshold:
        return "unknown"
    return "known"


@lru_cache(maxsize=4096)
def _begins(answer: str, phrases: tuple[str, ...]) -> bool:
    text = normalise(first_sentence(answer))
    return any(
        text == phrase or (" " in phrase and text.startswith(phrase + " ")) for phrase in phrases
    )
