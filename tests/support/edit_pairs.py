"""Two stored edits of one small random graph, with the brute force that says how they differ."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from support.references.reference import Case, Chain, Edge, chains, reliability, survives
from support.stored_edits import end_edit
from support.stored_graphs import fact
from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.graphs.edges import change
from thinkeval.service.models.edit import MetricValue, Score, ScoringOptions

SUBJECT, OBJECT, NEW = "s", "o", "new"
NAMES = (SUBJECT, OBJECT, "x", "y", "z", "w")
CASE = Case(SUBJECT, OBJECT, relation="r")
LEVELS = (0.0, 0.02, 0.3, 0.5, 0.6, 0.9, 1.0)
State = tuple[str, float, float]
Key = tuple[str, str, str, str, str]


def random_sides(random: Random) -> tuple[list[Edge], list[Edge]]:
    """The facts of two edits: mostly the same ones, with probabilities of each edit's own."""
    known = [
        Edge(f"f{i}-{j}", a, b, relation="r" if (a, b) == (SUBJECT, OBJECT) else "q")
        for i, a in enumerate(NAMES)
        for j, b in enumerate(NAMES)
        if a != b and random.random() < 0.8
    ]
    known.append(Edge("new", SUBJECT, NEW, relation="r", role="target_new"))
    sides = []
    for _ in range(2):
        held = [e for e in known if random.random() < 0.97] or known
        sides.append([
            replace(e, pre=random.choice(LEVELS), post=random.choice(LEVELS)) for e in held
        ])  # fmt: skip
    return sides[0], sides[1]


def random_options(random: Random) -> ScoringOptions:
    return ScoringOptions(
        max_steps=random.randint(2, 5),
        bare=random.choice(("listed", "include", "exclude")),
        threshold=random.choice((None, 0.2, 0.8)),
    )


def random_values(random: Random) -> list[MetricValue]:
    """Some metrics, so that each edit lacks some of the other's."""
    named = (("ifr", None), ("ifr_by_steps", 1), ("ifr_by_steps", 2), ("efficacy", None))
    return [
        MetricValue(
            metric=name, measure="p", step=step, value=random.random(), n=random.choice((0, 3))
        )
        for name, step in named
        if random.random() < 0.7
    ]


def store_edit(
    db: Database,
    edit: str,
    dataset: str,
    edges: list[Edge],
    options: ScoringOptions | None = None,
    values: list[MetricValue] | None = None,
    **changed: Any,
) -> Score:
    """An edit as scoring leaves it: graph, record and score, of the measure `p`."""
    score = Score(
        edit=edit,
        dataset=dataset,
        rewrite="rewrite",
        subject=SUBJECT,
        relation="r",
        prompt="{} r",
        target_true=OBJECT,
        target_new=NEW,
        model="model",
        method="method",
        options=options or ScoringOptions(),
        values=values or [],
        n_facts=len(edges),
    ).model_copy(update=changed)
    facts = [fact(edge) | {"change": change(edge.pre, edge.post)} for edge in edges]
    names = dict.fromkeys([SUBJECT, OBJECT, *(n for e in edges for n in (e.subject, e.object))])
    asked = ("prompt", "subject", "relation", "target_true", "target_new")
    rewrite = {name: getattr(score, name) for name in asked} | {"rewrite": score.rewrite}
    with db.transaction() as tx:
        tx.run(rows.WrittenRow, "graph/merge_rewrites", dataset=dataset, rows=[rewrite])
        tx.run(
            rows.MergeGraphRow,
            "graph/merge_graph",
            graph=edit,
            kind="edit",
            dataset=dataset,
            measures=["p"],
        )
        tx.run(
            rows.WrittenRow,
            "graph/merge_entities",
            graph=edit,
            rows=[{"name": name} for name in names],
        )
        tx.run(rows.WrittenRow, "graph/merge_facts", graph=edit, rows=facts)
        tx.run(rows.CompleteGraphRow, "graph/complete_graph", graph=edit)
        about = {"id": edit, "model": score.model, "method": score.method, "dataset": dataset}
        tx.run(
            rows.MergeEditRow, "edits/merge_edit", **about, rewrite=score.rewrite, status="running"
        )
        end_edit(tx.run, edit, score=score.model_dump_json())
    return score


def states(edges: list[Edge]) -> dict[Key, State]:
    """Return the effect of an edit on each fact: change, probability before and after."""
    return {
        (e.subject, e.relation, e.object, f"{{}} {e.relation}", e.role):
            (change(e.pre, e.post), e.pre, e.post)
        for e in edges
    }  # fmt: skip


def survival(edges: list[Edge], options: ScoringOptions) -> dict[tuple[str, ...], bool]:
    """Map each chain, by its entities, to True if it survives; brute force, the edit's options."""
    found = chains(edges, CASE, options.max_steps, options.bare)
    return {entities(c): survives(c, options.threshold or 0.0) for c in found}


def after(edges: list[Edge], options: ScoringOptions) -> dict[tuple[str, ...], float]:
    """R' of each chain."""
    found = chains(edges, CASE, options.max_steps, options.bare)
    return {entities(c): reliability(c)[1] for c in found}


def entities(chain: Chain) -> tuple[str, ...]:
    return (chain[0].subject, *(edge.object for edge in chain))
