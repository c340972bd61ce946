"""Rules of a big graph: mined against a join in plain Python, and a rule with 2,000 groundings.

The graph has hubs and 200 relations, and a planted rule (born in, located in ⇒ citizen of) with
2,000 groundings whose conclusion is there and 200 whose conclusion is not. The join is what one
would write first: facts read one a row, a dict of neighbours, and for each conclusion the entities
that are next to both of its ends. Both read the same facts over Bolt, in a process of their own,
and must find the same rules with the same support.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import neo4j
from synthetic import entities_of, hub_facts

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import Fact
from thinkeval.loaders.rule_records import Atom, Rule, rule
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.write import write_graph
from thinkeval.service.rules import groundings as instances
from thinkeval.service.rules import mining, packed
from thinkeval.service.rules.store import StoredRule

FULL, PARTLY = 2000, 200
FACTS = """
MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.graph = $graph AND f.relation IS NOT NULL
RETURN s.name, f.relation, o.name
"""
Shape = tuple[str, bool, str | None, bool, str]
Found = dict[Shape, int]


def main() -> int:
    """Measure, compare, print; 0 if the targets are met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--least", type=int, default=3, help="smallest support")
    parser.add_argument("--graph", help="a graph that is stored already; it stays")
    options = parser.parse_args()
    with bench.server() as server:
        if options.graph:
            lines, notes = measured(server, options.graph, options)
        else:
            with bench.scratch_graph(server.db, "rules") as graph:
                write(server.db, graph, options.facts)
                lines, notes = measured(server, graph, options)
    return bench.show("rules_mining", lines, notes, as_json=options.json)


def write(db: Database, graph: str, n: int) -> None:
    """Store the graph."""
    facts = planted(hub_facts(n))
    bench.say(f"writing {len(facts)} facts")
    header = rows.GraphHeader(graph, "dataset", graph)
    write_graph(db, header, entities_of(facts), [datasets.fact_row(f) for f in facts])


def planted(facts: Sequence[Fact]) -> list[Fact]:
    """The facts with the rule's groundings among them."""
    rng = random.Random(1)
    names = [entity.name for entity in entities_of(facts)]
    added = list(facts)
    for i in range(FULL + PARTLY):
        x, y, z = rng.sample(names, 3)
        added += [Fact(x, "born in", y, "{} was born in"), Fact(y, "located in", z, "{} is in")]
        if i < FULL:
            added.append(Fact(x, "citizen of", z, "{} is a citizen of"))
    return list({fact.id: fact for fact in added}.values())


def measured(
    server: bench.Server, graph: str, options: argparse.Namespace
) -> tuple[list[bench.Line], list[str]]:
    """Mining by both forms, then the counts and the groundings."""
    least, repeats = options.least, options.repeats
    took, whole, found, counted, peak = bench.apart(ours, graph, least, repeats)
    bench.say(f"mined in {took:.2f} s; now the join")
    joined, theirs, facts, peak_of_join = bench.apart(in_python, graph, least)
    bench.agree(found == theirs, f"{len(found)} rules, {len(theirs)} by the join")
    citizen = rule(
        [Atom("x", "born in", "y"), Atom("y", "located in", "z")], Atom("x", "citizen of", "z")
    )
    shown, grounding = groundings(server, graph, citizen, repeats)
    lines = [
        bench.Line(
            f"{len(found)} rules of {facts} facts", "s", took, joined, "join in Python",
            bench.Goal("ratio", ">=", 1),
        ),
        bench.Line(f"the same, {counted} with their premises counted", "s", whole, None, "",
                   bench.Goal("value", "<=", 5) if facts < 200_000 else None),
        bench.Line("peak memory", "MB", peak, peak_of_join, "join in Python"),
        bench.Line(f"{shown} groundings of a rule", "ms", 1e3 * grounding, None, "",
                   bench.Goal("value", "<=", 200)),
    ]  # fmt: skip
    notes = [
        f"Medians of {repeats} after a warm-up; the join ran once. Both include reading the facts.",
        "The peak is of the process that mines, with what it imports.",
        *bench.server_memory(),
        "Instantiating includes its rows' way to Python.",
    ]
    return lines, notes


def ours(graph: str, least: int, repeats: int) -> tuple[float, float, Found, int, float]:
    """Seconds of mining alone and with counts, all rules, the number counted, and peak MB."""
    with bench.server() as server:

        def mined() -> Found:
            found, _ = packed.read(server.db, graph).suggested(least, 1_000_000_000)
            return {each[:5]: each.support for each in found}

        found = mined()
        took = bench.median_seconds(mined, repeats, warm_up=0)
        whole = bench.median_seconds(
            lambda: mining.mine(server.db, graph, min_support=least, store=False), repeats, 0
        )
    return took, whole, found, min(len(found), mining.LIMIT), bench.peak_megabytes()


def in_python(graph: str, least: int) -> tuple[float, Found, int, float]:
    """Seconds of the join, its rules, the number of facts, and peak MB."""
    with bench.server() as server:
        began = time.perf_counter()
        between: dict[str, dict[str, list[tuple[str, bool]]]] = defaultdict(dict)
        facts = []
        with server.driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
            for s, r, o in session.run(FACTS, graph=graph):
                if s != o:
                    facts.append((s, r, o))
                    between[s].setdefault(o, []).append((r, False))
                    between[o].setdefault(s, []).append((r, True))
        support: Counter[Shape] = Counter()
        for x, relation, z in facts:
            for r, inverse in between[x][z]:
                if inverse or r != relation:
                    support[r, inverse, None, False, relation] += 1
            few, many = sorted((between[x], between[z]), key=len)
            for y in few:
                if y in many:
                    for r1, inverse1 in between[x][y]:
                        for r2, inverse2 in between[y][z]:
                            support[r1, inverse1, r2, inverse2, relation] += 1
        found = {shape: n for shape, n in support.items() if n >= least}
        took = time.perf_counter() - began
    return took, found, len(facts), bench.peak_megabytes()


def groundings(server: bench.Server, graph: str, wanted: Rule, repeats: int) -> tuple[int, float]:
    """How many groundings the rule has, and the median seconds to list them."""
    stored = [StoredRule(wanted.id, graph, wanted, "kept")]
    found = instances.instantiate(server.db, graph, stored)
    known = sum(g.conclusion is not None for g in found.groundings)
    bench.agree(known >= FULL, f"{known} of {FULL} planted groundings")
    took = bench.median_seconds(
        lambda: instances.instantiate(server.db, graph, stored), 4 * repeats, warm_up=5
    )
    return len(found.groundings), took


if __name__ == "__main__":
    raise SystemExit(main())
