"""IFR of pairs of a synthetic graph: paths joined in the middle, against SHORTEST k GROUPS.

The second is the form that the chain queries had before: the same query with only the search of
paths replaced. Pairs are the ends of facts, as rewrites are of facts. Both run in turns, so that a
busy machine slows both; of a pair's runs the quickest counts. Values and numbers of chains must be
equal on every pair.

Facts are created by one statement a batch, without the look-up of stored ones that an import makes,
and hold what the query reads: 1,000,000 are loaded in some minutes.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, LiteralString, cast

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import neo4j
import synthetic

from thinkeval.cypher import rows
from thinkeval.cypher.catalog import query
from thinkeval.loaders.records import Fact
from thinkeval.service.graphs.write import write_graph

BATCH = 20_000
CREATE = """UNWIND $rows AS row
MATCH (s:Entity {key: $graph + '|' + row.s})
MATCH (o:Entity {key: $graph + '|' + row.o})
CREATE (s)-[f:FACT {id: $graph + '|' + row.id, graph: $graph, relation: row.relation, cases: [],
  role: 'fact', listed: true, likelihood_pre: row.pre, likelihood_post: row.post}]->(o)"""
JOINED, SHORTEST = "joined in the middle", "SHORTEST k GROUPS"
GROUPS = """WITH c, s, o
  WHERE {steps}
  MATCH SHORTEST {k} GROUPS (s) ((a)-[r:FACT]->(b) WHERE a <> o AND b <> s
    AND (c.rewrite IS NULL OR c.rewrite IN r.cases OR coalesce(r.cases, []) = [])){{1,{k}}} (o)
  RETURN r, b"""
AFTER = """
WITH r, b
WHERE size(r) <= $max_steps
  AND all(i IN range(0, size(b) - 2) WHERE NOT b[i] IN b[i + 1..])
  AND none(f IN r WHERE coalesce(f.role, 'fact') IN ['target_new', 'implication'])
"""
ENTITIES = """UNWIND $names AS name
CREATE (:Entity {key: $graph + '|' + name, graph: $graph, name: name, aliases: []})"""
OPTIONS = {
    "max_steps": 5, "bare": "listed", "parallel": "before",
    "pre": "likelihood_pre", "post": "likelihood_post",
}  # fmt: skip
CLOSE = 1e-9


def main() -> int:
    """Measure, compare, print; 0 if the target is met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--facts", type=int, default=100_000, help="of the synthetic graph")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    facts = synthetic.hub_facts(options.facts, options.seed)
    with bench.server() as server, bench.scratch_graph(server.db, "joined") as graph:
        bench.say(f"writing {options.facts:,} facts")
        loading = bench.seconds(lambda: store(server, graph, facts))
        *warm, first = random.Random(options.seed).sample(facts, options.pairs + 1)
        texts = {JOINED: query("metrics/ifr").text, SHORTEST: with_groups()}
        planned = {name: run(server.driver, text, graph, first)[0] for name, text in texts.items()}
        found, n_chains = measured(server.driver, texts, graph, warm, options.repeats)
        notes = [
            f"Quickest of {options.repeats} runs a pair, in turns; equal values on every pair.",
            f"Loading took {loading:,.0f} s.",
            "The first call of each, which plans it: "
            + ", ".join(f"{name} {1e3 * took:,.0f} ms" for name, took in planned.items()) + ".",
        ]  # fmt: skip
        # Before the graph is deleted, which takes as long as the loading.
        table = lines(found, options.facts, n_chains)
        return bench.show("chains_joined", table, notes, as_json=options.json)


def store(server: bench.Server, graph: str, facts: Sequence[Fact]) -> None:
    """The facts with random likelihoods."""
    header = rows.GraphHeader(graph, "edit", graph, measures=("likelihood",))
    write_graph(server.db, header, [], [])
    names = [entity.name for entity in synthetic.entities_of(facts)]
    for start in range(0, len(names), BATCH):
        server.driver.execute_query(ENTITIES, graph=graph, names=names[start : start + BATCH])
    rng = random.Random(0)
    for start in range(0, len(facts), BATCH):
        rows_ = [
            {"id": fact.id, "s": fact.subject, "o": fact.object, "relation": fact.relation,
             "pre": 0.1 + 0.9 * rng.random(), "post": rng.random()}
            for fact in facts[start : start + BATCH]
        ]  # fmt: skip
        server.driver.execute_query(CREATE, graph=graph, rows=rows_)
        if start // BATCH % 5 == 4:
            bench.say(f"{start + BATCH:,} facts")


def with_groups() -> str:
    """metrics/ifr with the search of paths by SHORTEST k GROUPS."""
    text = query("metrics/ifr").text
    start, end = text.index("// All paths of 1..$max_steps"), text.index("// The bare edited fact")
    branches = [
        GROUPS.format(k=k, steps="$max_steps <= 2" if k == 2 else f"$max_steps = {k}")
        for k in (5, 4, 3, 2)
    ]
    search = "CALL (c, s, o) {\n  " + "\n  UNION ALL\n  ".join(branches) + "\n}"
    return text[:start] + search + AFTER + text[end:]


def run(driver: neo4j.Driver, text: str, graph: str, fact: Fact) -> tuple[float, dict[str, Any]]:
    """Seconds and the row of one pair."""
    case = {"id": "-", "graph": graph, "subject": fact.subject, "object": fact.object}
    began = time.perf_counter()
    records, _, _ = driver.execute_query(
        cast(LiteralString, text),
        cases=[case | {"rewrite": None, "relation": None}],
        routing_=neo4j.RoutingControl.READ,
        **OPTIONS,
    )
    return time.perf_counter() - began, records[0].data()


def measured(
    driver: neo4j.Driver, texts: dict[str, str], graph: str, pairs: Sequence[Fact], repeats: int
) -> tuple[dict[str, list[float]], int]:
    """Milliseconds of each pair by each form, and the number of chains of all pairs."""
    found: dict[str, list[float]] = {name: [] for name in texts}
    n_chains = 0
    for number, fact in enumerate(pairs, 1):
        times: dict[str, list[float]] = {name: [] for name in texts}
        rows: dict[str, dict[str, Any]] = {}
        for _ in range(repeats):
            for name, text in texts.items():
                took, rows[name] = run(driver, text, graph, fact)
                times[name].append(1e3 * took)
        ours, theirs = rows[JOINED], rows[SHORTEST]
        same = ours["n"] == theirs["n"] and ours["excluded"] == theirs["excluded"]
        same = same and math.isclose(ours["value"], theirs["value"], rel_tol=CLOSE, abs_tol=CLOSE)
        bench.agree(same, f"{fact.subject} to {fact.object}: {rows}")
        n_chains += ours["n"]
        for name in texts:
            found[name].append(min(times[name]))
        bench.say(f"pair {number}: {ours['n']:,} chains, "
                  + ", ".join(f"{name} {found[name][-1]:,.0f} ms" for name in texts))  # fmt: skip
    return found, n_chains


def lines(found: dict[str, list[float]], n_facts: int, n_chains: int) -> list[bench.Line]:
    """Median and 95th percentile over the pairs."""
    n_pairs = len(found[JOINED])
    what = f"{n_facts:,} facts, IFR of {n_pairs} pairs, {n_chains:,} chains"
    goal = bench.Goal("ratio", ">=", 3 if n_facts >= 1_000_000 else 1)

    def p95(values: list[float]) -> float:
        return sorted(values)[math.ceil(0.95 * len(values)) - 1]

    ours, theirs = found[JOINED], found[SHORTEST]
    median = statistics.median(ours), statistics.median(theirs)
    return [
        bench.Line(f"{what}, median", "ms", median[0], median[1], SHORTEST),
        bench.Line(f"{what}, p95", "ms", p95(ours), p95(theirs), SHORTEST, goal),
    ]


if __name__ == "__main__":
    raise SystemExit(main())
