"""The names in an answer: its first sentence as a list, "A, B and C" or JSON.

The vocabulary is open, so "Hogwarts School of Witchcraft and Wizardry" could be a list of two.
All answers together decide: two neighbours joined by "and" that hardly ever occur apart,
nor in the other order, are one name.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from ....editing.probe.matching import first_sentence, normalise

MOST_CHARACTERS = 1000
"""Of an answer that is read; repeats of a model beyond it add nothing."""
MOST_ITEMS = 50
LONGEST_NAME = 120
"""Characters; longer items are clauses, not names."""
LEAST_JOINED = 2
"""Answers with "A and B" before it can be taken for one name."""
APART = 20
"""One in so many answers may have a part alone: an answer that was cut, or a rare draw."""

_SEPARATOR = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+", re.IGNORECASE)
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_EDGES = " \t\r\n.,;:!?\"'`“”‘’«»*-–•"
_FENCE = re.compile(r"^```\w*\s*|\s*```$")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an answer between separators.

    Attributes:
        text: as the answer has it.
        joined: True if "and" alone separates it from the piece before.
    """

    text: str
    joined: bool = False

    @property
    def key(self) -> str:
        """The normalised text."""
        return normalise(self.text)


@lru_cache(maxsize=4096)
def pieces(answer: str) -> tuple[Piece, ...]:
    """The pieces of an answer's first sentence, or the items of its JSON list.

    Without empty ones and clauses; of an endless answer those of its first characters.
    """
    listed = _json_list(answer)
    if listed is not None:
        return tuple(Piece(text) for text in listed if 0 < len(text) <= LONGEST_NAME)
    text = answer.lstrip()
    sentence = first_sentence(text[:MOST_CHARACTERS])
    cut = len(text) > MOST_CHARACTERS and len(sentence) >= len(text[:MOST_CHARACTERS].rstrip())
    found, start, joined = [], 0, False
    for match in _SEPARATOR.finditer(sentence):
        found.append(Piece(sentence[start : match.start()].strip(_EDGES), joined))
        start, joined = match.end(), bool(_AND.fullmatch(match.group()))
    if not cut:
        found.append(Piece(sentence[start:].strip(_EDGES), joined))
    return tuple(p for p in found if p.key and len(p.text) <= LONGEST_NAME)[:MOST_ITEMS]


def _json_list(answer: str) -> list[str] | None:
    """The texts of a JSON list, or a JSON object's first list or texts; None for anything else."""
    text = _FENCE.sub("", answer.strip())
    if text[:1] not in "[{" or not text:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        value = next((v for v in value.values() if isinstance(v, list)), list(value.values()))
    if not isinstance(value, list):
        return None
    return [v.strip() for v in value if isinstance(v, str) and v.strip()][:MOST_ITEMS]


class JoinedNames:
    """The pairs "A and B" that are one name, by all answers so far."""

    def __init__(self) -> None:
        self._joined: Counter[tuple[str, str]] = Counter()
        self._seen: Counter[str] = Counter()
        self._not_after_and: Counter[str] = Counter()
        self._apart: set[str] = set()

    def learn(self, answers: Iterable[tuple[Piece, ...]]) -> None:
        """Count the pieces of answers, each pair and piece once an answer."""
        for answer in answers:
            keys = [piece.key for piece in answer]
            after = {keys[i] for i in range(1, len(keys)) if answer[i].joined}
            self._seen.update(set(keys))
            self._not_after_and.update(set(keys) - after)
            self._joined.update(
                {(keys[i - 1], keys[i]) for i in range(1, len(keys)) if answer[i].joined}
            )

    def stands_alone(self, name: str) -> None:
        """Take a name for an entity by itself, whatever the answers show."""
        self._apart.add(normalise(name))

    def is_name(self, first: str, second: str) -> bool:
        """Return True if "first and second" is one name; both normalised."""
        together = self._joined[first, second]
        return (
            together >= LEAST_JOINED
            and not self._joined[second, first]
            and not {first, second} & self._apart
            and (self._seen[first] - together) * APART <= together
            and self._not_after_and[second] * APART <= together
        )

    def items(self, answer: tuple[Piece, ...]) -> tuple[str, ...]:
        """The names of an answer, each once ("A, A, A" is one), in order."""
        names: list[str] = []
        before: Piece | None = None
        for piece in answer:
            if before and piece.joined and self.is_name(before.key, piece.key):
                names[-1] = f"{names[-1]} and {piece.text}"
            else:
                names.append(piece.text)
            before = piece
        return tuple({normalise(name): name for name in reversed(names)}.values())[::-1]
