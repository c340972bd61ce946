"""No similarity at all: a number by chance for each text, the control of retrieval.

A text's number depends on the seed and on the text alone, not on its place or on the query.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def similarities(query: str, texts: Sequence[str], *, seed: int = 0) -> list[float]:
    """A number in [0, 1) for each text."""
    return [_number(f"{seed}|{text}") for text in texts]


def _number(name: str) -> float:
    # 53 bits: the most that a float holds exactly.
    return (int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) >> 11) / 2**53
