"""Cosine similarity of TF-IDF vectors. Deterministic, without a download.

The weight of a word is (its count in the text) · (ln((1 + n) / (1 + texts with it)) + 1) over the n
texts; the query's words use the same table. Case does not matter.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

_WORD = re.compile(r"\w+")


def similarities(query: str, texts: Sequence[str], *, seed: int = 0) -> list[float]:
    """Cosine of the query with each text, in [0, 1]; 0 if either has no word."""
    counts = [_words(text) for text in texts]
    having = Counter(word for count in counts for word in count)
    target = _weighted(_words(query), having, len(texts))
    return [_cosine(target, _weighted(count, having, len(texts))) for count in counts]


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.casefold()))


def _weighted(count: Mapping[str, int], having: Mapping[str, int], n: int) -> dict[str, float]:
    return {
        word: times * (math.log((1 + n) / (1 + having.get(word, 0))) + 1)
        for word, times in count.items()
    }


def _cosine(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    # Exactly rounded sums: the order of words must not break ties.
    product = math.fsum(weight * b[word] for word, weight in a.items() if word in b)
    lengths = [math.sqrt(math.fsum(w * w for w in x.values())) for x in (a, b)]
    return product / (lengths[0] * lengths[1]) if all(lengths) else 0.0
