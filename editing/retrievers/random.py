"""Random similarities: the control of retrieval.

A text's number depends on the seed and the text only, not on its position or the query. One file
per retriever, found by name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def similarities(query: str, texts: Sequence[str], *, seed: int = 0) -> list[float]:
    """A number in [0, 1) for each text."""
    return [_number(f"{seed}|{text}") for text in texts]


def _number(name: str) -> float:
    # 53 bits: the precision of a float.
    return (int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) >> 11) / 2**53
