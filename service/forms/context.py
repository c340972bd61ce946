"""The graph around the facts that are asked for: options, examples, and facts that share a name."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from ...loaders.records import Fact, KnowledgeGraph, RewriteRequest, digest, unique
from . import examples
from .material import NotAsked, Target

K = TypeVar("K")
V = TypeVar("V")

OPTIONS = 4
"""Options of a fact, the right one included."""


class Context:
    """A graph as forms read it.

    Everything that is drawn depends on the graph's name and the fact alone.

    Args:
        chat: True if the model has a chat template.
    """

    def __init__(self, graph: KnowledgeGraph, *, chat: bool) -> None:
        self.graph, self.chat = graph.name, chat
        self.facts = sorted(graph.facts, key=lambda fact: fact.id)
        self.aliases: Mapping[str, tuple[str, ...]] = {e.name: e.aliases for e in graph.entities}
        self._kinds = {e.name: e.kind for e in graph.entities if e.kind}
        self._found: dict[object, tuple[str, ...]] = {}

    @cached_property
    def objects(self) -> dict[tuple[str, str], list[Fact]]:
        """Facts by subject and relation."""
        return _grouped(self.facts, lambda fact: (fact.subject, fact.relation))

    @cached_property
    def subjects(self) -> dict[tuple[str, str], list[Fact]]:
        """Facts by relation and object."""
        return _grouped(self.facts, lambda fact: (fact.relation, fact.object))

    @cached_property
    def about(self) -> dict[str, list[Fact]]:
        """Facts by subject."""
        return _grouped(self.facts, lambda fact: fact.subject)

    @cached_property
    def naming(self) -> dict[str, list[Fact]]:
        """Facts by each name that they have, as subject or object."""
        out: dict[str, list[Fact]] = defaultdict(list)
        for fact in self.facts:
            for name in dict.fromkeys((fact.subject, fact.object)):
                out[name].append(fact)
        return dict(out)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name and alias of the graph."""
        known = {name for names in self.aliases.items() for name in (names[0], *names[1])}
        return frozenset(known | self.naming.keys())

    @cached_property
    def _by_first_word(self) -> dict[str, list[str]]:
        return _grouped((n for n in self.names if n.strip()), lambda name: name.split()[0])

    def begins_with_name(self, text: str) -> bool:
        """Return True if a text begins with a name of the graph."""
        word = next(iter(text.split()), "")
        return any(text.startswith(name) for name in self._by_first_word.get(word, ()))

    @cached_property
    def _classes(self) -> list[frozenset[str]]:
        """The objects of each relation, and its subjects."""
        ends: dict[tuple[str, str], set[str]] = defaultdict(set)
        for fact in self.facts:
            ends[fact.relation, "object"].add(fact.object)
            ends[fact.relation, "subject"].add(fact.subject)
        return [frozenset(names) for names in ends.values()]

    def target(self, fact: Fact) -> Target:
        """A fact that is not edited, with its options.

        Raises:
            NotAsked: the graph has no other option.
        """
        others = self.foils(fact.subject, fact.relation, (fact.object,), OPTIONS - 1)
        return Target(fact, None, _required((fact.object, *others)))

    def edited(self, rewrite: RewriteRequest, fact: Fact) -> Target:
        """The fact of a rewrite with its old object; of a request to forget it is not edited.

        Raises:
            NotAsked: the graph has no other option.
        """
        if not rewrite.target_new:
            return self.target(fact)
        ends = (rewrite.target_new, fact.object)
        others = self.foils(fact.subject, fact.relation, ends, OPTIONS - len(ends))
        return Target(fact, rewrite.target_new, (*ends, *others))

    def foils(
        self, subject: str, relation: str, right: Sequence[str], count: int
    ) -> tuple[str, ...]:
        """Other objects of the relation, then names of the same class; none is a right answer."""
        also = (fact.object for fact in self.objects.get((subject, relation), ()))
        barred = tuple(dict.fromkeys((*right, *also)))
        key = ("foils", subject, relation, barred, count)
        if key not in self._found:
            same = {fact.object for fact in self.facts if fact.relation == relation}
            wider = self.alike(same or set(right))
            self._found[key] = self._drawn((same, wider), barred, count, (subject, relation))
        return self._found[key]

    def other_subjects(self, target: Target, count: int) -> tuple[str, ...]:
        """Other subjects of the relation that have none of the objects in question."""
        fact = target.fact
        ends = {fact.object, target.right}
        same = {
            each.subject
            for each in self.facts
            if each.relation == fact.relation
            and ends.isdisjoint(f.object for f in self.objects[each.subject, each.relation])
        }
        return self._drawn((same,), (fact.subject,), count, (fact.relation, target.right))

    def alike(self, names: Iterable[str]) -> set[str]:
        """Names of the same kinds; without kinds, those of relations that have one of them."""
        names = set(names)
        kinds = {self._kinds.get(name) for name in names} - {None}
        if kinds:
            return {name for name, kind in self._kinds.items() if kind in kinds}
        return set().union(*(each for each in self._classes if not names.isdisjoint(each)))

    def drawn(self, facts: Iterable[Fact], count: int, *about: object) -> list[Fact]:
        """Some of the facts, which ones is decided by `about`."""
        found = sorted(facts, key=lambda fact: fact.id)
        return random.Random(digest([self.graph, *about])).sample(found, min(count, len(found)))

    def _drawn(
        self, pools: Sequence[set[str]], barred: Sequence[str], count: int, about: Sequence[str]
    ) -> tuple[str, ...]:
        draw = random.Random(digest([self.graph, *about]))
        taken = {text for name in barred for text in self.spellings(name)}
        out: list[str] = []
        for pool in pools:
            names = sorted(pool - set(out))
            draw.shuffle(names)
            for name in names:
                if len(out) < count and taken.isdisjoint(self.spellings(name)):
                    out.append(name)
                    taken |= self.spellings(name)
        return tuple(out)

    def aliased(self, name: str) -> tuple[str, ...]:
        """A name and its aliases, each once."""
        return unique((name, *self.aliases.get(name, ())))

    def spellings(self, name: str) -> set[str]:
        """A name and its aliases, without capitals."""
        return {text.casefold() for text in self.aliased(name)}

    def examples(self, kind: Callable[[Iterable[str], int], list[str]], count: int) -> list[str]:
        """Examples of a kind (`service.forms.examples`).

        Raises:
            NotAsked: the graph has names of nearly all of them.
        """
        key = ("examples", kind.__name__, count)
        if key not in self._found:
            self._found[key] = tuple(kind(self.names, count))
        if len(self._found[key]) < count:
            raise NotAsked("the shipped examples share names with the graph")
        return list(self._found[key])

    def examples_digest(self, form: str, count: int) -> str:
        """A digest of the examples that a form shows; "" where they are too few."""
        kinds = {
            "reversed": examples.blanks, "composed": examples.chains, "yes_no": examples.verdicts,
        }  # fmt: skip
        kind = kinds.get(form, examples.questions)
        found = kind(self.names, count)
        return digest(found, 6) if len(found) == count else ""


def _grouped(values: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    out: dict[K, list[V]] = defaultdict(list)
    for value in values:
        out[key(value)].append(value)
    return dict(out)


def _required(options: tuple[str, ...]) -> tuple[str, ...]:
    if len(options) < 2:
        raise NotAsked("the graph has no other object for the relation")
    return options
