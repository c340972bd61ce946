"""Metrics of free generations: fluency and consistency.

Fluency is the generation entropy GE of Zhang et al. 2018 as Meng et al. 2022 (ROME, section 3.3)
use it: a repetitive text has few distinct n-grams. Consistency is their reference score
RS: the cosine of the unigram TF-IDF vectors of the generated texts and of reference texts about
subjects that have the new object. Imports no torch.

The published code uses NLTK's tokenizer for GE. Here a token is a run of letters, digits and
underscores, or any other visible character, so that no data must be downloaded; "don't" is three
tokens here and two there.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

WEIGHTS = {2: 2 / 3, 3: 4 / 3}
"""By n of the n-grams. GE is the mean of the weighted entropies, so that of bigrams counts one
third and that of trigrams two thirds (published values are around 6.3 bits for 100 tokens)."""

_TOKEN = re.compile(r"\w+|[^\w\s]")
_TERM = re.compile(r"\b\w\w+\b")


def ngram_entropy(text: str, n: int) -> float:
    """H = -Σ f log2 f in bits over the frequencies f of the text's n-grams; 0 if it has none."""
    tokens = _TOKEN.findall(text)
    counts = Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))
    total = counts.total()
    return -sum(c / total * math.log2(c / total) for c in counts.values()) + 0.0


def fluency(texts: Sequence[str]) -> float:
    """Generation entropy in bits, mean over the texts; 0 without texts.

    Texts include their prompts, as in the published evaluation.
    """
    if not texts:
        return 0.0
    return fmean(fmean(w * ngram_entropy(text, n) for n, w in WEIGHTS.items()) for text in texts)


def terms(text: str) -> list[str]:
    """The lower-case words of two characters or more."""
    return _TERM.findall(text.lower())


def inverse_document_frequencies(corpus: Iterable[str]) -> dict[str, float]:
    """idf(t) = ln((1 + N) / (1 + df(t))) + 1 for every term of the N texts (smoothed)."""
    documents = [set(terms(text)) for text in corpus]
    counts = Counter(term for document in documents for term in document)
    return {term: math.log((1 + len(documents)) / (1 + df)) + 1 for term, df in counts.items()}


def consistency(texts: Sequence[str], references: Sequence[str], idf: Mapping[str, float]) -> float:
    """Cosine of the TF-IDF vectors of all texts joined and all references joined, in [0, 1].

    A term without idf is ignored. 0 if one side has no other terms.

    Args:
        idf: of `inverse_document_frequencies` over all reference texts of the data set.
    """
    one, other = _vector(texts, idf), _vector(references, idf)
    product = sum(value * other.get(term, 0.0) for term, value in one.items())
    norms = math.sqrt(_squared(one)) * math.sqrt(_squared(other))
    return min(product / norms, 1.0) if norms else 0.0


def _vector(texts: Sequence[str], idf: Mapping[str, float]) -> dict[str, float]:
    counts = Counter(term for text in texts for term in terms(text))
    return {term: count * idf[term] for term, count in counts.items() if term in idf}


def _squared(vector: Mapping[str, float]) -> float:
    return sum(value * value for value in vector.values())
