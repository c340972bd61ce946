"""False answers of requests to append, and prompts of locality, by brute force over the facts.

Independent of Cypher: breadth-first search over sets of pairs.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TypeVar

from thinkeval.loaders.records import KnowledgeGraph

T = TypeVar("T")


@dataclass(frozen=True)
class Links:
    """The facts of a graph as brute force reads them.

    Attributes:
        objects: of each (subject, relation).
        near: entities with a fact with another one, in either direction.
        kinds: of each entity.
    """

    objects: dict[tuple[str, str], set[str]]
    near: dict[str, set[str]]
    kinds: dict[str, str | None]

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> Links:
        """The links of a graph."""
        objects: dict[tuple[str, str], set[str]] = defaultdict(set)
        near: dict[str, set[str]] = defaultdict(set)
        for fact in graph.facts:
            objects[fact.subject, fact.relation].add(fact.object)
            near[fact.subject].add(fact.object)
            near[fact.object].add(fact.subject)
        return cls(dict(objects), dict(near), {e.name: e.kind for e in graph.entities})

    def distance(self, start: str, end: str) -> float:
        """Facts between two entities; infinite where nothing joins them."""
        seen, edge, steps = {start}, {start}, 0
        while edge:
            if end in edge:
                return steps
            edge = {b for a in edge for b in self.near.get(a, set())} - seen
            seen |= edge
            steps += 1
        return float("inf")


def pairs(links: Links, least: int) -> dict[tuple[str, str], list[str]]:
    """(relation, subject) with at least so many objects, with these."""
    found = {(r, s): sorted(names) for (s, r), names in links.objects.items()}
    return {key: names for key, names in sorted(found.items()) if len(names) >= least}


def range_of(links: Links, relation: str) -> tuple[set[str], list[str]]:
    """Kinds of a relation's objects, and all entities that are one or have their kind."""
    objects = {o for (_, r), names in links.objects.items() if r == relation for o in names}
    kinds = {kind for o in objects if (kind := links.kinds[o]) is not None}
    return kinds, sorted(n for n, kind in links.kinds.items() if n in objects or kind in kinds)


def hard(links: Links, subject: str, relation: str, new: str) -> list[str]:
    """Entities of the range with a fact with the new answer."""
    _, names = range_of(links, relation)
    correct = links.objects[subject, relation]
    return [n for n in names if links.distance(new, n) == 1 and n != subject and n not in correct]


def random(links: Links, subject: str, relation: str, new: str, turn: int) -> list[str]:
    """Entities far from the new answer, the farthest class first."""
    classes: list[list[str]] = [[], [], []]
    kind = links.kinds[new]
    for name, its in sorted(links.kinds.items()):
        if name in (subject, new) or name in links.objects[subject, relation]:
            continue
        steps, other = links.distance(new, name), None not in (its, kind) and its != kind
        if steps >= 3:
            classes[0 if other else 1].append(name)
        elif steps == 2 and other:
            classes[2].append(name)
    return [name for names in classes for name in turned(names, turn)]


def locality(
    links: Links, graph: KnowledgeGraph, subject: str, relation: str, new: str, turn: int
) -> list[tuple[str, str]]:
    """Prompts about other subjects that have a correct answer, and not the new one, as object."""
    correct = links.objects[subject, relation]
    first: dict[tuple[str, str], tuple[str, str]] = {}
    for fact in sorted(graph.facts, key=lambda f: (f.object, f.prompt)):
        key = (fact.subject, fact.relation)
        if fact.subject != subject and fact.object in correct and new not in links.objects[key]:
            prompt = fact.prompt.replace("{}", fact.subject)
            first.setdefault(key, (prompt, fact.object))
    return turned([first[key] for key in sorted(first)], turn)


def turned(items: list[T], turn: int) -> list[T]:
    """The items from a place on, those before it at the end."""
    start = turn % len(items) if items else 0
    return items[start:] + items[:start]
