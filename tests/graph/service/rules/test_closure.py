"""The closure and its proofs against every proof written out, on random graphs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from support.closure_rules import stored
from support.own_graphs import own_graphs
from support.references.closure_reference import PlainRule, Tree, follows, proofs
from thinkeval.cypher import rows
from thinkeval.cypher.errors import QueryTooLargeError
from thinkeval.cypher.run import Database
from thinkeval.service.base.errors import ConflictError, JobInterrupt, NotFoundError, UsageError
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.write import Fence, Runs
from thinkeval.service.rules import closure
from thinkeval.service.rules.proofs import leaves_of
from thinkeval.service.rules.schemas import ClosureOptions, ProofOut
from thinkeval.service.rules.store import StoredRule

Facts = dict[tuple[str, str, str], tuple[float, float]]
KINDS = {"A": "p", "B": "p", "C": "q", "D": "q", "E": None}
SEEDS = range(14)
TWO_PREMISES = range(10)
"""Seeds of rules with two premises only."""


@pytest.fixture(scope="module")
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as mine:
        yield mine


def write(db: Database, graph: str, facts: Facts, kinds: dict[str, str | None]) -> None:
    with db.transaction() as tx:
        tx.run(rows.MergeGraphRow, "graph/merge_graph", graph=graph, kind="dataset", dataset=graph)
        tx.run(int, "graph/clear_graph", graph=graph)
        named = [{"name": n, "kind": k} for n, k in kinds.items()]
        tx.run(rows.WrittenRow, "graph/merge_entities", graph=graph, rows=named)
        tx.run(rows.WrittenRow, "graph/merge_facts", graph=graph, rows=[
            {
                "id": "-".join(t), "subject": t[0], "relation": t[1], "object": t[2],
                "prompt": "{} r", "likelihood_pre": pre, "likelihood_post": post,
            }
            for t, (pre, post) in facts.items()
        ])  # fmt: skip
        tx.run(rows.CompleteGraphRow, "graph/complete_graph", graph=graph)


def drawn(seed: int) -> tuple[Facts, list[PlainRule]]:
    """Few entities and relations, so that conclusions meet facts, cycles and themselves."""
    draw = random.Random(seed)
    relations = ["r", "s"]
    facts: Facts = {}
    while len(facts) < 14:
        subject, object_ = draw.sample(sorted(KINDS), 2)
        value = tuple(draw.choice((0.0, 1.0, draw.random(), draw.random())) for _ in range(2))
        facts[subject, draw.choice(relations), object_] = value
    rules = {}
    while len(rules) < 4:
        x, y, z = (draw.choice((*[None] * 6, "p", "q")) for _ in range(3))
        made = PlainRule(
            draw.choice(relations), draw.random() < 0.5,
            draw.choice(relations), draw.random() < 0.5,
            draw.choice([*relations, "t"]), draw.choice((0.5, 0.75, 1.0)), (x, y, z),
        )  # fmt: skip
        rules[stored(made).id] = made
    while seed not in TWO_PREMISES and len(rules) < 7:
        relation1, relation3 = draw.choice("rst"), draw.choice("rst")
        back = relation1 == relation3 or draw.random() < 0.5
        ends = (draw.choice((None, None, "p")), None, draw.choice((None, None, "q")))
        confidence = draw.choice((0.5, 0.75, 1.0))
        made = PlainRule(relation1, back, None, False, relation3, confidence, ends)
        rules[stored(made).id] = made
    return facts, list(rules.values())


def every(facts: Facts, rules: Sequence[PlainRule], depth: int, side: int) -> dict:
    """{triple: its proofs}, by brute force."""
    values = {t: v[side] for t, v in facts.items()}
    names = {r.relation3 for r in rules}
    goals = [(x, n, z) for x in KINDS for n in names for z in KINDS if x != z]
    found = {g: list(proofs(g, values, rules, KINDS, depth)) for g in goals}
    return {goal: trees for goal, trees in found.items() if trees}


def strongest(trees: Sequence[Tree]) -> float:
    return max(tree.strength for tree in trees)


def test_the_random_graphs_have_something_to_prove() -> None:
    told = [(facts, every(facts, rules, 3, 0)) for facts, rules in map(drawn, SEEDS)]
    assert sum(bool(found) for _, found in told) == len(SEEDS)
    assert sum(len(found.keys() & facts.keys()) for facts, found in told) >= 40
    trees = [tree for _, found in told for each in found.values() for tree in each]
    assert sum(tree.height == 3 for tree in trees) >= 1000


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_is_every_proof_written_out(db: Database, prefix: str, seed: int) -> None:
    facts, rules = drawn(seed)
    graph = f"{prefix}-{seed}"
    write(db, graph, facts, KINDS)
    for depth in (2, 3):
        found = closure.closure(db, graph, [stored(r) for r in rules], ClosureOptions(depth=depth))
        before, after = (every(facts, rules, depth, side) for side in (0, 1))
        mine = {closure.triple_of(a): a for a in found.atoms.values() if a.implied}
        assert set(mine) == set(before)
        for triple, atom in mine.items():
            assert atom.strength_pre == pytest.approx(strongest(before[triple]))
            assert atom.strength_post == pytest.approx(strongest(after[triple]))
            assert atom.leaves == min(tree.leaves for tree in before[triple])
            assert atom.round == min(tree.height for tree in before[triple])


@pytest.mark.parametrize("seed", SEEDS)
def test_closure_to_the_fixpoint_is_what_follows_and_has_its_proofs_to_a_depth(
    db: Database, prefix: str, seed: int
) -> None:
    facts, rules = drawn(seed)
    graph = f"{prefix}-whole-{seed}"
    write(db, graph, facts, KINDS)
    used = [stored(r) for r in rules]
    whole = closure.closure(db, graph, used)
    concluded = {closure.triple_of(a) for a in whole.atoms.values() if a.implied}
    assert concluded == follows(set(facts), rules, KINDS)

    depth = 3
    options = ClosureOptions(depth=depth)
    mine = {
        closure.triple_of(a): a
        for a in closure.closure(db, graph, used, options).atoms.values()
        if a.implied
    }
    names = sorted({r.relation3 for r in rules})
    for goal in ((x, n, z) for x in KINDS for n in names for z in KINDS if x != z):
        trees = closure.prove(db, graph, goal, used, options)
        assert bool(trees) == (goal in mine), goal
        if trees:
            assert trees[0].strength_pre == pytest.approx(mine[goal].strength_pre)
            for tree in trees:
                assert_sound(tree, facts, {r.id: r for r in used})


def assert_sound(
    tree: ProofOut, facts: Facts, rules: dict[str, StoredRule], above: frozenset = frozenset()
) -> None:
    """A proof follows its rules, ends in facts, and passes nothing twice on its way down."""
    triple = (tree.subject, tree.relation, tree.object)
    assert triple not in above
    if not tree.implied:
        assert (tree.strength_pre, tree.strength_post) == facts[triple]
        return
    assert tree.rule is not None
    made = rules[tree.rule].rule
    assert tree.relation == made.conclusion.relation
    assert [p.relation for p in tree.premises] == [atom.relation for atom in made.premises]
    ends = {"x": tree.subject, "z": tree.object}
    first = tree.premises[0]
    if made.second is not None:
        ends["y"] = first.subject if made.first.subject == "y" else first.object
    for atom, premise in zip(made.premises, tree.premises, strict=True):
        assert (premise.subject, premise.object) == (ends[atom.subject], ends[atom.object])
        assert_sound(premise, facts, rules, above | {triple})
    assert tree.leaves == len(leaves_of(tree))


def triangles(facts: set[tuple[str, str, str]], most: int) -> list[PlainRule]:
    """The relation triangles x→y→z that most facts close, as rules."""
    leaving: dict[str, list[tuple[str, str]]] = {}
    for subject, relation, object_ in facts:
        leaving.setdefault(subject, []).append((relation, object_))
    counts: Counter[tuple[str, str, str]] = Counter()
    for x, one, y in sorted(facts):
        for other, z in leaving.get(y, ()):
            if len({x, y, z}) == 3:
                counts.update((one, other, third) for third, end in leaving[x] if end == z)
    return [PlainRule(a, False, b, False, c) for (a, b, c), _ in counts.most_common(most)]


@pytest.mark.parametrize("name", ["hogwarts", "knowgic"])
def test_the_closure_of_a_real_graph_is_the_naive_fixpoint(
    db: Database, prefix: str, name: str, request: pytest.FixtureRequest
) -> None:
    source = name
    if name == "knowgic":
        source = str(request.getfixturevalue("data_dir") / "knowgic")
    graph = datasets.store(db, datasets.read(source, name=f"{prefix}-{name}")).graph
    facts = {
        (f.subject, f.relation, f.object) for f in db.read(rows.FactRow, "graph/facts", graph=graph)
    }
    names = {e.name: e.kind for e in db.read(rows.EntityRow, "graph/entities", graph=graph)}
    rules = triangles(facts, 6)
    used = [stored(r) for r in rules]
    whole = closure.closure(db, graph, used)
    concluded = {closure.triple_of(a) for a in whole.atoms.values() if a.implied}
    assert concluded == follows(facts, rules, names)
    assert len(concluded & facts) >= 5
    # The lowest proofs are found within their own height.
    for atom in whole.conclusions[:5]:
        depth = ClosureOptions(depth=atom.round)
        assert closure.prove(db, graph, closure.triple_of(atom), used, depth)


def test_a_rule_that_supports_itself_ends_and_proves_nothing_by_itself(
    db: Database, prefix: str
) -> None:
    graph = f"{prefix}-cycle"
    write(db, graph, {("A", "r", "B"): (0.9, 0.1), ("B", "s", "C"): (0.8, 0.8)}, KINDS)
    # r(A,B) & s(B,C) -> t(A,C), and from that and s back to r(A,B).
    rules = [
        stored(PlainRule("r", False, "s", False, "t")),
        stored(PlainRule("t", False, "s", True, "r")),
    ]
    found = closure.closure(db, graph, rules)
    assert [closure.triple_of(a) for a in found.conclusions] == [("A", "t", "C")]
    assert not closure.prove(db, graph, ("A", "r", "B"), rules)
    assert (
        len(db.read(rows.StoredGroundingRow, "closure/groundings", graph=graph)) == 1
    )  # the hollow ones went too


def test_a_closure_is_kept_until_rules_or_facts_change_and_goes_with_its_graph(
    db: Database, prefix: str
) -> None:
    graph = f"{prefix}-kept"
    facts: Facts = {("A", "r", "B"): (0.9, 0.1), ("B", "s", "C"): (0.5, 0.5)}
    write(db, graph, facts, KINDS)
    one, other = (stored(PlainRule("r", False, "s", False, name)) for name in ("t", "u"))

    def state() -> str | None:
        told = db.read(
            rows.ClosureStateRow,
            "closure/state",
            graph=graph,
            pre="likelihood_pre",
            post="likelihood_post",
            relations=["r", "s", "t", "u"],
        )
        return told[0].closure

    assert state() is None
    closure.closure(db, graph, [one])
    first = state()
    closure.closure(db, graph, [one])
    assert state() == first
    both = closure.closure(db, graph, [one, other])
    assert state() != first
    assert {a.relation for a in both.conclusions} == {"t", "u"}
    assert {a.relation for a in closure.closure(db, graph, [other]).conclusions} == {"u"}

    ids = [f"{graph}|A-r-B"]
    db.write(rows.WrittenRow, "probes/write_columns", ids=ids, columns={"likelihood_pre": [0.5]})
    (atom,) = closure.closure(db, graph, [other]).conclusions
    assert atom.strength_pre == pytest.approx(0.25)

    write(db, graph, facts, KINDS)  # written anew: nothing of the old closure is left
    assert state() is None
    assert db.read(rows.StoredGroundingRow, "closure/groundings", graph=graph) == []
    closure.closure(db, graph, [one])
    db.autocommit(int, "graph/delete_graph", graph=graph)
    assert db.read(rows.StoredGroundingRow, "closure/groundings", graph=graph) == []


def test_without_probabilities_a_conclusion_has_no_strength(db: Database, prefix: str) -> None:
    graph = f"{prefix}-plain"
    write(db, graph, {("A", "r", "B"): (0.9, 0.1), ("B", "s", "C"): (0.5, 0.5)}, KINDS)
    rules = [stored(PlainRule("r", False, "s", False, "t"))]
    (atom,) = closure.closure(db, graph, rules, ClosureOptions(measure="p")).conclusions
    assert (atom.strength_pre, atom.strength_post, atom.leaves) == (None, None, 2)


def test_contradicting_conclusions_are_both_reported(db: Database, prefix: str) -> None:
    graph = f"{prefix}-against"
    facts: Facts = {
        ("A", "r", "B"): (0.9, 0.9), ("B", "s", "C"): (0.9, 0.9), ("A", "t", "D"): (0.9, 0.9),
        ("B", "t", "C"): (0.9, 0.9), ("B", "s", "E"): (0.9, 0.9),
    }  # fmt: skip
    write(db, graph, facts, KINDS)
    closure.closure(db, graph, [stored(PlainRule("r", False, "s", False, "t"))])
    told = db.read(rows.ContradictionRow, "closure/contradictions", graph=graph, relations=["t"])
    assert [(row.object, row.other, row.implied) for row in told] == [
        ("C", "D", False),
        ("C", "E", True),
        ("E", "D", False),
    ]


def test_a_relation_of_a_single_subject_is_not_functional(db: Database, prefix: str) -> None:
    graph = f"{prefix}-single"
    facts: Facts = {
        ("A", "r", "B"): (0.9, 0.9), ("B", "s", "C"): (0.9, 0.9), ("A", "t", "D"): (0.9, 0.9),
    }  # fmt: skip
    write(db, graph, facts, KINDS)
    found = closure.closure(db, graph, [stored(PlainRule("r", False, "s", False, "t"))])
    assert [closure.triple_of(atom) for atom in found.conclusions] == [("A", "t", "C")]
    about = {"graph": graph, "relations": ["t"]}
    assert db.read(rows.ContradictionRow, "closure/contradictions", **about) == []


def test_bad_input_is_refused_with_a_reason(
    db: Database, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = f"{prefix}-bad"
    write(db, graph, {("A", "r", "B"): (0.9, 0.1), ("B", "s", "C"): (0.5, 0.5)}, KINDS)
    rules = [stored(PlainRule("r", False, "s", False, "t"))]
    with pytest.raises(NotFoundError, match="Did you mean"):
        closure.closure(db, f"{graph}x", rules)
    with pytest.raises(NotFoundError, match="subject"):
        closure.prove(db, graph, ("AA", "t", "C"), rules)
    with pytest.raises(NotFoundError, match="relation"):
        closure.prove(db, graph, ("A", "tt", "C"), rules)
    with monkeypatch.context() as patch:
        patch.setattr(closure, "MOST_CONCLUSIONS", 0)
        with pytest.raises(UsageError, match="Nothing was stored"):
            closure.closure(db, graph, rules)
    assert db.read(rows.StoredGroundingRow, "closure/groundings", graph=graph) == []

    def too_much(*_: object) -> None:
        raise QueryTooLargeError("more than the limit 512.0 MiB")

    monkeypatch.setattr(closure, "_weigh", too_much)
    with (
        pytest.raises(UsageError, match="by 1 rule does not fit") as told,
        closure.transaction(db, graph, rules) as tx,
    ):
        closure.within(tx, db, graph, rules)
    assert "--depth 1" in told.value.remedy
    assert db.read(rows.StoredGroundingRow, "closure/groundings", graph=graph) == []


def test_a_fact_that_was_not_probed_is_no_part_of_the_best_proof_shown(
    db: Database, prefix: str
) -> None:
    graph = f"{prefix}-unprobed"
    unknown: Any = (None, None)
    facts: Facts = {
        ("A", "r", "B"): (0.8, 0.4), ("A", "s", "B"): unknown, ("B", "u", "C"): (0.9, 0.5),
    }  # fmt: skip
    write(db, graph, facts, KINDS)
    rules = [
        stored(PlainRule("r", False, None, False, "s")),
        stored(PlainRule("s", False, "u", False, "t")),
    ]
    shown = closure.shown(db, graph, rules)
    (item,) = [each for each in shown.items if each.relation == "t"]
    assert item.proof is not None
    assert item.strength_pre == pytest.approx(0.72)
    assert item.proof.strength_pre == item.strength_pre
    assert item.proof.strength_post == item.strength_post == pytest.approx(0.2)
    assert closure.prove(db, graph, ("A", "t", "C"), rules) == [item.proof]


def chain_of(db: Database, graph: str, n: int) -> list[StoredRule]:
    """A graph of n spouses and a rule that has n conclusions."""
    facts: Facts = {(f"A{i}", "r", f"B{i}"): (0.9, 0.1) for i in range(n)}
    write(db, graph, facts, dict.fromkeys(name for s, _, o in facts for name in (s, o)))
    return [stored(PlainRule("r", True, None, False, "t"))]


def left(db: Database, graph: str) -> tuple[int, int]:
    """The conclusions and groundings of a graph that are stored, of a whole closure or not."""
    (gone,) = db.write(rows.ClearClosureRow, "closure/clear", graph=graph)
    return gone.conclusions, gone.groundings


def store_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Store small closures as large ones are: 4 rows a transaction, 7 at most in one."""
    monkeypatch.setattr(closure, "IN_ONE", 7)
    monkeypatch.setattr(closure, "_BATCH", 4)


def test_a_closure_in_parts_is_the_one_of_a_single_transaction(
    db: Database, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = f"{prefix}-parts"
    rules = chain_of(db, graph, 25)
    whole = closure.closure(db, graph, rules)
    store_in_parts(monkeypatch)
    db.write(rows.ClearClosureRow, "closure/clear", graph=graph, limit=3)
    parts = closure.closure(db, graph, rules)
    assert (parts.atoms, parts.groundings) == (whole.atoms, whole.groundings)
    assert len(parts.conclusions) == 25
    # A smaller one replaces it whole.
    closure.closure(db, graph, rules, ClosureOptions(confidence=False))
    assert left(db, graph) == (25, 25)


def test_a_closure_in_parts_that_is_stopped_leaves_nothing(
    db: Database, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = f"{prefix}-stopped"
    rules = chain_of(db, graph, 25)
    store_in_parts(monkeypatch)
    calls = count()

    def stop(_: object) -> None:
        if next(calls) == 5:
            raise JobInterrupt(cancelled=True)

    with pytest.raises(JobInterrupt):
        closure.closure(db, graph, rules, fence=stop)
    assert next(calls) > 5
    assert left(db, graph) == (0, 0)
    # A process that is killed leaves its parts, and nobody takes them for a closure.
    calls = count()

    def kill(_: object) -> None:
        if next(calls) == 5:
            monkeypatch.setattr(closure, "_clear", lambda *_: False)
            raise JobInterrupt(cancelled=True)

    with pytest.raises(JobInterrupt):
        closure.closure(db, graph, rules, fence=kill)
    found = db.read(rows.AtomRow, "closure/atoms", graph=graph, relations=[], pre="x", post="x")
    assert 0 < len(found) < 25
    assert not closure.is_stored(db, graph, rules, ClosureOptions())
    monkeypatch.undo()
    assert len(closure.closure(db, graph, rules).conclusions) == 25
    assert left(db, graph) == (25, 25)


def test_of_two_that_store_a_closure_the_later_one_stays(
    db: Database, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = f"{prefix}-two"
    rules = chain_of(db, graph, 25)
    store_in_parts(monkeypatch)
    other = ClosureOptions(confidence=False)
    calls = count()

    real = closure.fenced

    def overtaken(db: Database, fence: Fence) -> Runs:
        run = real(db, fence)

        def each(*given: Any, **params: Any) -> Any:
            if next(calls) == 3:
                closure.closure(db, graph, rules, other)
            return run(*given, **params)

        return each

    monkeypatch.setattr(closure, "fenced", overtaken)
    with pytest.raises(ConflictError, match="Another process"):
        closure.closure(db, graph, rules)
    assert next(calls) > 4
    assert closure.is_stored(db, graph, rules, other)
    assert left(db, graph) == (25, 25)


def test_facts_that_change_meanwhile_are_not_concluded_from(
    db: Database, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = f"{prefix}-meanwhile"
    rules = chain_of(db, graph, 5)
    real = closure._weigh

    def changed(*given: Any) -> Any:
        chain_of(db, graph, 3)
        return real(*given)

    monkeypatch.setattr(closure, "_weigh", changed)
    with pytest.raises(ConflictError, match="changed meanwhile"):
        closure.closure(db, graph, rules)
    monkeypatch.undo()
    assert len(closure.closure(db, graph, rules).conclusions) == 3


def test_two_that_derive_a_small_closure_at_once_both_get_it(db: Database, prefix: str) -> None:
    graph = f"{prefix}-at-once"
    rules = chain_of(db, graph, 40)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: closure.closure(db, graph, rules), range(8)))
    assert {len(each.conclusions) for each in found} == {40}
    assert left(db, graph) == (40, 40)
