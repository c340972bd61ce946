"""Facts about a subject that are kept, weakened, follow or are lost: Cypher against brute force."""

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
            row |= {"answer_post": each.answer, "answer_likelihood": 0.5}
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
        post = draw.choice((pre, pre / 2, pre * 0.499, 0.0))
        role = draw.choice(("fact", "subject", "implication"))
        told.append(Told(fact, pre, post, role, draw.choice((None, *NAMES))))
    store(db, graph_id, "dataset", [Told(fact, 1.0, 1.0) for fact in graph])
    edit = f"{graph_id}-edit"
    store(db, edit, "edit", told)
    drawn = [(r, draw.choice(NAMES)) for r in RELATIONS for _ in range(2)]
    conclusions = [{"relation": r, "object": o} for r, o in drawn]
    for new, known, by_rule in (
        ("n", 0.05, ()), ("n", 0.0, ()), (None, 0.05, ()), ("n", 0.95, ()), ("n", 0.0, drawn)
    ):  # fmt: skip
        wanted = outcomes(graph, told, "s", "edited", new, known, by_rule)
        counts = Counter(wanted.values())
        (found,) = db.read(
            SubjectOutcome, "edits/subject_facts",
            edit=edit, graph=graph_id, subject="s", relation="edited", new=new, known=known,
            entailed=conclusions if by_rule else [],
        )  # fmt: skip
        assert {(each.relation, each.object): each.outcome for each in found.facts} == wanted
        assert found.n == len(wanted)
        if wanted:
            assert (found.kept, found.lost) == (counts["kept"], counts["lost"])
            assert found.weakened == counts["weakened"]
            assert found.followed == (counts["followed"] if new else None)
        else:
            assert (found.kept, found.weakened, found.followed, found.lost) == (None,) * 4
    for new, by_rule in (("n", False), (None, False), ("n", True)):
        options = db.read(
            rows.SubjectOptionsRow,
            "edits/subject_options",
            graph=graph_id,
            relations=list(RELATIONS),
            new=new,
            entailed=conclusions if by_rule else [],
        )
        for row in options:
            objects = sorted({o for _, r, o in graph if r == row.relation})
            assert list(row.objects) == objects
            follow = [
                o for o in objects if (new is not None and reaches(graph, new, o))
                or (by_rule and (row.relation, o) in drawn)
            ]  # fmt: skip
            assert list(row.following) == follow


def test_without_a_fact_about_the_subject_there_is_no_count(db: Database, graph_id: str) -> None:
    store(db, graph_id, "dataset", [Told(("n", "q", "a"), 1.0, 1.0)])
    (found,) = db.read(
        SubjectOutcome, "edits/subject_facts",
        edit=graph_id, graph=graph_id, subject="s", relation="edited", new="n", known=0.05,
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
