"""Entities of a growing graph: one name for each, with aliases.

A name is the same as a known one if both are equal under `editing.probe.matching.normalise`, or it
is an alias. Nearly equal names (rapidfuzz's WRatio) are proposed to the model ("are both the
same?"), and a majority of its answers decides; a no keeps both, and the pair is not asked again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rapidfuzz import fuzz, process

from ...editing.probe.matching import contains, normalise
from ...loaders.records import Entity
from .relations import NEAR

if TYPE_CHECKING:
    from ...loaders.records import KnowledgeGraph

PROPOSED = 3
"""Known names that a new one is compared with, at most."""
HEADS = frozenset({
    "house", "school", "university", "college", "city", "town", "village", "street", "river",
    "lake", "mountain", "company", "corporation", "family", "team", "club", "party", "band",
    "island", "county", "state",
})  # fmt: skip
"""Generic words that a name may or may not carry at its end: `Gryffindor house`."""
_ARTICLE = re.compile(r"^(?:a|an|the)\s", re.IGNORECASE)

Same = Callable[[str, str], bool | None]
"""Model's judgement: True if two names are the same; None: it cannot be asked."""


class Entities:
    """The entities of a run.

    Args:
        base: graph whose entities are known from the start, with aliases and kinds.
        same: asks the model.

    Attributes:
        blocked: pairs of names that the model says are different.
    """

    def __init__(self, base: KnowledgeGraph | None, same: Same) -> None:
        self._same = same
        self._known: dict[str, str] = {}
        self._records: dict[str, Entity] = {}
        self.blocked: set[frozenset[str]] = set()
        self.undecided: list[tuple[str, str]] = []
        for entity in base.entities if base is not None else ():
            self._add(entity)

    def canonical(self, name: str) -> str:
        """The name in force of an entity, new or known."""
        name = " ".join(name.split())
        known = self._known.get(_key(name))
        if known is not None:
            return known
        for other in self._near(name):
            if frozenset((name, other)) in self.blocked:
                continue
            answer = self._same(name, other)
            if answer:
                self._alias(other, name)
                return other
            if answer is None:
                self.undecided.append((name, other))
            else:
                self.blocked.add(frozenset((name, other)))
        self._add(Entity(name))
        return name

    def knows(self, name: str) -> bool:
        """Return True if it is a name or alias of a known entity."""
        return _key(" ".join(name.split())) in self._known

    def names(self, name: str) -> tuple[str, ...]:
        """Name and aliases of an entity."""
        entity = self._records.get(name)
        return (name, *entity.aliases) if entity else (name,)

    def record(self, name: str) -> Entity:
        """The entity of a name."""
        return self._records.get(name, Entity(name))

    def _near(self, name: str) -> list[str]:
        key = _key(name)
        # rapidfuzz's types call positional arguments `__s1`, which pyrefly takes for a name.
        # pyrefly: ignore[no-matching-overload]
        found = process.extract(
            key, list(self._known), scorer=fuzz.WRatio, score_cutoff=NEAR, limit=PROPOSED
        )
        headless = [known for known in self._known if _headless(known) == key]
        if _headless(key) in self._known:
            headless.append(_headless(key))
        names = [self._known[text] for text in [*headless, *(text for text, *_ in found)]]
        return list(dict.fromkeys(names))

    def _add(self, entity: Entity) -> None:
        self._records[entity.name] = entity
        for name in (entity.name, *entity.aliases):
            self._known.setdefault(_key(name), entity.name)

    def _alias(self, name: str, alias: str) -> None:
        before = self._records[name]
        self._records[name] = Entity(name, (*before.aliases, alias), before.kind)
        self._known[_key(alias)] = name


def is_type_word(name: str) -> bool:
    """Return True if a text names a kind, not one entity: all in lower case, or with an article."""
    cased = any(char.islower() or char.isupper() for char in name)
    return bool(_ARTICLE.match(name)) or (cased and name == name.lower())


def names_itself(subject: str, names: Sequence[str]) -> bool:
    """Return True if the subject already contains a name of the object."""
    return contains(subject, names)


def _key(name: str) -> str:
    return normalise(name) or name


def _headless(key: str) -> str:
    head, _, last = key.rpartition(" ")
    return head if head and last in HEADS else ""
