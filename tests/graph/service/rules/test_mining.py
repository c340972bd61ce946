"""Mining, counting and grounding in the database against brute force, on random graphs and real."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.own_graphs import own_graphs
from support.references import rules_reference as reference
from support.references.rules_reference import Kinds, PairShape, Shape, Triple
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import Fact
from thinkeval.loaders.rule_records import Atom, Rule
from thinkeval.service.base.errors import NotFoundError, NothingStoredError, UsageError
from thinkeval.service.graphs import datasets
from thinkeval.service.rules import groundings, mining, store

NAMES = "abcdef"
KINDS = ("p", "q", None)
TRIPLES = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from("rs"), st.sampled_from(NAMES)).filter(
        lambda triple: triple[0] != triple[2]
    ),
    min_size=3,
    max_size=16,
    unique=True,
)
KIND_OF = st.fixed_dictionaries({name: st.sampled_from(KINDS) for name in NAMES})
OF_RULE = st.tuples(*[st.sampled_from(("p", "q", None, None))] * 3)
"""Kinds that a rule demands of x, y and z."""
QUIETLY = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@pytest.fixture(scope="module")
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as mine:
        yield mine


def write(db: Database, graph: str, facts: Sequence[Triple], kind_of: dict[str, str | None]) -> str:
    names = sorted({name for fact in facts for name in (fact[0], fact[2])})
    with db.transaction() as tx:
        tx.run(rows.MergeGraphRow, "graph/merge_graph", graph=graph, kind="dataset", dataset=graph)
        tx.run(int, "graph/clear_graph", graph=graph)
        named = [{"name": n, "kind": kind_of.get(n)} for n in names]
        tx.run(rows.WrittenRow, "graph/merge_entities", graph=graph, rows=named)
        tx.run(rows.WrittenRow, "graph/merge_facts", graph=graph, rows=[
            {"id": Fact(s, r, o, "{}").id, "subject": s, "relation": r, "object": o,
             "prompt": "{} " + r}
            for s, r, o in facts
        ])  # fmt: skip
        tx.run(rows.CompleteGraphRow, "graph/complete_graph", graph=graph)
    return graph


def made(shape: Shape, kinds: Kinds = (None, None, None)) -> Rule:
    relation1, inverse1, relation2, inverse2, relation3 = shape
    first = ("y", "x") if inverse1 else ("x", "y")
    second = ("z", "y") if inverse2 else ("y", "z")
    return Rule(
        Atom(first[0], relation1, first[1]),
        Atom(second[0], relation2, second[1]),
        Atom("x", relation3, "z"),
        kinds=tuple((v, k) for v, k in zip("xyz", kinds, strict=True) if k),
    )


def shape_of(rule: Rule) -> Shape:
    first, second, third = rule.relations
    assert second is not None
    return first, rule.inverse[0], second, rule.inverse[1], third


def pair_of(rule: Rule) -> PairShape:
    first, _, third = rule.relations
    return first, rule.inverse[0], third


def made_pair(shape: PairShape, kinds: Kinds = (None, None, None)) -> Rule:
    relation1, inverse1, relation3 = shape
    first = Atom("z", relation1, "x") if inverse1 else Atom("x", relation1, "z")
    ends = tuple((v, k) for v, k in zip("xyz", kinds, strict=True) if k and v != "y")
    return Rule(first, None, Atom("x", relation3, "z"), kinds=ends)


def split(rules: Sequence[Rule]) -> tuple[list[Rule], list[Rule]]:
    """Those with two premises, and those with one."""
    return [r for r in rules if r.second], [r for r in rules if not r.second]


def grounded_rules(
    db: Database, graph: str, rules: Sequence[Rule]
) -> tuple[list[store.StoredRule], groundings.Instances]:
    """The rules as kept ones of a graph, and their groundings in it."""
    stored = [store.StoredRule(r.id, graph, r, "kept") for r in rules]
    return stored, groundings.instantiate(db, graph, stored)


def kinds_of(rule: Rule) -> Kinds:
    return rule.kind("x"), rule.kind("y"), rule.kind("z")


@QUIETLY
@given(facts=TRIPLES, kind_of=KIND_OF, least=st.integers(1, 3))
def test_mining_finds_what_every_triangle_suggests(
    db: Database, prefix: str, facts: list[Triple], kind_of: dict[str, str | None], least: int
) -> None:
    graph = write(db, f"{prefix}-{uuid.uuid4().hex[:6]}", facts, kind_of)
    mined = mining.mine(db, graph, min_support=least, store=False)
    expected = {
        shape: (n, kinds)
        for shape, (n, kinds) in reference.supports(facts, kind_of).items()
        if n >= least
    }
    two, one = split(mined.rules)
    assert {shape_of(r): (r.support, kinds_of(r)) for r in two} == expected
    pairs = {
        shape: (n, kinds)
        for shape, (n, kinds) in reference.pair_supports(facts, kind_of).items()
        if n >= least
    }
    assert {pair_of(r): (r.support, kinds_of(r)) for r in one} == pairs
    assert len(mined.rules) == mined.total == len(expected) + len(pairs)
    for rule in one:
        body = reference.pair_groundings(pair_of(rule), kinds_of(rule), facts, kind_of)
        assert (rule.body, rule.support) == (len(body), sum(known for *_, known in body))
    for rule in two:
        body = reference.groundings(shape_of(rule), kinds_of(rule), facts, kind_of)
        assert rule.body == len(body)
        assert rule.support == sum(known for *_, known in body)


@QUIETLY
@given(
    facts=TRIPLES,
    kind_of=KIND_OF,
    shapes=st.lists(
        st.tuples(st.sampled_from("rs"), st.booleans(), st.sampled_from("rs"), st.booleans(),
                  st.sampled_from("rst")),
        min_size=1, max_size=4, unique=True,
    ),
    kinds=OF_RULE,
)  # fmt: skip
def test_groundings_are_those_of_brute_force(
    db: Database,
    prefix: str,
    facts: list[Triple],
    kind_of: dict[str, str | None],
    shapes: list[Shape],
    kinds: Kinds,
) -> None:
    graph = write(db, f"{prefix}-{uuid.uuid4().hex[:6]}", facts, kind_of)
    rules = [made(shape, kinds) for shape in shapes]
    stored, found = grounded_rules(db, graph, rules)
    expected = {r.id: set(reference.groundings(shape_of(r), kinds, facts, kind_of)) for r in rules}
    assert len(found.groundings) == sum(map(len, expected.values()))
    for rule in rules:
        got = {
            (g.x, g.y, g.z, g.conclusion is not None) for g in found.groundings if g.rule == rule.id
        }
        assert got == expected[rule.id]
        named = {f"{graph}|{Fact(*fact, '{}').id}": fact for fact in facts}
        for g in found.groundings:
            if g.rule == rule.id:
                at = {"x": g.x, "y": g.y, "z": g.z}
                for atom, fact in zip(rule.premises, (g.premise1, g.premise2), strict=True):
                    assert fact is not None
                    assert named[fact] == (at[atom.subject], atom.relation, at[atom.object])
    counted = {r.id: (r.body, r.support) for r in mining.count(db, graph, rules)}
    assert counted == {
        key: (len(each), sum(known for *_, known in each)) for key, each in expected.items()
    }
    _check_affected(db, graph, stored, found, facts)


@QUIETLY
@given(
    facts=TRIPLES,
    kind_of=KIND_OF,
    shapes=st.lists(
        st.tuples(st.sampled_from("rs"), st.booleans(), st.sampled_from("rst")).filter(
            lambda shape: shape[1] or shape[0] != shape[2]
        ),
        min_size=1,
        max_size=4,
        unique=True,
    ),
    kinds=OF_RULE,
)
def test_groundings_of_one_premise_are_those_of_brute_force(
    db: Database,
    prefix: str,
    facts: list[Triple],
    kind_of: dict[str, str | None],
    shapes: list[PairShape],
    kinds: Kinds,
) -> None:
    graph = write(db, f"{prefix}-{uuid.uuid4().hex[:6]}", facts, kind_of)
    rules = [made_pair(shape, kinds) for shape in shapes]
    stored, found = grounded_rules(db, graph, rules)
    for rule in rules:
        wanted = reference.pair_groundings(pair_of(rule), kinds, facts, kind_of)
        got = [(g.x, g.z, g.conclusion is not None) for g in found.groundings if g.rule == rule.id]
        assert sorted(got) == sorted(wanted)
        (counted,) = mining.count(db, graph, [rule])
        assert (counted.body, counted.support) == (len(wanted), sum(known for *_, known in wanted))
    assert all(g.y is None and g.premise2 is None for g in found.groundings)
    _check_affected(db, graph, stored, found, facts)


@QUIETLY
@given(facts=TRIPLES, kind_of=KIND_OF)
def test_statistics_count_each_conclusion_once(
    db: Database, prefix: str, facts: list[Triple], kind_of: dict[str, str | None]
) -> None:
    graph = write(db, f"{prefix}-{uuid.uuid4().hex[:6]}", facts, kind_of)
    rules = list(mining.mine(db, graph, min_support=1, store=False).rules)
    rules += [made(("r", False, "s", True, "t")), made_pair(("s", True, "t"), ("p", None, None))]
    given_ = [store.StoredRule(r.id, graph, r, "candidate") for r in rules]
    for stored in mining.counted(db, graph, given_):
        rule, of = stored.rule, stored.statistics
        assert of is not None
        if rule.second is None:
            body = reference.pair_groundings(pair_of(rule), kinds_of(rule), facts, kind_of)
            pairs = [(x, z) for x, z, _ in body]
        else:
            triples = reference.groundings(shape_of(rule), kinds_of(rule), facts, kind_of)
            pairs = [(x, z) for x, _, z, _ in triples]
        wanted = reference.statistics(pairs, rule.relations[2], facts)
        assert (of.conclusions, of.known, of.comparable, of.heads) == wanted
        predicted, known, comparable, heads = wanted
        assert of.confidence == (known / predicted if predicted else None)
        assert of.pca_confidence == (known / comparable if comparable else None)
        assert of.head_coverage == (known / heads if heads else None)
        assert (of.lower is None) == (predicted == 0)
        assert of.lower is None or 0 <= of.lower <= known / predicted


def test_many_groundings_of_one_conclusion_rank_behind_many_conclusions(
    db: Database, graph_id: str
) -> None:
    facts = [("a", "r", f"y{i}") for i in range(9)] + [(f"y{i}", "s", "z") for i in range(9)]
    facts += [("a", "t", "z")]
    facts += [(f"x{i}", "u", f"w{i}") for i in range(6)] + [
        (f"x{i}", "v", f"w{i}") for i in range(6)
    ]
    write(db, graph_id, facts, {})
    rules = [made(("r", False, "s", False, "t")), made_pair(("u", False, "v"))]
    given_ = [
        store.StoredRule(r.id, graph_id, r, "kept") for r in mining.count(db, graph_id, rules)
    ]
    many, few = mining.counted(db, graph_id, given_)
    assert (many.rule.support, few.rule.support) == (9, 6)
    assert many.statistics is not None
    assert few.statistics is not None
    assert (many.statistics.known, few.statistics.known) == (1, 6)
    assert [r.id for r in store.ranked([many, few])] == [few.id, many.id]
    assert [r.id for r in store.ranked([few, many], "support")] == [many.id, few.id]


def _check_affected(
    db: Database,
    graph: str,
    stored: list[store.StoredRule],
    found: groundings.Instances,
    facts: list[Triple],
) -> None:
    """Those that the first facts take part in are the groundings that name them."""
    ids = [f"{graph}|{Fact(*fact, '{}').id}" for fact in facts[:3]]
    got = [
        (g.rule, g.x, g.y, g.z, g.part, getattr(g, g.part))
        for g in groundings.affected(db, graph, stored, ids)
    ]
    wanted = [
        (g.rule, g.x, g.y, g.z, part, getattr(g, part))
        for g in found.groundings
        for part in ("premise1", "premise2", "conclusion")
        if getattr(g, part) in ids
    ]
    assert sorted(got) == sorted(wanted)


@pytest.mark.parametrize(
    ("path", "least", "expected"), [("knowgic", 2, 545), ("lre_relations", 1, 3)]
)
def test_real_graphs_give_the_rules_of_their_triangles(
    db: Database, prefix: str, data_dir: Path, path: str, least: int, expected: int
) -> None:
    loaded = datasets.read(data_dir / path, name=f"{prefix}-{path}")
    graph = datasets.store(db, loaded).graph
    mined = mining.mine(db, graph, min_support=least)
    facts = [(f.subject, f.relation, f.object) for f in loaded.graph.facts]
    kind_of = {e.name: e.kind for e in loaded.graph.entities}
    found = reference.supports(facts, kind_of)
    wanted = {shape: each for shape, each in found.items() if each[0] >= least}
    two, one = split(mined.rules)
    assert {shape_of(r): (r.support, kinds_of(r)) for r in two} == wanted
    assert len(two) == expected
    assert {pair_of(r): (r.support, kinds_of(r)) for r in one} == {
        shape: each
        for shape, each in reference.pair_supports(facts, kind_of).items()
        if each[0] >= least
    }
    assert mined.created == len(mined.rules)
    given_ = [store.StoredRule(r.id, graph, r, "candidate") for r in two]
    known = [r.statistics.known for r in mining.counted(db, graph, given_) if r.statistics]
    if path == "knowgic":  # of rules with two premises: one conclusion, fewer than groundings
        supports = [r.support or 0 for r in two]
        fewer = sum(k < n for k, n in zip(known, supports, strict=True))
        assert (known.count(1), fewer) == (76, 231)
    assert len(one) == {"knowgic": 34, "lre_relations": len(one)}[path]
    some = mined.rules[:: max(len(mined.rules) // 10, 1)]
    stored = store.rules_of(db, graph, ids=[rule.id for rule in some])
    grounded = groundings.instantiate(db, graph, stored)
    for rule in some:
        got = [g for g in grounded.groundings if g.rule == rule.id]
        assert len(got) == rule.body
        assert sum(g.conclusion is not None for g in got) == rule.support


def test_mining_again_renews_counts_and_keeps_decisions(db: Database, graph_id: str) -> None:
    facts = [(f"x{i}", "r", f"y{i}") for i in range(3)] + [(f"y{i}", "s", "z") for i in range(3)]
    facts += [(f"x{i}", "t", "z") for i in range(2)]
    write(db, graph_id, facts, {})
    first = mining.mine(db, graph_id)
    assert (len(first.rules), first.created) == (3, 3)
    chain = made(("r", False, "s", False, "t"))
    assert next(r for r in first.rules if r.id == chain.id).confidence == pytest.approx(2 / 3)
    store.save(db, graph_id, [chain], status="kept")
    write(db, graph_id, [*facts, ("x2", "t", "z")], {})
    again = mining.mine(db, graph_id)
    assert again.created == 0
    kept = store.rules_of(db, graph_id)
    assert [(r.id, r.status, r.rule.support, r.rule.body) for r in kept] == [
        (chain.id, "kept", 3, 3)
    ]


def test_limits_say_what_they_left_out(db: Database, graph_id: str) -> None:
    facts = [("a", "r", "b"), ("b", "s", "c"), ("a", "t", "c"), ("a", "r", "d")]
    write(db, graph_id, facts, {})
    mined = mining.mine(db, graph_id, min_support=1, limit=2, store=False)
    assert (len(mined.rules), mined.total) == (2, 3)
    sure = mining.mine(db, graph_id, min_support=1, min_confidence=1.0, store=False)
    assert all(r.confidence == 1.0 for r in sure.rules)
    assert mining.mine(db, graph_id, min_support=2).rules == ()
    with pytest.raises(UsageError, match="min_support"):
        mining.mine(db, graph_id, min_support=0)


def test_a_rule_that_holds_nowhere_has_no_confidence(db: Database, graph_id: str) -> None:
    write(db, graph_id, [("a", "r", "b")], {})
    (counted,) = mining.count(db, graph_id, [made(("r", False, "s", False, "t"))])
    assert (counted.support, counted.body, counted.confidence) == (0, 0, None)


def test_an_edit_is_asked_for_by_its_fact(db: Database, graph_id: str) -> None:
    write(db, graph_id, [("a", "r", "b"), ("b", "s", "c"), ("d", "r", "b"), ("d", "t", "c")], {})
    rule = made(("r", False, "s", False, "t"))
    with pytest.raises(NothingStoredError, match="no kept rules"):
        groundings.rules_for(db, graph_id)
    store.save(db, graph_id, [rule], status="kept")
    chosen = groundings.rules_for(db, graph_id)
    touched = groundings.touching(db, graph_id, chosen, "b", "s")
    assert [(g.x, g.y, g.z) for g in touched.groundings] == [("a", "b", "c"), ("d", "b", "c")]
    only = groundings.touching(db, graph_id, chosen, "b", "s", show="predicted")
    assert [g.x for g in only.groundings] == ["a"]
    with pytest.raises(NotFoundError, match="Did you mean 'b s'"):
        groundings.touching(db, graph_id, chosen, "b", "ss")
    with pytest.raises(NotFoundError):
        mining.mine(db, f"{graph_id}-none")
