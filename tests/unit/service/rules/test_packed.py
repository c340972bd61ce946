"""Rules mined and counted in arrays against brute force, in parts of every size."""

from __future__ import annotations

import random

import pytest

from support.references import rules_reference as reference
from support.references.rules_reference import Kinds, Triple
from thinkeval.loaders.rule_records import Atom, Rule
from thinkeval.service.base.errors import UsageError
from thinkeval.service.rules import packed
from thinkeval.service.rules.packed import Packed


def drawn(seed: int) -> tuple[list[Triple], dict[str, str | None]]:
    """A small graph with several facts between two entities, and some about one entity."""
    draw = random.Random(seed)
    names = "abcdefg"[: draw.randint(3, 7)]
    relations = "rstuv"[: draw.randint(1, 5)]
    facts = {
        (draw.choice(names), draw.choice(relations), draw.choice(names))
        for _ in range(draw.randint(1, 40))
    }
    return sorted(facts), {name: draw.choice(("p", "q", None)) for name in names}


def packed_of(facts: list[Triple], kind_of: dict[str, str | None], page: int = 3) -> Packed:
    packing = packed._Packing()
    for start in range(0, len(facts), page):
        subjects, relations, objects = zip(*facts[start : start + page], strict=True)
        kinds = [[kind_of[name] or "" for name in ends] for ends in (subjects, objects)]
        packing.add(subjects, kinds[0], relations, objects, kinds[1])
    return packing.packed()


@pytest.mark.parametrize("part", [1, 2, 7, packed.PART])
@pytest.mark.parametrize("seed", range(25))
def test_suggested_rules_are_those_of_every_triangle_and_pair(
    seed: int, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "PART", part)
    facts, kind_of = drawn(seed)
    told = [fact for fact in facts if fact[0] != fact[2]]
    for least in (1, 2):
        found, total = packed_of(facts, kind_of).suggested(least, 10_000)
        two = {
            (r.relation1, r.inverse1, r.relation2, r.inverse2, r.relation3): (r.support, r.kinds)
            for r in found
            if r.relation2 is not None
        }
        one = {
            (r.relation1, r.inverse1, r.relation3): (r.support, r.kinds)
            for r in found
            if r.relation2 is None
        }
        triangles = reference.supports(told, kind_of)
        pairs = reference.pair_supports(told, kind_of)
        assert two == {shape: each for shape, each in triangles.items() if each[0] >= least}
        assert one == {shape: each for shape, each in pairs.items() if each[0] >= least}
        assert total == len(found) == len(two) + len(one)


def test_of_equal_support_the_names_decide_which_rules_are_kept() -> None:
    facts, kind_of = drawn(3)
    found, total = packed_of(facts, kind_of).suggested(1, 10_000)
    two = [rule for rule in found if rule.relation2 is not None]
    assert two == sorted(
        two,
        key=lambda r: (
            -r.support, r.relation3, r.relation1, r.relation2 or "", r.inverse1, r.inverse2,
        ),
    )  # fmt: skip
    few, same = packed_of(facts, kind_of).suggested(1, 3)
    assert same == total
    assert few == [*two[:3], *[rule for rule in found if rule.relation2 is None][:3]]


@pytest.mark.parametrize("part", [1, 5, packed.PART])
@pytest.mark.parametrize("seed", range(25))
def test_counts_of_any_rule_are_those_of_brute_force(
    seed: int, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "PART", part)
    facts, kind_of = drawn(seed)
    mine = packed_of(facts, kind_of)
    draw = random.Random(seed)
    for _ in range(12):
        first, second, third = (draw.choice("rstuv") for _ in range(3))
        inverse1, inverse2 = draw.random() < 0.5, draw.random() < 0.5
        kinds: Kinds = tuple(draw.choice(("p", "q", None, None)) for _ in range(3))  # type: ignore[assignment]
        near = ("y", "x") if inverse1 else ("x", "y")
        far = ("z", "y") if inverse2 else ("y", "z")
        rule = Rule(
            Atom(near[0], first, near[1]), Atom(far[0], second, far[1]), Atom("x", third, "z"),
            kinds=tuple((v, k) for v, k in zip("xyz", kinds, strict=True) if k),
        )  # fmt: skip
        body = reference.groundings(
            (first, inverse1, second, inverse2, third), kinds, facts, kind_of
        )
        _agree(mine, rule, [(x, z, known) for x, _, z, known in body], third, facts)
        near = ("z", "x") if inverse1 else ("x", "z")
        if inverse1 or first != third:
            single = Rule(
                Atom(near[0], first, near[1]), None, Atom("x", third, "z"),
                kinds=tuple((v, k) for v, k in zip("xz", kinds[::2], strict=True) if k),
            )  # fmt: skip
            ends = reference.pair_groundings((first, inverse1, third), kinds, facts, kind_of)
            _agree(mine, single, ends, third, facts)


def _agree(
    mine: Packed, rule: Rule, body: list[tuple[str, str, bool]], third: str, facts: list[Triple]
) -> None:
    support, found, of = mine.counts(rule)
    assert (support, found) == (sum(known for *_, known in body), len(body))
    assert of is not None
    wanted = reference.statistics([(x, z) for x, z, _ in body], third, facts)
    assert (of.conclusions, of.known, of.comparable, of.heads) == wanted


def test_too_many_groundings_are_counted_without_their_conclusions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = [(f"x{i}", "r", "y") for i in range(4)] + [("y", "s", f"z{i}") for i in range(5)]
    facts += [("x0", "t", "z0")]
    mine = packed_of(facts, {name: None for fact in facts for name in (fact[0], fact[2])})
    rule = Rule(Atom("x", "r", "y"), Atom("y", "s", "z"), Atom("x", "t", "z"))
    assert mine.counts(rule)[:2] == (1, 20)
    monkeypatch.setattr(packed, "MOST_LISTED", 19)
    assert mine.counts(rule) == (1, 20, None)


def test_a_graph_that_suggests_too_many_rules_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    facts, kind_of = drawn(3)
    _, total = packed_of(facts, kind_of).suggested(1, 1)
    assert total > 5
    monkeypatch.setattr(packed, "MOST_RULES", 5)
    with pytest.raises(UsageError, match="more than 5 different rules"):
        packed_of(facts, kind_of).suggested(2, 1)


def test_a_graph_without_facts_suggests_nothing() -> None:
    empty = packed._Packing().packed()
    assert empty.suggested(1, 10) == ([], 0)
    rule = Rule(Atom("x", "r", "y"), Atom("y", "s", "z"), Atom("x", "t", "z"))
    assert empty.counts(rule)[:2] == (0, 0)
