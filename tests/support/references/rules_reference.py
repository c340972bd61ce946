"""Rules by brute force, written from DepEdit's section 3.1, without any database.

A graph is a list of (subject, relation, object) and a map of kinds. Groundings are found by trying
all ordered triples of entities; rules by reading every triple of facts that forms a triangle.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations, product

Triple = tuple[str, str, str]
Shape = tuple[str, bool, str, bool, str]
"""Relation and direction of the first premise, of the second, and the conclusion's relation."""
PairShape = tuple[str, bool, str]
"""Relation and direction of the only premise, and the conclusion's relation."""
Kinds = tuple[str | None, str | None, str | None]


def groundings(
    shape: Shape, kinds: Kinds, facts: Iterable[Triple], kind_of: Mapping[str, str | None]
) -> list[tuple[str, str, str, bool]]:
    """Return all (x, y, z) that satisfy the premises, with True if the conclusion is a fact."""
    stored = set(facts)
    names = sorted({name for fact in stored for name in (fact[0], fact[2])})
    relation1, inverse1, relation2, inverse2, relation3 = shape
    found = []
    for x, y, z in permutations(names, 3):
        first = (y, relation1, x) if inverse1 else (x, relation1, y)
        second = (z, relation2, y) if inverse2 else (y, relation2, z)
        fits = all(
            kind is None or kind_of.get(name) == kind
            for kind, name in zip(kinds, (x, y, z), strict=True)
        )
        if first in stored and second in stored and fits:
            found.append((x, y, z, (x, relation3, z) in stored))
    return found


def supports(
    facts: Sequence[Triple], kind_of: Mapping[str, str | None]
) -> dict[Shape, tuple[int, Kinds]]:
    """Every rule that some triangle suggests: how many do, and the kinds they have in common."""
    between: dict[frozenset[str], list[Triple]] = defaultdict(list)
    for fact in set(facts):
        between[frozenset((fact[0], fact[2]))].append(fact)
    near: dict[str, set[str]] = defaultdict(set)
    for pair in between:
        for one in pair:
            near[one] |= pair - {one}
    seen: dict[Shape, list[tuple[str, str, str]]] = defaultdict(list)
    for x, z in {(fact[0], fact[2]) for fact in facts}:
        for conclusion in (f for f in between[frozenset((x, z))] if f[0] == x):
            for y in near[x] & near[z]:
                sides = between[frozenset((x, y))], between[frozenset((y, z))]
                for first, second in product(*sides):
                    shape = (first[1], first[0] == y, second[1], second[0] == z, conclusion[1])
                    seen[shape].append((x, y, z))
    return {shape: (len(found), _common(found, kind_of)) for shape, found in seen.items()}


def _common(found: Sequence[tuple[str, ...]], kind_of: Mapping[str, str | None]) -> Kinds:
    sets = [{kind_of.get(names[i]) for names in found} for i in range(3)]
    first, second, third = (next(iter(kinds)) if len(kinds) == 1 else None for kinds in sets)
    return first, second, third


def pair_groundings(
    shape: PairShape, kinds: Kinds, facts: Iterable[Triple], kind_of: Mapping[str, str | None]
) -> list[tuple[str, str, bool]]:
    """Return all (x, z) that satisfy the premise, with True if the conclusion is a fact."""
    stored = set(facts)
    relation1, inverse1, relation3 = shape
    found = []
    for subject, relation, object_ in sorted(stored):
        x, z = (object_, subject) if inverse1 else (subject, object_)
        fits = kinds[0] in (None, kind_of.get(x)) and kinds[2] in (None, kind_of.get(z))
        if relation == relation1 and x != z and fits:
            found.append((x, z, (x, relation3, z) in stored))
    return found


def pair_supports(
    facts: Sequence[Triple], kind_of: Mapping[str, str | None]
) -> dict[PairShape, tuple[int, Kinds]]:
    """Every rule with one premise that two facts over the same entities suggest."""
    seen: dict[PairShape, list[tuple[str, str, str]]] = defaultdict(list)
    between: dict[frozenset[str], list[Triple]] = defaultdict(list)
    for fact in set(facts):
        between[frozenset((fact[0], fact[2]))].append(fact)
    for some in between.values():
        for premise, conclusion in product(some, repeat=2):
            x, relation3, z = conclusion
            if premise != conclusion and x != z:
                seen[premise[1], premise[0] == z, relation3].append((x, "", z))
    return {shape: (len(found), _common(found, kind_of)) for shape, found in seen.items()}


def statistics(
    predicted: Iterable[tuple[str, str]], relation3: str, facts: Iterable[Triple]
) -> tuple[int, int, int, int]:
    """Distinct conclusions (x, z): all, known, those of an x with any such fact; and such facts."""
    stored = set(facts)
    pairs = set(predicted)
    heads = {(s, o) for s, relation, o in stored if relation == relation3}
    subjects = {s for s, _ in heads}
    return len(pairs), len(pairs & heads), sum(x in subjects for x, _ in pairs), len(heads)
