"""Names as entities: equal under the rules of matching, or by an alias.

A name that matches no entity is a new one; nothing is merged by resemblance.
"""

from __future__ import annotations

from collections.abc import Iterable

from ....editing.probe.matching import normalise
from ....loaders.records import Entity
from ...errors import NotFoundError


class Names:
    """The entities known so far, by name and alias.

    A name goes before an alias: of two entities that are aliases of each other each keeps its own
    name. An alias of several entities is the first one's, by name.

    Args:
        entities: gives spelling and aliases.
    """

    def __init__(self, entities: Iterable[Entity] = ()) -> None:
        self._by_name: dict[str, str] = {}
        self._by_alias: dict[str, str] = {}
        for entity in sorted(entities, key=lambda e: e.name):
            self._by_name.setdefault(normalise(entity.name) or entity.name, entity.name)
            for alias in entity.aliases:
                self._by_alias.setdefault(normalise(alias) or alias, entity.name)
        self._given = frozenset(self._by_name.values())

    def find(self, text: str) -> str | None:
        """The entity of that name or alias; None without one."""
        key = normalise(text) or text
        return self._by_name.get(key) or self._by_alias.get(key)

    def resolve(self, text: str) -> str:
        """The entity of that name or alias; a new one keeps the text as its name."""
        found = self.find(text)
        if found is None:
            found = self._by_name[normalise(text) or text] = text
        return found

    def is_named(self, entity: str) -> bool:
        """Return True for a possible subject: given at the start, or not all in lower case."""
        return entity in self._given or entity != entity.lower()

    @property
    def given(self) -> frozenset[str]:
        """Names of the entities that were given at the start."""
        return self._given


def unknown_entity(name: str, graph: str, names: Names) -> NotFoundError:
    """The error for an entity that a graph does not have; suggests close names."""
    missing = NotFoundError("entity", name, sorted(names.given), listing="thinkeval graphs")
    missing.remedy = f"Take the name or an alias of an entity of {graph!r}."
    return missing
