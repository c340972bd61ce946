"""IFR of KnowGIC's 26 rewrites: all in one query, against 26 queries and against doing it outside.

The graph is in the database with a random probability before and after on every fact, some of them
zero. Doing it outside means what a user without our queries would do: ask Neo4j for the facts,
build a networkx graph for each rewrite, enumerate its paths, multiply along them. All three must
agree within 1e-9.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import neo4j
import networkx as nx

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders import formats
from thinkeval.loaders.records import KnowledgeGraph
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.write import write_graph

STEPS = 5
CLOSE = 1e-9
ZEROS = 0.05  # fraction of probabilities that are zero, before and after each

PULL = """
MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.id STARTS WITH $graph + '|'
RETURN s.name AS subject, o.name AS object, f.id AS id, f.cases AS cases,
  f.p_pre AS pre, f.p_post AS post
"""


def main() -> int:
    """Measure, compare, print; 0 if the targets are met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with stored("ifr", options.seed) as (server, graph, cases):
        lines = measured(server, graph, cases, options.repeats)
    note = f"Medians of {options.repeats} after a warm-up; values agree within {CLOSE:g}."
    return bench.show("ifr_one_query", lines, [note], as_json=options.json)


@contextmanager
def stored(what: str, seed: int) -> Iterator[tuple[bench.Server, str, list[dict[str, Any]]]]:
    """KnowGIC with random probabilities: its server, the id of the graph, a case a rewrite."""
    loaded = formats.load(bench.data_dir() / "knowgic" / "chains.json").graph
    with bench.server() as server, bench.scratch_graph(server.db, what) as graph:
        store(server.db, graph, loaded, seed)
        yield server, graph, [datasets.case(graph, rewrite) for rewrite in loaded.rewrites]


PAPERS: dict[str, Any] = {"rule": "papers", "known_chain": 0.0}
"""Chains with R ≠ 0 count, as in the calculation by networkx."""


def store(db: Database, graph: str, loaded: KnowledgeGraph, seed: int) -> None:
    """The facts with random probabilities."""
    rng = random.Random(seed)

    def probability() -> float:
        return 0.0 if rng.random() < ZEROS else rng.random()

    facts = [
        datasets.fact_row(fact) | {"p_pre": probability(), "p_post": probability()}
        for fact in loaded.facts
    ]
    header = rows.GraphHeader(graph, "edit", graph, measures=("p",))
    write_graph(db, header, loaded.entities, facts)


def measured(
    server: bench.Server, graph: str, cases: Sequence[Mapping[str, Any]], repeats: int
) -> list[bench.Line]:
    """All three ways, first compared, then timed."""

    def one_query() -> dict[str, float]:
        return {row.id: row.value for row in server.db.metric("ifr", cases=list(cases), **PAPERS)}

    def one_by_one() -> dict[str, float]:
        found = [server.db.metric("ifr", cases=[case], **PAPERS)[0] for case in cases]
        return {row.id: row.value for row in found}

    def outside() -> dict[str, float]:
        facts = pull(server.driver, graph)
        return {case["id"]: networkx_ifr(facts, case) for case in cases}

    ours = one_query()
    _agree("one query and one by one", ours, one_by_one())
    _agree("one query and networkx", ours, outside())
    bench.agree(any(value > 0 for value in ours.values()), "every IFR is 0")
    facts = pull(server.driver, graph)
    took = 1e3 * bench.median_seconds(one_query, repeats, warm_up=30)
    singly = 1e3 * bench.median_seconds(one_by_one, repeats, warm_up=3)
    pulled = 1e3 * bench.median_seconds(outside, repeats, warm_up=3)
    in_memory = 1e3 * bench.median_seconds(
        lambda: [networkx_ifr(facts, case) for case in cases], repeats
    )
    what = f"IFR of {len(cases)} rewrites"
    goal = bench.Goal("value", "<=", 100)
    return [
        bench.Line(what, "ms", took, singly, f"{len(cases)} queries", goal),
        bench.Line(what, "ms", took, pulled, "pull the facts, networkx"),
        bench.Line(what, "ms", took, in_memory, "networkx, facts pulled before"),
    ]


def pull(driver: neo4j.Driver, graph: str) -> list[dict[str, Any]]:
    """The facts of the graph, by one plain query."""
    records, _, _ = driver.execute_query(PULL, graph=graph, routing_=neo4j.RoutingControl.READ)
    return [record.data() for record in records]


def networkx_ifr(facts: Sequence[Mapping[str, Any]], case: Mapping[str, Any]) -> float:
    """ThinkEval, Definition 3, Eq. 6; of parallel facts the likeliest before counts."""
    graph = nx.MultiDiGraph()
    for fact in facts:
        if not fact["cases"] or case["rewrite"] is None or case["rewrite"] in fact["cases"]:
            graph.add_edge(fact["subject"], fact["object"], fact["id"], fact=fact)
    chains: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for path in nx.all_simple_edge_paths(graph, case["subject"], case["object"], cutoff=STEPS):
        links = [graph.edges[edge]["fact"] for edge in path]
        sequence = tuple(edge[1] for edge in path)
        known = chains.get(sequence, links)
        chains[sequence] = [
            min(pair, key=lambda fact: (-fact["pre"], fact["id"]))
            for pair in zip(known, links, strict=True)
        ]
    numerator = denominator = 0.0
    for links in chains.values():
        before = math.prod(fact["pre"] for fact in links)
        if before:
            weight = 1 / math.sqrt(len(links))
            numerator += weight * math.prod(fact["post"] for fact in links) / before
            denominator += weight
    return numerator / denominator if denominator else 0.0


def _agree(who: str, ours: Mapping[str, float], theirs: Mapping[str, float]) -> None:
    apart = [
        (key, value, theirs.get(key))
        for key, value in ours.items()
        if not math.isclose(value, theirs.get(key, math.nan), rel_tol=CLOSE, abs_tol=CLOSE)
    ]
    bench.agree(not apart and len(ours) == len(theirs), f"IFR by {who}: {apart[:3]}")


if __name__ == "__main__":
    raise SystemExit(main())
