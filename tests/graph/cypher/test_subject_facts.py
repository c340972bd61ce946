"""Facts about a subject that are kept, weakened, replaced or lost: Cypher against brute force."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from support.references.subject_reference import Told, Triple, outcomes, reaches
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import RewriteRequest
from thinkeval.loaders.rule_records import Atom, rule
from thinkeval.service.models.edit import SubjectOutcome
from thinkeval.service.rules import store as rule_store
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.side_effects import entailed

NAMES = ("s", "n", "o", "a", "b", "c")
RELATIONS = ("edited", "q", "r")


def store(db: Database, graph: str, kind: str, facts: Sequence[Told]) -> None:
    """Write a graph with likelihoods."""
    sent = []
    for place, each in enumerate(facts):
        subject, relation, object_ = each.fact
        row = {
            "id": f"f{place}", "subject": subject, "relation": relation, "object": object_,
            "prompt": f"{{}} {relation}", "role": each.role,
            "likelihood_pre": each.pre, "likelihood_post": each.post,
        }  # fmt: skip
        if each.answer is not None:
            row |= {"answer_post": each.answer, "says_post": f"it is {each.answer}"}
        if each.replaced is not None:
            row["replaced"] = each.replaced
        sent.append(row)
    with db.transaction() as tx:
        tx.run(
            rows.MergeGraphRow,
            "graph/merge_graph",
            graph=graph,
            kind=kind,
            dataset=graph,
            measures=["likelihood"],
        )
        tx.run(
            rows.WrittenRow,
            "graph/merge_entities",
            graph=graph,
            rows=[{"name": name} for name in NAMES],
        )
        tx.run(rows.WrittenRow, "graph/merge_facts", graph=graph, rows=sent)
        tx.run(rows.CompleteGraphRow, "graph/complete_graph", graph=graph)


@pytest.mark.parametrize("seed", range(12))
def test_the_counts_equal_brute_force(db: Database, graph_id: str, seed: int) -> None:
    draw = random.Random(seed)
    every: list[Triple] = [(s, r, o) for s in NAMES for r in RELATIONS for o in NAMES]
    graph = draw.sample(every, draw.choice((3, 8, 20)))
    about = draw.sample([each for each in every if each[0] == "s"], 9) + draw.sample(
        [each for each in every if each[0] != "s"], 4
    )
    told = []
    for fact in about:
        pre = draw.choice((0.0, 0.049, 0.05, 0.4, 0.9))
        post = draw.choice((pre, pre * 0.9, pre / 2, pre * 0.0999, 0.0))
        role = draw.choice(("fact", "subject", "implication"))
        other = draw.choice((True, False, None))
        told.append(Told(fact, pre, post, role, other, draw.choice((None, *NAMES))))
    store(db, graph_id, "dataset", [Told(fact, 1.0, 1.0) for fact in graph])
    edit = f"{graph_id}-edit"
    store(db, edit, "edit", told)
    drawn = [(r, draw.choice(NAMES)) for r in RELATIONS for _ in range(2)]
    conclusions = [{"relation": r, "object": o} for r, o in drawn]
    for new, known, by_rule in (
        ("n", 0.05, ()), ("n", 0.0, ()), (None, 0.05, ()), ("n", 0.95, ()), ("n", 0.0, drawn)
    ):  # fmt: skip
        wanted = outcomes(graph, told, "s", new, known, by_rule)
        counts = Counter(change for change, _ in wanted.values())
        followed = sum(follows for _, follows in wanted.values())
        (found,) = db.read(
            SubjectOutcome, "edits/subject_facts",
            edit=edit, graph=graph_id, subject="s", new=new, known=known,
            entailed=conclusions if by_rule else [],
        )  # fmt: skip
        changes = {(f.relation, f.object): (f.change, f.follows) for f in found.facts}
        assert changes == wanted
        assert found.n == len(wanted)
        if wanted:
            assert (found.kept, found.lost) == (counts["kept"], counts["lost"])
            assert (found.weakened, found.replaced) == (counts["weakened"], counts["replaced"])
            assert found.followed == (followed if new else None)
        else:
            assert (found.kept, found.weakened, found.replaced, found.lost) == (None,) * 4
            assert found.followed is None
    for new in ("n", None):
        (names,) = db.read(rows.FollowingRow, "edits/following", graph=graph_id, new=new)
        wanted_names = {name for name in NAMES if new is not None and reaches(graph, new, name)}
        assert set(names.names) == wanted_names


def test_without_a_fact_about_the_subject_there_is_no_count(db: Database, graph_id: str) -> None:
    store(db, graph_id, "dataset", [Told(("n", "q", "a"), 1.0, 1.0)])
    (found,) = db.read(
        SubjectOutcome, "edits/subject_facts",
        edit=graph_id, graph=graph_id, subject="s", new="n", known=0.05,
    )  # fmt: skip
    assert (found.kept, found.followed, found.lost, found.n) == (None, None, None, 0)
    assert found.facts == []


def test_rules_draw_conclusions_about_the_subject_from_the_new_object(
    db: Database, graph_id: str
) -> None:
    """s moves from o to n: it is spoken a there, and near b; c, which stands in s, moves along."""
    facts = [("s", "edited", "o"), ("n", "speaks", "a"), ("b", "borders", "n"), ("c", "in", "s")]
    store(db, graph_id, "dataset", [Told(fact, 1.0, 1.0) for fact in facts])
    rules = [
        rule([Atom("x", "edited", "y"), Atom("y", "speaks", "z")], Atom("x", "is read in", "z")),
        rule([Atom("x", "edited", "y"), Atom("z", "borders", "y")], Atom("x", "near", "z")),
        rule([Atom("w", "in", "x"), Atom("x", "edited", "y")], Atom("w", "edited", "y")),
    ]
    rewrite = RewriteRequest(
        id="r", dataset=graph_id, subject="s", relation="edited", prompt="{} edited",
        target_true="o", target_new="n",
    )  # fmt: skip
    request = ScoreRequest.of(rewrite, graph=graph_id)
    assert entailed(db, request) == []
    rule_store.save(db, graph_id, rules, status="kept")
    found = {(each["relation"], each["object"]) for each in entailed(db, request)}
    assert found == {("is read in", "a"), ("near", "b")}
    forgotten = ScoreRequest.of(replace(rewrite, target_new=""), graph=graph_id)
    assert entailed(db, forgotten) == []
    rule_store.delete(db, graph_id)
