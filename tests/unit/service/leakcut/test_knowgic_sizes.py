"""Sizes of the cuts of KnowGIC's 26 rewrites, as they were counted by an independent program."""

from __future__ import annotations

from collections.abc import Collection
from itertools import product
from pathlib import Path

import pytest

from support.references.reference import Case, Edge, alternatives
from thinkeval.loaders import knowgic
from thinkeval.service.leakcut.hitting_set import Chain, Problem, cut

FREE = {
    "elvis-presley--is": 5, "elvis-presley--s": 5, "priscilla": 5, "hillary": 5, "hermione": 10,
    "ron-": 9, "harry-potter": 20, "david-b": 4, "victoria-b": 4, "bakersfield": 5, "ward": 8,
    "mark-t": 4, "mateen": 4, "basketball": 3, "uma": 3, "overwatch": 3, "petronius": 3,
    "miss": 2, "steve-b": 2, "vincent": 1, "harry-d": 1, "byron": 1, "buick": 1, "atari": 1,
    "nicole": 1, "rutan": 1,
}  # fmt: skip
"""Further facts by the beginning of the rewrite's id; any fact may be edited."""

ONLY_SUBJECT = FREE | {"mark-t": 8, "harry-potter": 21, "ron-": 10, "bakersfield": 6, "byron": 2}
NOT_SUBJECT = FREE | {
    "harry-potter": 25, "hermione": 24, "ron-": 24, "ward": 12, "vincent": 2, "harry-d": 2,
}  # fmt: skip
ONE_A_SUBJECT = NOT_SUBJECT | {"hermione": 25, "ron-": 25, "bakersfield": 6}


@pytest.fixture(scope="module")
def families(data_dir: Path) -> dict[str, tuple[str, dict[str, str], list[frozenset[str]]]]:
    """{rewrite: (subject, {fact: its subject}, sets of facts of its paths of 2 steps or more)}."""
    graph = knowgic.load(data_dir / "knowgic").graph
    edges = [
        Edge(f.id, f.subject, f.object, relation=f.relation, cases=tuple(f.cases))
        for f in graph.facts
    ]
    subjects = {fact.id: fact.subject for fact in graph.facts}
    out = {}
    for rewrite in graph.rewrites:
        case = Case(rewrite.subject, rewrite.target_true, rewrite.id, rewrite.relation)
        sets = {
            frozenset(edge.id for edge in path)
            for steps in alternatives(edges, case, 5, "listed", walk=True)
            if len(steps) > 1
            for path in product(*steps)
        }
        out[rewrite.id] = (rewrite.subject, subjects, sorted(sets, key=sorted))
    return out


def locks(facts: Collection[str], subjects: dict[str, str], subject: str, kind: str) -> set[str]:
    """The facts that may not be edited."""
    if kind == "free":
        return set()
    about = {fact for fact in facts if subjects[fact] == subject}
    return set(facts) - about if kind == "only" else about


@pytest.mark.parametrize(
    ("kind", "expected", "total"),
    [
        ("free", FREE, 111), ("only", ONLY_SUBJECT, 119), ("not", NOT_SUBJECT, 151),
        ("one", ONE_A_SUBJECT, 154),
    ],
)  # fmt: skip
def test_sizes(families, kind: str, expected: dict[str, int], total: int) -> None:
    assert (len(families), sum(expected.values())) == (26, total)
    for rewrite, (subject, subjects, sets) in families.items():
        facts = set().union(*sets)
        groups = [{f for f in facts if subjects[f] == s} for s in {subjects[f] for f in facts}]
        problem = Problem(
            tuple(Chain(each) for each in sets),
            locked=frozenset(locks(facts, subjects, subject, kind)),
            groups=tuple(map(frozenset, groups)) if kind == "one" else (),
        )
        found = cut(problem)
        (size,) = [n for start, n in expected.items() if rewrite.startswith(start)]
        assert (len(found.facts), found.open, found.gap) == (size, (), 0), rewrite
        assert not [each for each in sets if not each & set(found.facts)], rewrite
