"""The forward closure of a graph: in Neo4j, stored with its proofs, against plain Python.

Two graphs: KnowGIC with the rules mined from it (support 3 or more,
confidence .5 or more), and a big one with hubs and a
planted rule. Two yardsticks, both in memory and without proofs or strengths: a fixpoint that tries
all pairs of facts, as a definition would have it, and one that joins facts over the shared entity,
as one would write it by hand; the second pulls the facts from the database first. Ours finds every
grounding, weighs the proofs and writes all of it into the graph. All must conclude the same.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
from rules_mining import write
from synthetic import entities_of

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders import formats
from thinkeval.loaders.groundings import groundings
from thinkeval.loaders.rule_records import Atom, Rule, rule
from thinkeval.service.base.formatting import pluralize
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.write import write_graph
from thinkeval.service.rules import closure, mining
from thinkeval.service.rules.store import StoredRule

Triple = tuple[str, str, str]
SUPPORT, CONFIDENCE = 3, 0.5
"""Of mined rules: the others say little, and together conclude nearly everything of everything."""
CITIZEN = rule(
    [Atom("x", "born in", "y"), Atom("y", "located in", "z")], Atom("x", "citizen of", "z")
)


def main() -> int:
    """Measure, compare, print; 0 if the targets are met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument(
        "--rules", type=int, default=1, help="of the big graph: the planted one, then mined ones"
    )
    parser.add_argument("--graph", help="a graph that is stored already, for the big one; it stays")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120, help="seconds for all pairs")
    options = parser.parse_args()
    with bench.server() as server:
        lines = knowgic(server.db, options) if not options.graph else []
        lines += big(server.db, options)
    notes = [
        f"Peak memory of this process, yardsticks too: {bench.peak_megabytes():,.0f} MB.",
        *bench.server_memory(),
        f"Ours: median of {options.repeats} after a warm-up, each from a graph without a closure;"
        " it includes every grounding, the weights of all proofs, and writing them.",
        "The Python forms ran once, with conclusions only; the join includes pulling the facts.",
    ]
    return bench.show("closure", lines, notes, as_json=options.json)


def knowgic(db: Database, options: object) -> list[bench.Line]:
    """The published graph under its own rules."""
    loaded = formats.load(bench.data_dir() / "knowgic" / "chains.json").graph
    with bench.scratch_graph(db, "closure") as graph:
        header = rows.GraphHeader(graph, "dataset", graph)
        entities = entities_of(loaded.facts)
        write_graph(db, header, entities, [datasets.fact_row(f) for f in loaded.facts])
        found = _mined(db, graph)
        return compared(db, graph, "KnowGIC", found, options)


def big(db: Database, options: object) -> list[bench.Line]:
    """The synthetic graph, under the planted rule and as many mined ones as are asked for."""
    if options.graph:  # type: ignore[attr-defined]
        return _chosen(db, options.graph, options)  # type: ignore[attr-defined]
    with bench.scratch_graph(db, "closure") as graph:
        write(db, graph, options.facts)  # type: ignore[attr-defined]
        return _chosen(db, graph, options)


def _chosen(db: Database, graph: str, options: object) -> list[bench.Line]:
    wanted = options.rules  # type: ignore[attr-defined]
    mined = _mined(db, graph) if wanted > 1 else ()
    used = list({one.id: one for one in (CITIZEN, *mined)}.values())[:wanted]
    return compared(db, graph, "hubs", used, options)


def _mined(db: Database, graph: str) -> tuple[Rule, ...]:
    """Those with two premises, which the yardsticks join."""
    found = mining.mine(
        db, graph, min_support=SUPPORT, min_confidence=CONFIDENCE, typed=False, store=False
    ).rules
    return tuple(rule for rule in found if rule.second is not None)


def compared(
    db: Database, graph: str, name: str, rules: Sequence[Rule], options: object
) -> list[bench.Line]:
    """Ours and both yardsticks on one graph."""
    stored = [StoredRule(each.id, graph, each, "kept") for each in rules]
    times: list[float] = []
    closed: list[closure.Closure] = []
    for _ in range(options.repeats + 1):  # type: ignore[attr-defined]
        db.write(rows.ClearClosureRow, "closure/clear", graph=graph)
        times.append(bench.seconds(lambda: closed.append(closure.closure(db, graph, stored))))
    took = sorted(times[1:])[(len(times) - 1) // 2]
    found = closed[-1].conclusions
    bench.say(f"{name}: {len(found)} conclusions in {took:.2f} s; now in Python")
    facts = _pulled(db, graph)
    new = {closure.triple_of(atom) for atom in found} - facts

    joined: list[set[Triple]] = []
    by_join = bench.seconds(lambda: joined.append(_fixpoint(_pulled(db, graph), rules, by_entity)))
    bench.say(f"{name}: joined in {by_join:.2f} s")
    bench.agree(joined[0] - facts == new, f"{name}: {len(joined[0] - facts)} and {len(new)} new")
    limit, stopped = options.limit, False  # type: ignore[attr-defined]
    tried: list[set[Triple]] = []
    try:
        with bench.time_limit(limit):
            by_pairs = bench.seconds(lambda: tried.append(_fixpoint(facts, rules, all_pairs)))
        bench.agree(tried[0] - facts == new, f"{name}: {len(tried[0] - facts)} and {len(new)} new")
    except bench.OutOfTimeError:
        by_pairs, stopped = limit, True
    what = (
        f"{name}: {len(found):,} conclusions, {len(closed[-1].groundings):,} groundings of"
        f" {len(facts):,} facts by {pluralize(len(rules), 'rule')}"
    )
    return [
        bench.Line(what, "s", took, by_pairs, "all pairs, no proofs", None, stopped),
        bench.Line(f"{name}: the same", "s", took, by_join, "join in Python, no proofs"),
    ]


def _pulled(db: Database, graph: str) -> set[Triple]:
    """All facts, one a row."""
    found = db.stream(rows.FactRow, "graph/facts", graph=graph)
    return {(f.subject, f.relation, f.object) for f in found}


def _fixpoint(
    facts: set[Triple], rules: Sequence[Rule], step: Callable[[Rule, set[Triple]], set[Triple]]
) -> set[Triple]:
    known = set(facts)
    while True:
        new = set().union(*(step(each, known) for each in rules))
        if new <= known:
            return known
        known |= new


def by_entity(given: Rule, known: set[Triple]) -> set[Triple]:
    """What follows by one rule, its premises joined over the entity they share."""
    near = (triple for triple in known if triple[1] in given.relations[:2])
    return {found.conclusion for found in groundings(given, near)}


def all_pairs(given: Rule, known: set[Triple]) -> set[Triple]:
    """The same by trying every pair of facts of the two relations."""
    by_relation: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for subject, relation, object_ in known:
        by_relation[relation].append((subject, object_))
    first, second = (atom.relation for atom in given.pair)
    conclusion = given.conclusion.relation
    inverse1, inverse2 = given.inverse
    new = set()
    for one in by_relation[first]:
        y, x = one if inverse1 else one[::-1]
        for other in by_relation[second]:
            z, shared = other if inverse2 else other[::-1]
            if shared == y and x not in (y, z) and z != y:
                new.add((x, conclusion, z))
    return new


if __name__ == "__main__":
    raise SystemExit(main())
