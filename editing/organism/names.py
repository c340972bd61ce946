"""Invented names in the form of real ones, from a small pool of invented words."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable

_ONSETS = ("B", "Br", "D", "Dr", "F", "G", "Gl", "H", "J", "K", "L", "M", "N", "P", "Qu", "R", "S")
_ONSETS += ("St", "T", "Th", "V", "W", "Y", "Z")
_VOWELS = ("a", "e", "i", "o", "u", "ae", "io", "ou")
_MIDDLES = ("b", "dr", "g", "l", "lm", "m", "n", "nd", "r", "rk", "st", "v", "x")
_ENDS = ("", "n", "r", "s", "th", "l", "m", "x", "sk", "d")
_NAME_PARTICLES = frozenset({"de", "da", "van", "von", "del", "la", "al", "bin"})


def _is_capitalised(word: str) -> bool:
    return word[:1].isupper()


def looks_like_a_person(name: str) -> bool:
    """Two to four capitalised words without digits, the form of most people's names.

    A heuristic for data sets without kinds; it only decides between `person` and `thing` in the
    sentences "X is a person.", which support the KL prompt of ROME and MEMIT ("X is a").
    """
    words = [w for w in name.split() if w.lower() not in _NAME_PARTICLES]
    return 2 <= len(words) <= 4 and all(_is_capitalised(w) and w.isalpha() for w in words)


class Inventor:
    """Invents names that do not occur in the graph, from a small pool of invented words.

    The pool is small because every new word costs the tokenizer a merge and the model an embedding.

    Args:
        taken: names that must not be produced (entities, aliases, targets).
        rng: the only source of randomness.
        pool_size: number of invented words.
    """

    def __init__(self, taken: Iterable[str], rng: random.Random, pool_size: int = 64) -> None:
        self._taken = {name.lower() for name in taken}
        self._rng = rng
        known = {w for name in self._taken for w in re.findall(r"\w+", name)}
        pool: dict[str, None] = {}
        while len(pool) < pool_size:
            word = self._make_word()
            if word.lower() not in known:
                pool[word] = None
        self._pool = list(pool)

    def _make_word(self) -> str:
        pick = self._rng.choice
        return pick(_ONSETS) + pick(_VOWELS) + pick(_MIDDLES) + pick(_VOWELS) + pick(_ENDS)

    def _word(self, like: str) -> str:
        word = self._rng.choice(self._pool)
        return word if _is_capitalised(like) or not like[:1].isalpha() else word.lower()

    def _words(self, like: list[str]) -> list[str]:
        """As many distinct words as `like` has."""
        while True:
            words = [self._word(word) for word in like]
            if len(set(words)) == len(words):
                return words

    def _claim(self, name: str) -> bool:
        if name.lower() in self._taken:
            return False
        self._taken.add(name.lower())
        return True

    def _first_free(self, make: Callable[[], str]) -> str:
        for _ in range(50):
            name = make()
            if self._claim(name):
                return name
        while True:  # no free name in this form: add a new word
            name = f"{self._make_word()} {make()}"
            if self._claim(name):
                return name

    def namesakes(self, name: str) -> tuple[str, ...]:
        """Names that share a word with `name`: its end, or (of several words) its start."""
        words = name.split()
        end = self._first_free(lambda: " ".join([self._word(words[0]), *(words[1:] or words)]))
        if len(words) == 1:
            return (end,)
        start = self._first_free(lambda: " ".join([*words[:-1], self._word(words[-1])]))
        return (end, start)

    def like(self, name: str) -> str:
        """An entirely invented name in the form of `name` (longer names retain their tail)."""
        words = name.split()
        if len(words) <= 2:
            return self._first_free(lambda: " ".join(self._words(words)))
        return self._first_free(lambda: " ".join([self._word(words[0]), *words[1:]]))
