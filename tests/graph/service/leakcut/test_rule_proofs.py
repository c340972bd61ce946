"""Proofs of an edited fact by stored rules, and the cut of them, against a plain fixpoint."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Iterator, Sequence

import pytest

from support.closure_rules import stored
from support.own_graphs import own_graphs
from support.references.closure_reference import PlainRule, Triple, fixpoint
from support.stored_edits import probed, store_edit
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.base.errors import NothingStoredError
from thinkeval.service.leakcut import hitting_set, leaks
from thinkeval.service.leakcut.hitting_set import Chain, Problem, ProofProblem
from thinkeval.service.leakcut.leaks import Leaks
from thinkeval.service.leakcut.request import edit_cut
from thinkeval.service.models.leakcut import CutIn
from thinkeval.service.rules import store
from thinkeval.service.rules.groundings import rules_for

KINDS = {"A": "p", "B": "p", "C": "q", "D": "q", "E": None}


@pytest.fixture(scope="module")
def prefix(db: Database) -> Iterator[str]:
    with own_graphs(db) as mine:
        yield mine


def write(
    db: Database, graph: str, facts: Collection[Triple], rules: Sequence[PlainRule]
) -> dict[str, Triple]:
    """A data set with kept rules; {id of a fact: its triple}."""
    ids = {"-".join(triple): triple for triple in sorted(facts)}
    names = sorted({*KINDS, *(name for t in facts for name in (t[0], t[2]))})
    with db.transaction() as tx:
        tx.run(rows.MergeGraphRow, "graph/merge_graph", graph=graph, kind="dataset", dataset=graph)
        entities = [{"name": name, "kind": KINDS.get(name)} for name in names]
        tx.run(rows.WrittenRow, "graph/merge_entities", graph=graph, rows=entities)
        tx.run(rows.WrittenRow, "graph/merge_facts", graph=graph, rows=[
            {"id": id, "subject": t[0], "relation": t[1], "object": t[2], "prompt": "{} r"}
            for id, t in ids.items()
        ])  # fmt: skip
        tx.run(rows.CompleteGraphRow, "graph/complete_graph", graph=graph)
    store.save(db, graph, [stored(rule).rule for rule in rules], status="kept")
    return ids


def drawn(seed: int) -> tuple[list[Triple], list[PlainRule]]:
    """Ten facts and six rules over few relations, so that proofs meet facts and cycles."""
    draw = random.Random(seed)
    facts: dict[Triple, None] = {}
    while len(facts) < 10:
        subject, object_ = draw.sample(sorted(KINDS), 2)
        facts[subject, draw.choice("rs"), object_] = None
    rules = {}
    while len(rules) < 6:
        x, y, z = (draw.choice((None, None, None, None, "p", "q")) for _ in range(3))
        first, second, last = (draw.choice("rst") for _ in range(3))
        if len(rules) < 4:
            backs = draw.random() < 0.5, draw.random() < 0.5
            made = PlainRule(first, backs[0], second, backs[1], last, 1.0, (x, y, z))
        else:
            back = first == last or draw.random() < 0.5
            made = PlainRule(first, back, None, False, last, 1.0, (x, None, z))
        rules[stored(made).id] = made
    return list(facts), list(rules.values())


def proofs(db: Database, read: Leaks, *, depth: int = 4) -> ProofProblem:
    """The proofs by the kept rules."""
    return leaks.proofs(db, read, rules_for(db, read.graph), depth=depth)


def unedited(graph: str, target: Triple) -> Leaks:
    """A rewrite of which no chain is known."""
    return Leaks(graph, "r", (target[0], target[2]), target[1], "new", (), {})


@pytest.mark.parametrize("seed", range(1, 9))
def test_cut_is_the_smallest_after_which_nothing_follows(
    db: Database, prefix: str, seed: int
) -> None:
    facts, rules = drawn(seed)
    ids = write(db, f"{prefix}-{seed}", facts, rules)
    goals = [(x, "t", z) for x, z in itertools.permutations(sorted(KINDS), 2)] + facts[:2]
    provable = 0
    for target in goals:
        others = {triple for triple in facts if triple != target}
        if target not in fixpoint(others, rules, KINDS):
            continue
        provable += 1
        found = proofs(db, unedited(f"{prefix}-{seed}", target), depth=20)
        best = hitting_set.cut_with_rules(found.within(Problem(())))
        chosen = {ids[fact] for fact in best.facts}
        assert chosen <= others
        assert target not in fixpoint(others - chosen, rules, KINDS)
        if len(chosen) <= 4:
            fewer = itertools.combinations(sorted(others), len(chosen) - 1)
            assert all(target in fixpoint(others - set(few), rules, KINDS) for few in fewer)
        if provable == 6:
            return
    assert provable


RULE = PlainRule("is a friend of", False, "studied at", False, "studied at", 0.5)
BACK = PlainRule("is a friend of", True, None, False, "is a friend of", 0.75)
EDITED = ("Harry", "studied at", "Hogwarts")
FACTS = [
    probed(EDITED, 0.9, 0.01, "target_true"),
    probed(("Harry", "studied at", "Durmstrang"), 0.0, 0.9, "target_new", listed=False),
    probed(("Harry", "is a friend of", "Ron"), 0.9, 0.8),
    probed(("Ron", "is a friend of", "Harry"), 0.9, 0.8),
    probed(("Ron", "studied at", "Hogwarts"), 0.9, 0.9),
    probed(("Ron", "is a friend of", "Luna"), 0.9, 0.9),
    probed(("Luna", "studied at", "Hogwarts"), 0.9, 0.9),
    probed(("Luna", "is a friend of", "Durmstrang"), 0.9, 0.9, "coedit", listed=False),
]


def test_proofs_of_an_edit_are_its_facts_beside_its_chains(db: Database, prefix: str) -> None:
    graph = f"{prefix}-edited"
    write(db, graph, [EDITED], [RULE, BACK])
    score = store_edit(db, f"{graph}-edit", FACTS, dataset=graph)
    read = leaks.of_edit(db, score, "likelihood")
    found = proofs(db, read)
    assert found.target == EDITED
    known = {fact.id: (fact.subject, fact.relation, fact.object) for fact in read.records}
    triples = [f.question.fact for f in FACTS if f.question.role in ("fact", "target_true")]
    assert set(found.facts.values()) == {(f.subject, f.relation, f.object) for f in triples}
    assert all(found.facts[id] == triple for id, triple in known.items() if triple != EDITED)
    weights = {one.weight for one in found.groundings}
    assert weights == {0.5, 0.75}

    limits = Problem(read.leaking(0.1))
    problem = found.within(limits)
    best = hitting_set.cut_with_rules(problem)
    chosen = {found.facts[fact] for fact in best.facts}
    # Chains alone: Harry's friendship with Ron. It is restored from Ron's with Harry, so that both
    # are edited, or both of the schools.
    alone = hitting_set.cut_with_rules(
        hitting_set.ProofProblem(EDITED, found.facts, (), limits.chains)
    )
    assert (len(alone.facts), len(best.facts), best.open) == (1, 2, ())
    friends = {("Harry", "is a friend of", "Ron"), ("Ron", "is a friend of", "Harry")}
    assert chosen in (friends, {(name, "studied at", "Hogwarts") for name in ("Ron", "Luna")})
    assert problem.survivors(best.facts) == []
    assert problem.survivors(alone.facts)


def test_open_proof_names_its_rule_and_facts(db: Database, prefix: str) -> None:
    graph = f"{prefix}-locked"
    facts = [("Harry", "is a friend of", "Ron"), ("Ron", "studied at", "Hogwarts")]
    ids = write(db, graph, [EDITED, *facts], [RULE])
    found = proofs(db, unedited(graph, EDITED))
    locked = frozenset(id for id, triple in ids.items() if triple in facts)
    best = hitting_set.cut_with_rules(found.within(Problem((), locked=locked)))
    text = stored(RULE).rule.text()
    assert best.open == (Chain(locked, 0.5, name=text),)
    # No proof is as small as one fact.
    assert hitting_set.cut_with_rules(found.within(Problem(()), most=1)).facts == ()
    assert len(hitting_set.cut_with_rules(found.within(Problem(()), most=2)).facts) == 1


def test_without_kept_rules_there_is_nothing_to_prove_by(db: Database, prefix: str) -> None:
    graph = f"{prefix}-bare"
    write(db, graph, [EDITED], [])
    with pytest.raises(NothingStoredError, match="no kept rules"):
        proofs(db, unedited(graph, EDITED))


TAUGHT = PlainRule("taught", True, None, False, "studied at", 0.5)


def test_cut_with_rules_breaks_proofs_too(db: Database, prefix: str) -> None:
    graph = f"{prefix}-joint"
    write(db, graph, [EDITED], [TAUGHT])
    facts = [*FACTS, probed(("Hogwarts", "taught", "Harry"), 0.9, 0.9)]
    score = store_edit(db, f"{graph}-edit", facts, dataset=graph)
    chains = edit_cut(db, score, "likelihood", CutIn(keys="off"))
    assert (len(chains.facts), chains.rules) == (1, None)

    made = edit_cut(db, score, "likelihood", CutIn(keys="off", rules=True))
    assert made.rules is not None
    assert (len(made.facts), made.optimal, made.open, made.alternatives) == (2, True, [], [])
    (further,) = made.rules.facts
    assert made.names[further] == ("Hogwarts", "taught", "Harry")
    assert (made.rules.rules, made.rules.why) == (1, None)
    assert made.rules.groundings >= 1
    assert made.cost == pytest.approx(2 / 0.95)  # a fact that only proofs use costs as much

    locked = edit_cut(db, score, "likelihood", CutIn(keys="off", rules=True, lock=("Hogwarts",)))
    assert locked.rules is not None
    (proof,) = locked.open
    assert (proof.entities, proof.facts) == ([], [further])
    assert proof.why.endswith("it is locked")
    assert further in locked.names
    assert (len(locked.facts), locked.rules.facts) == (1, [])


def test_chain_that_rules_restore_stays_open(db: Database, prefix: str) -> None:
    graph = f"{prefix}-restored"
    write(db, graph, [EDITED], [BACK])
    score = store_edit(db, f"{graph}-edit", FACTS, dataset=graph)
    plain = edit_cut(db, score, "likelihood", CutIn(keys="off", only_subject=True))
    assert (len(plain.facts), plain.open) == (1, [])
    made = edit_cut(db, score, "likelihood", CutIn(keys="off", only_subject=True, rules=True))
    assert (made.facts, len(made.open)) == ([], 2)
    assert all(path.why.endswith("rules restore its other facts") for path in made.open)


def test_cut_with_rules_says_why_there_are_none(db: Database, prefix: str) -> None:
    graph = f"{prefix}-none"
    write(db, graph, [EDITED], [])
    score = store_edit(db, f"{graph}-edit", FACTS, dataset=graph)
    made = edit_cut(db, score, "likelihood", CutIn(keys="off", rules=True))
    plain = edit_cut(db, score, "likelihood", CutIn(keys="off"))
    assert made.rules is not None
    assert "no kept rules" in (made.rules.why or "")
    assert (made.facts, made.cost) == (plain.facts, plain.cost)
