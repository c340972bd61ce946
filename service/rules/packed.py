"""A graph's facts as arrays of numbers: its rules are mined and counted here, in bounded memory.

A million facts are some 25 MB of arrays. Mining goes over all pairs of entities with a fact between
them, each directed from the entity with fewer neighbours to the other, so that every triangle is
found once, at its entity with the fewest (Chiba and Nishizeki, "Arboricity and subgraph listing
algorithms", 1985), and a hub costs no more than others. What one step makes is cut into parts of
`PART` elements; beside the facts, only the tally of the different rules grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...cypher import rows
from ...loaders.rule_records import Rule
from ..base.database import Progress, silent
from ..base.errors import UsageError
from ..graphs.datasets import require_graph
from .store import RuleStatistics

if TYPE_CHECKING:
    from ...cypher.run import Database

Ints = np.ndarray[Any, np.dtype[np.int64]]

PART = 4_000_000
"""Number of elements that one step makes, of 8 bytes each in a few arrays."""
MOST_RULES = 10_000_000
"""Maximum number of different rules before the least support leaves some out: a gigabyte."""
MOST_LISTED = 100_000_000
"""Groundings of a rule of which the distinct conclusions are counted; of more they are unknown."""


_BATCH = 20_000


class Suggested(NamedTuple):
    """A mined rule.

    Attributes:
        relation1, inverse1: first premise, about x and y; inverse: from y to x.
        relation2, inverse2: second premise, about y and z; None and False without one.
        relation3: of the conclusion, from x to z.
        kinds: of x, y and z, where all their entities share one.
    """

    relation1: str
    inverse1: bool
    relation2: str | None
    inverse2: bool
    relation3: str
    kinds: tuple[str | None, str | None, str | None]
    support: int


class Counts(NamedTuple):
    """Groundings of a rule whose conclusion is a fact, of its premises, and its statistics.

    The statistics are None for a rule with more than `MOST_LISTED` groundings.
    """

    support: int
    body: int
    statistics: RuleStatistics | None


def read(
    db: Database, graph: str, relations: Sequence[str] | None = None, progress: Progress = silent
) -> Packed:
    """Read a graph's facts, in pages; of some relations only, if they are given.

    Raises:
        NotFoundError: no such graph.
    """
    packing = _Packing()
    total = require_graph(db, graph, kind=None).n_facts
    if relations is not None:
        found = db.stream(
            rows.RelationFactRow, "rules/facts_of", graph=graph, relations=sorted({*relations})
        )
        while part := [_columns(row) for row in islice(found, _BATCH)]:
            packing.add(*zip(*part, strict=True))
        return packing.packed()
    last, done = None, 0
    while page := _page(db, graph, last):
        packing.add(
            page.subjects, page.subject_kinds, page.relations, page.objects, page.object_kinds
        )
        last, done = page.last, done + len(page.subjects)
        progress(done, max(done, total), "reading facts")
    return packing.packed()


def _page(db: Database, graph: str, after: str | None) -> rows.FactColumnsRow | None:
    (page,) = db.read(rows.FactColumnsRow, "rules/facts_page", graph=graph, after=after)
    return page if page.subjects else None


def _columns(row: rows.RelationFactRow) -> tuple[str, str, str, str, str]:
    return row.subject, row.subject_kind, row.relation, row.object, row.object_kind


class _Packing:
    """Facts that are being read: names become numbers."""

    def __init__(self) -> None:
        self._entities: dict[str, int] = {}
        self._relations: dict[str, int] = {}
        self._kinds: dict[str, str] = {}
        self._parts: list[Ints] = []

    def add(self, *columns: Sequence[str]) -> None:
        """Add facts: subjects, their kinds, relations, objects, their kinds."""
        subjects, subject_kinds, relations, objects, object_kinds = columns
        self._kinds.update(zip(subjects, subject_kinds, strict=True))
        self._kinds.update(zip(objects, object_kinds, strict=True))
        part = [
            [known.setdefault(name, len(known)) for name in names]
            for names, known in (
                (subjects, self._entities),
                (relations, self._relations),
                (objects, self._entities),
            )
        ]
        self._parts.append(np.array(part, np.int64))

    def packed(self) -> Packed:
        """The facts, by relation in the order of the names."""
        subject, relation, object_ = np.concatenate(
            [np.empty((3, 0), np.int64), *self._parts], axis=1
        )
        names = sorted(self._relations)
        place = np.empty(len(names), np.int64)
        place[[self._relations[name] for name in names]] = np.arange(len(names))
        relation = place[relation]
        order = np.argsort(relation, kind="stable")
        kinds = ["", *sorted({*self._kinds.values()} - {""})]
        code = {kind: number for number, kind in enumerate(kinds)}
        kind = np.array([code[self._kinds[name]] for name in self._entities], np.int64)
        return Packed(names, kinds, kind, subject[order], relation[order], object_[order])


@dataclass(frozen=True, slots=True)
class Packed:
    """The facts of a graph, by relation.

    Attributes:
        relations: names of the relations, in order.
        kinds: names of the kinds; the first is that of entities without one.
        kind: kind of each entity.
        subject, relation, object: of each fact.
    """

    relations: list[str]
    kinds: list[str]
    kind: Ints
    subject: Ints
    relation: Ints
    object: Ints

    def suggested(
        self, min_support: int, limit: int, progress: Progress = silent
    ) -> tuple[list[Suggested], int]:
        """Return the rules that triangles and pairs of facts suggest, and their number.

        Three facts over three different entities form a triangle. Each of them may be the
        conclusion, from x to z, of a rule with the two others as premises. Of two facts over the
        same two entities each may be the conclusion of a rule with the other as premise, unless
        both state the same in the same direction. Support is the number of triangles, or pairs of
        facts. Either sort is listed best supported first, then by the names of its relations.

        Args:
            limit: maximum number of rules of either sort.

        Raises:
            UsageError: more than `MOST_RULES` different rules.
        """
        between = _Between(self)
        triangles, pairs = _Tally(), _Tally()
        for done, total, facts in between.triangles():
            for conclusion, *others in (facts, (*facts[1:], facts[0]), (facts[2], *facts[:2])):
                triangles.add(*self._triangle(conclusion, *others))
            progress(done, total, "triangles")
        for done, total, (conclusion, premise) in between.pairs():
            pairs.add(*self._pair(conclusion, premise))
            progress(done, total, "pairs of facts")
        found: list[Suggested] = []
        total = 0
        for tally in (triangles, pairs):
            best, number = tally.best(min_support, limit, self._unpacked)
            found += [self._suggested(row, single=tally is pairs) for row in best.T.tolist()]
            total += number
        return found, total

    def _triangle(self, conclusion: Ints, one: Ints, other: Ints) -> tuple[Ints, Ints]:
        """Return the rule's number and the kinds of x, y, z, for three facts of a triangle."""
        x, z = self.subject[conclusion], self.object[conclusion]
        at_x = (self.subject[one] == x) | (self.object[one] == x)
        first, second = np.where(at_x, one, other), np.where(at_x, other, one)
        inverse1 = self.subject[first] != x
        y = np.where(inverse1, self.subject[first], self.object[first])
        inverse2 = self.subject[second] != y
        number = self._number(first, inverse1, second, inverse2, conclusion)
        return number, self.kind[np.stack([x, y, z])]

    def _pair(self, conclusion: Ints, premise: Ints) -> tuple[Ints, Ints]:
        x, z = self.subject[conclusion], self.object[conclusion]
        inverse = self.subject[premise] != x
        says = inverse | (self.relation[premise] != self.relation[conclusion])
        x, z, inverse = x[says], z[says], inverse[says]
        conclusion, premise = conclusion[says], premise[says]
        number = self._number(premise, inverse, premise, inverse, conclusion)
        return number, self.kind[np.stack([x, x, z])]

    def _number(
        self, first: Ints, inverse1: Ints, second: Ints, inverse2: Ints, conclusion: Ints
    ) -> Ints:
        n = len(self.relations)
        relations = (self.relation[first] * n + self.relation[second]) * n
        return (relations + self.relation[conclusion]) * 4 + inverse1 * 2 + inverse2

    def _unpacked(self, number: Ints) -> tuple[Ints, ...]:
        """Return relations and directions by which equally supported rules are ordered."""
        n, by_relation = len(self.relations), number // 4
        first, second, third = by_relation // n // n, by_relation // n % n, by_relation % n
        return third, first, second, number // 2 % 2, number % 2

    def _suggested(self, row: Sequence[int], *, single: bool) -> Suggested:
        third, first, second, inverse1, inverse2, support, *kinds = row
        x, y, z = (self.kinds[kind] or None for kind in kinds)
        names = self.relations
        return Suggested(
            names[first], bool(inverse1), None if single else names[second],
            bool(inverse2) and not single, names[third], (x, None if single else y, z), support,
        )  # fmt: skip

    def counts(self, rule: Rule, progress: Progress = silent) -> Counts:
        """Count a rule: its groundings as facts state them, its conclusions once each.

        Of two premises they are joined at y, x and z being different; of more than `MOST_LISTED`
        groundings only the numbers are found, not the distinct conclusions.
        """
        relation1, relation2, relation3 = rule.relations
        inverse1, inverse2 = rule.inverse
        n = max(len(self.kind), 1)
        s, o = self._facts(relation3)
        heads, with_fact = np.unique(s * n + o), np.unique(s)
        conclusions = _Conclusions(heads, with_fact, n)
        fits = self._fits(s, rule.kind("x")) & self._fits(o, rule.kind("z")) & (s != o)
        x, z = s[fits], o[fits]
        if relation2 is None:
            a, c = self._ends(relation1, inverse1, rule.kind("x"), rule.kind("z"))
            stated = np.sort(x * n + z)
            support = int(_within(stated, a * n + c)[1].sum())
            conclusions.add(a * n + c)
            return Counts(support, len(a), conclusions.statistics())
        a, y = self._ends(relation1, inverse1, rule.kind("x"), rule.kind("y"))
        b, c = self._ends(relation2, inverse2, rule.kind("y"), rule.kind("z"))
        order = np.argsort(a, kind="stable")
        a, y = a[order], y[order]
        order = np.argsort(b, kind="stable")
        b, c = b[order], c[order]
        seconds = np.sort(b * n + c)
        # From the conclusion: y then lies between two known entities.
        support = 0
        firsts, many = _within(a, x)
        for part in _parts(many):
            owner, at = _expanded(firsts[part], many[part])
            support += int(_within(seconds, y[at] * n + z[part][owner])[1].sum())
        starts, many = _within(b, y)
        body = int(many.sum() - _within(seconds, y * n + a)[1].sum())
        if many.sum() > MOST_LISTED:
            return Counts(support, body, None)
        # A part has all groundings of its x, so that no conclusion is in two.
        edges = np.flatnonzero(np.diff(a, prepend=-1))
        ends = np.append(edges[1:], len(a))
        for part in _parts(np.add.reduceat(many, edges) if len(a) else many):
            of = slice(edges[part.start], ends[part.stop - 1])
            owner, at = _expanded(starts[of], many[of])
            x, z = a[of][owner], c[at]
            conclusions.add((x * n + z)[x != z])
            progress(int(of.stop), len(a), "groundings")
        return Counts(support, body, conclusions.statistics())

    def _facts(self, relation: str) -> tuple[Ints, Ints]:
        """Return the subjects and objects of a relation's facts."""
        if relation not in self.relations:
            return self.subject[:0], self.object[:0]
        place = self.relations.index(relation)
        of = slice(*np.searchsorted(self.relation, (place, place + 1)))
        return self.subject[of], self.object[of]

    def _ends(
        self, relation: str, inverse: bool, kind1: str | None, kind2: str | None
    ) -> tuple[Ints, Ints]:
        """Return both ends of the facts that match a premise, in the premise's direction."""
        s, o = self._facts(relation)
        one, other = (o, s) if inverse else (s, o)
        fits = (one != other) & self._fits(one, kind1) & self._fits(other, kind2)
        return one[fits], other[fits]

    def _fits(self, entities: Ints, kind: str | None) -> Any:
        if kind is None:
            return np.ones(len(entities), bool)
        code = self.kinds.index(kind) if kind in self.kinds else -1
        return self.kind[entities] == code


class _Conclusions:
    """Distinct conclusions of a rule, counted in parts that have none in common.

    Args:
        heads: pairs of entities with the conclusion's relation, sorted.
        with_fact: entities that are subjects of it, sorted.
    """

    def __init__(self, heads: Ints, with_fact: Ints, n: int) -> None:
        self._heads, self._with_fact, self._n = heads, with_fact, n
        self._found = self._known = self._comparable = 0

    def add(self, pairs: Ints) -> None:
        """Count the conclusions of some groundings."""
        once = np.unique(pairs)
        self._found += len(once)
        self._known += int(_within(self._heads, once)[1].sum())
        self._comparable += int(_within(self._with_fact, once // self._n)[1].sum())

    def statistics(self) -> RuleStatistics:
        """Return the counts of all parts."""
        return RuleStatistics(self._found, self._known, self._comparable, len(self._heads))


class _Between:
    """The pairs of different entities that have facts, and the facts of each."""

    def __init__(self, of: Packed) -> None:
        self._n = n = max(len(of.kind), 1)
        low, high = np.minimum(of.subject, of.object), np.maximum(of.subject, of.object)
        facts = np.flatnonzero(low != high)
        low, high = low[facts], high[facts]
        pairs = np.unique(low * n + high)
        degree = np.bincount(np.concatenate([pairs // n, pairs % n]), minlength=n)
        rank = np.empty(n, np.int64)
        rank[np.argsort(degree, kind="stable")] = np.arange(n)
        low, high = rank[low], rank[high]
        keys = np.minimum(low, high) * n + np.maximum(low, high)
        order = np.argsort(keys, kind="stable")
        self._facts = facts[order]
        self._keys, self._starts, self._many = np.unique(
            keys[order], return_index=True, return_counts=True
        )

    def triangles(self) -> Iterator[tuple[int, int, tuple[Ints, Ints, Ints]]]:
        """Each three facts of every triangle, in parts: done, total, the numbers of the facts."""
        lower, upper = self._keys // self._n, self._keys % self._n
        total = len(self._keys)
        # With each pair the later pairs of its lower entity: the third one closes the triangle.
        later = np.searchsorted(lower, lower, side="right") - np.arange(total) - 1
        for part in _parts(later):
            start = np.arange(part.start, part.stop)
            owner, other = _expanded(start + 1, later[part])
            one = start[owner]
            third, found = _within(self._keys, upper[one] * self._n + upper[other])
            closed = found > 0
            for facts in self._each(one[closed], other[closed], third[closed]):
                yield part.stop, total, facts

    def pairs(self) -> Iterator[tuple[int, int, tuple[Ints, Ints]]]:
        """Each two facts of every pair of entities, in either order and each with itself too."""
        for part in _parts(self._many):
            pair = np.arange(part.start, part.stop)
            owner, one = self._stating(pair)
            for facts in self._product([one], pair[owner], []):
                yield part.stop, len(self._many), (facts[0], facts[1])

    def _stating(self, pairs: Ints) -> tuple[Ints, Ints]:
        """Return all facts of some pairs: which pair, and the number of the fact."""
        owner, at = _expanded(self._starts[pairs], self._many[pairs])
        return owner, self._facts[at]

    def _each(self, one: Ints, other: Ints, third: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Every three facts of some triangles, given as three pairs."""
        for part in _parts(self._many[one]):
            owner, fact = self._stating(one[part])
            rest = [third[part][owner]]
            for facts in self._product([fact], other[part][owner], rest):
                yield facts[0], facts[1], facts[2]

    def _product(self, facts: list[Ints], pair: Ints, rest: list[Ints]) -> Iterator[list[Ints]]:
        """Join facts with every fact of a pair, and of those in `rest`."""
        for part in _parts(self._many[pair]):
            owner, fact = self._stating(pair[part])
            joined = [*(each[part][owner] for each in facts), fact]
            further = [each[part][owner] for each in rest]
            if further:
                yield from self._product(joined, further[0], further[1:])
            else:
                yield joined


class _Tally:
    """Support and kinds by a rule's number. Kind 0 is none, or different ones."""

    def __init__(self) -> None:
        self._numbers = np.empty(0, np.int64)
        self._support = np.empty(0, np.int64)
        self._kinds = np.empty((3, 0), np.int64)

    def add(self, numbers: Ints, kinds: Ints) -> None:
        """Count instances of rules.

        Args:
            kinds: of x, y and z of each, 3 × n.

        Raises:
            UsageError: too many different rules.
        """
        once = _merged(numbers, np.ones(len(numbers), np.int64), kinds)
        before = (self._numbers, self._support, self._kinds)
        joined = (np.concatenate(both, axis=-1) for both in zip(before, once, strict=True))
        self._numbers, self._support, self._kinds = _merged(*joined)
        if len(self._numbers) > MOST_RULES:
            raise UsageError(
                f"The graph suggests more than {MOST_RULES:,} different rules, nearly each by one"
                " triangle or pair of facts.",
                remedy="Mine a graph with fewer relations: equal ones must have equal names.",
                status=409,
            )

    def best(
        self, least: int, limit: int, order: Callable[[Ints], tuple[Ints, ...]]
    ) -> tuple[Ints, int]:
        """Return the best supported rules, a column each, and the number with the support.

        A column has the values of `order`, the support and the three kinds.
        """
        enough = self._support >= least
        names = order(self._numbers[enough])
        support, kinds = self._support[enough], self._kinds[:, enough]
        first = np.lexsort((*reversed(names), -support))[:limit]
        return np.stack([each[first] for each in (*names, support, *kinds)]), len(support)


def _merged(numbers: Ints, support: Ints, kinds: Ints) -> tuple[Ints, Ints, Ints]:
    """Return each number once, its supports summed; a kind stays where all agree."""
    if not len(numbers):
        return numbers, support, kinds
    order = np.argsort(numbers, kind="stable")
    numbers, kinds = numbers[order], kinds[:, order]
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    low, high = (ufunc.reduceat(kinds, starts, axis=1) for ufunc in (np.minimum, np.maximum))
    return (
        numbers[starts],
        np.add.reduceat(support[order], starts),
        np.where(low == high, low, 0),
    )


def _parts(many: Ints) -> Iterator[slice]:
    """Slices of elements that make about `PART` together; one that makes more is alone."""
    ends = np.cumsum(many)
    start = done = 0
    while start < len(many):
        stop = max(int(np.searchsorted(ends, done + PART, side="right")), start + 1)
        yield slice(start, stop)
        start, done = stop, int(ends[stop - 1])


def _expanded(starts: Ints, many: Ints) -> tuple[Ints, Ints]:
    """Return, for ranges given by start and length, the range and the value of each element."""
    owner = np.repeat(np.arange(len(many)), many)
    return owner, np.arange(len(owner)) + np.repeat(starts - (np.cumsum(many) - many), many)


def _within(keys: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Return where each wanted value begins among sorted keys, and how often it is there."""
    start = np.searchsorted(keys, wanted, side="left")
    return start, np.searchsorted(keys, wanted, side="right") - start
