"""Rules of a big graph: mined against the plain Cypher form, and a rule with 2,000 groundings.

The graph has hubs and 200 relations, and a planted rule (born in, located in ⇒ citizen of) with
2,000 groundings whose conclusion is there and 200 whose conclusion is not. The plain form is what
one would write first: two premises and the conclusion in one pattern, once for each of the four
shapes. Both must find the same rules with the same support.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import neo4j
from synthetic import entities_of, hub_facts

from thinkeval.cypher import rows
from thinkeval.loaders.records import Fact
from thinkeval.loaders.rule_records import Atom, Rule, rule
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.write import write_graph
from thinkeval.service.rules import groundings as instances
from thinkeval.service.rules import mining
from thinkeval.service.rules.store import StoredRule

FULL, PARTLY = 2000, 200
PLAIN = """
MATCH (x:Entity){first}(y:Entity){second}(z:Entity), (x)-[c:FACT]->(z)
WHERE x.key STARTS WITH $graph + '|' AND x <> y AND y <> z AND x <> z
WITH a.relation AS r1, b.relation AS r2, c.relation AS r3, count(*) AS support
WHERE support >= $least
RETURN r1, {inverse1} AS i1, r2, {inverse2} AS i2, r3, support
"""
Found = dict[tuple[str, bool, str, bool, str], int]


def main() -> int:
    """Measure, compare, print; 0 if the targets are met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--least", type=int, default=3, help="smallest support")
    parser.add_argument("--limit", type=float, default=300, help="seconds for the plain form")
    options = parser.parse_args()
    facts = planted(hub_facts(options.facts))
    with bench.server() as server, bench.scratch_graph(server.db, "rules") as graph:
        bench.say(f"writing {len(facts)} facts")
        header = rows.GraphHeader(graph, "dataset", graph)
        write_graph(server.db, header, entities_of(facts), [datasets.fact_row(f) for f in facts])
        lines = measured(server, graph, len(facts), options)
    notes = [
        f"Medians of {options.repeats} after a warm-up; the plain form ran once after its parts"
        " were planned.",
        "Instantiating includes its rows' way to Python.",
    ]
    return bench.show("rules_mining", lines, notes, as_json=options.json)


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


def measured(server: bench.Server, graph: str, n: int, options: object) -> list[bench.Line]:
    """Mining by both forms, then the counts and the groundings."""
    least, repeats = options.least, options.repeats  # type: ignore[attr-defined]

    def ours() -> list[rows.MineRow]:
        return server.db.read(rows.MineRow, "rules/mine", graph=graph, min_support=least)

    took = bench.median_seconds(ours, repeats)
    bench.say(f"mined in {took:.2f} s; now the plain form, which takes its time")
    found: Found = {
        (r.relation1, r.inverse1, r.relation2, r.inverse2, r.relation3): r.support for r in ours()
    }
    theirs, plain, stopped = plain_form(server.driver, graph, least, options.limit)  # type: ignore[attr-defined]
    if not stopped:
        bench.agree(found == theirs, f"{len(found)} rules, {len(theirs)} by the plain form")
    whole = bench.median_seconds(
        lambda: mining.mine(server.db, graph, min_support=least, store=False), repeats
    )
    citizen = rule(
        [Atom("x", "born in", "y"), Atom("y", "located in", "z")], Atom("x", "citizen of", "z")
    )
    shown, grounding = groundings(server, graph, citizen, repeats)
    return [
        bench.Line(
            f"{len(found)} rules of {n} facts", "s", took, plain, "one pattern a shape",
            bench.Goal("ratio", ">=", 3), stopped,
        ),
        bench.Line("the same, with their premises counted", "s", whole, None, "",
                   bench.Goal("value", "<=", 5)),
        bench.Line(f"{shown} groundings of a rule", "ms", 1e3 * grounding, None, "",
                   bench.Goal("value", "<=", 200)),
    ]  # fmt: skip


def plain_form(
    driver: neo4j.Driver, graph: str, least: int, limit: float
) -> tuple[Found, float, bool]:
    """What the plain form finds, its seconds, and whether it was stopped."""
    found: Found = {}
    total = 0.0
    for first, i1 in (("-[a:FACT]->", "false"), ("<-[a:FACT]-", "true")):
        for second, i2 in (("-[b:FACT]->", "false"), ("<-[b:FACT]-", "true")):
            text = PLAIN.format(first=first, second=second, inverse1=i1, inverse2=i2)
            query = neo4j.Query(text, timeout=max(limit - total, 1.0))  # type: ignore[arg-type]

            def run(query: neo4j.Query = query) -> None:
                with driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
                    explain = neo4j.Query(f"EXPLAIN {query.text}")  # type: ignore[arg-type]
                    session.run(explain, graph=graph, least=least).consume()
                    for *key, support in session.run(query, graph=graph, least=least):
                        found[tuple(key)] = support  # type: ignore[index]

            try:
                total += bench.seconds(run)
            except neo4j.exceptions.ClientError as error:
                if "TimedOut" not in str(error.code):
                    raise
                return found, limit, True
    return found, total, False


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
