"""Chains of up to five facts: one Cypher query a pair against networkx.

KnowGIC's 26 rewrites, then a big synthetic graph with pairs drawn from its facts. Both sides give
the chains themselves, one an entity sequence; the sets must be equal, and KnowGIC's counts the
published 24/108/227/428/619. networkx has its graph in memory already; building it is not counted.
On the big graph a third search checks both: one written for this, cut by the distance to the end;
and rustworkx, which searches in compiled code: `pip install rustworkx`.
"""

from __future__ import annotations

import importlib
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import networkx as nx
import synthetic

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders import formats
from thinkeval.loaders.records import Fact
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.write import write_graph

Chains = set[tuple[str, ...]]

STEPS = 5
PUBLISHED = {1: 24, 2: 108, 3: 227, 4: 428, 5: 619}


@dataclass(frozen=True, slots=True)
class Pair:
    """Seconds that each took for one pair of the big graph."""

    n_chains: int
    cypher: float
    networkx: float
    stopped: bool
    pruned: float
    rustworkx: float


def main() -> int:
    """Measure, compare, print; 0 if the targets are met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--facts", type=int, default=100_000, help="of the synthetic graph")
    parser.add_argument("--pairs", type=int, default=12, help="of the synthetic graph")
    parser.add_argument(
        "--limit", type=float, default=30.0, help="seconds a pair for each in Python"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the pairs")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="only the synthetic graph, which stays in the database for the next run",
    )
    options = parser.parse_args()
    facts = synthetic.hub_facts(options.facts)
    name = f"bench-{options.facts}"
    with bench.server() as server, ExitStack() as stack:
        lines = [] if options.keep else knowgic(server.db)
        if not options.keep:
            name = stack.enter_context(bench.scratch_graph(server.db, "hubs"))
        bench.say(f"writing {len(facts):,} facts")
        datasets.store(server.db, synthetic.loaded(name, facts))
        more, note = big(server.db, name, facts, options.pairs, options.limit, options.seed)
        return bench.show("chains_vs_networkx", [*lines, *more], [note], as_json=options.json)


def knowgic(db: Database) -> list[bench.Line]:
    """All chains of all 26 rewrites."""
    loaded = formats.load(bench.data_dir() / "knowgic" / "chains.json").graph
    with bench.scratch_graph(db, "knowgic") as graph:
        header = rows.GraphHeader(graph, "dataset", graph)
        write_graph(db, header, loaded.entities, [datasets.fact_row(f) for f in loaded.facts])
        cases = [datasets.case(graph, r) for r in loaded.rewrites]
        graphs = [
            networkx_graph(f for f in loaded.facts if not f.cases or r.id in f.cases)
            for r in loaded.rewrites
        ]
        searches = list(zip(graphs, loaded.rewrites, strict=True))

        def ours() -> list[Chains]:
            return [cypher_chains(db, **{k: v for k, v in c.items() if k != "id"}) for c in cases]

        def theirs() -> list[Chains]:
            return [networkx_chains(g, r.subject, r.target_true) for g, r in searches]

        found = ours()
        bench.agree(found == theirs(), "KnowGIC's chains by Cypher and by networkx")
        by_steps = Counter(len(chain) - 1 for chains in found for chain in chains)
        bench.agree(by_steps == PUBLISHED, f"KnowGIC's chains by steps: {dict(by_steps)}")
        counted = db.metric("chains_by_steps", cases=cases)
        in_all = sum(row.n for row in counted if row.step is None)
        bench.agree(in_all == by_steps.total(), f"chains_by_steps counts {in_all}")
        instead = 1e3 * bench.median_seconds(theirs, 9)
        enumerated = 1e3 * bench.median_seconds(ours, 9, warm_up=3)
        one_query = 1e3 * bench.median_seconds(
            lambda: db.metric("chains_by_steps", cases=cases), 9, warm_up=3
        )
    n = f"{in_all:,} chains of KnowGIC's {len(cases)} rewrites"
    return [
        bench.Line(f"{n}, {len(cases)} queries", "ms", enumerated, instead, "networkx, in memory"),
        bench.Line(f"{n}, counted in one query", "ms", one_query, instead, "networkx, in memory"),
    ]


def big(
    db: Database, graph: str, facts: Sequence[Fact], n_pairs: int, limit: float, seed: int
) -> tuple[list[bench.Line], str]:
    """Pairs (subject, object) of facts of the synthetic graph, as rewrites are of facts."""
    in_memory, search = networkx_graph(facts), PrunedSearch(facts)
    compiled = RustGraph(facts)
    warm, *drawn = random.Random(seed).sample(facts, n_pairs + 1)
    cypher_chains(db, graph=graph, subject=warm.subject, object=warm.object)
    pairs = []
    for i, fact in enumerate(drawn, 1):
        pairs.append(measured(db, graph, in_memory, compiled, search, fact, limit))
        bench.say(f"pair {i} of {n_pairs}: {pairs[-1]}")
    return _summary(pairs, len(facts), limit)


def measured(
    db: Database,
    graph: str,
    in_memory: nx.MultiDiGraph,
    compiled: RustGraph,
    search: PrunedSearch,
    fact: Fact,
    limit: float,
) -> Pair:
    """One pair by all three, with the same chains."""
    subject, object_ = fact.subject, fact.object
    times, found = [], set()
    for _ in range(3):
        began = time.perf_counter()
        found = cypher_chains(db, graph=graph, subject=subject, object=object_)
        times.append(time.perf_counter() - began)
    theirs, took = limited(lambda: networkx_chains(in_memory, subject, object_), limit)
    checked, pruned = limited(lambda: set(search.chains(subject, object_)), limit)
    began = time.perf_counter()
    others = compiled.chains(subject, object_)
    rust = time.perf_counter() - began
    where = f"chains from {subject!r} to {object_!r}"
    for name, each in (("search", checked), ("networkx", theirs), ("rustworkx", others)):
        if each is not None:
            bench.agree(found == each, f"{where}: {len(found)} by Cypher, {len(each)} by {name}")
    return Pair(len(found), statistics.median(times), took, theirs is None, pruned, rust)


def limited(search: Callable[[], Chains], limit: float) -> tuple[Chains | None, float]:
    """The chains that a search in Python finds, None if it was stopped; and its seconds."""
    began = time.perf_counter()
    found = None
    with suppress(bench.OutOfTimeError), bench.time_limit(limit):
        found = search()
    return found, time.perf_counter() - began


def _summary(pairs: list[Pair], n_facts: int, limit: float) -> tuple[list[bench.Line], str]:
    names = ("cypher", "networkx", "pruned", "rustworkx")
    ours, instead, pruned, rust = ([1e3 * getattr(p, name) for p in pairs] for name in names)
    stopped = sum(p.stopped for p in pairs)
    # A median is itself only a bound where a stopped pair is among the middle ones or below.
    half = statistics.median_high(instead) >= 1e3 * limit
    what = f"{n_facts:,} facts, {sum(p.n_chains for p in pairs):,} chains of {len(pairs)} pairs"
    lines = [
        bench.Line(
            f"{what}, median pair",
            "ms",
            statistics.median(ours),
            statistics.median(instead),
            "networkx, in memory",
            goal=bench.Goal("ratio", ">=", 20),
            bound=half,
        ),
        bench.Line(
            f"{what}, all pairs",
            "ms",
            sum(ours),
            sum(instead),
            "networkx, in memory",
            bound=stopped > 0,
        ),
        bench.Line(
            f"{what}, median pair",
            "ms",
            statistics.median(ours),
            statistics.median(pruned),
            "search of our own in Python, in memory",
        ),
        *(
            bench.Line(f"{what}, {name}", "ms", of(ours), of(rust), "rustworkx, in memory")
            for name, of in (("median pair", statistics.median), ("slowest pair", max))
        ),
    ]
    note = (
        f"networkx was stopped at {limit:g} s on {stopped} of {len(pairs)} pairs, which count with"
        " that time, so their part of a ratio is a lower bound. Chains a pair: "
        + ", ".join(f"{p.n_chains:,}" for p in sorted(pairs, key=lambda p: p.n_chains))
        + "."
    )
    return lines, note


def cypher_chains(db: Database, **case: object) -> Chains:
    """The entity sequences that chains/enumerate gives."""
    found = db.read(rows.ChainRow, "chains/enumerate", **case, max_steps=STEPS, limit=1_000_000)
    chains = {row.entities for row in found}
    bench.agree(len(chains) == len(found), "chains/enumerate gives an entity sequence twice")
    return chains


def networkx_graph(facts: Iterable[Fact]) -> nx.MultiDiGraph:
    """The facts as a user of networkx would hold them."""
    graph = nx.MultiDiGraph()
    for fact in facts:
        graph.add_edge(fact.subject, fact.object, fact.id)
    return graph


def networkx_chains(graph: nx.MultiDiGraph, subject: str, object_: str) -> Chains:
    """Simple paths pass neither end on the way by themselves; parallel facts are one chain."""
    paths = nx.all_simple_edge_paths(graph, subject, object_, cutoff=STEPS)
    return {(subject, *(edge[1] for edge in path)) for path in paths}


class RustGraph:
    """The facts as a user of rustworkx would hold them."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.rustworkx: Any = importlib.import_module("rustworkx")
        self.graph = self.rustworkx.PyDiGraph(multigraph=False)
        self.names: list[str] = []
        self.numbers: dict[str, int] = {}
        edges = []
        for fact in facts:
            for name in (fact.subject, fact.object):
                if name not in self.numbers:
                    self.numbers[name] = len(self.names)
                    self.names.append(name)
            edges.append((self.numbers[fact.subject], self.numbers[fact.object]))
        self.graph.add_nodes_from(self.names)
        self.graph.add_edges_from_no_data(edges)

    def chains(self, subject: str, object_: str) -> Chains:
        """Entity sequences of at most STEPS facts."""
        ends = self.numbers[subject], self.numbers[object_]
        # Its cutoff counts nodes.
        paths = self.rustworkx.all_simple_paths(self.graph, *ends, cutoff=STEPS + 1)
        return {tuple(self.names[number] for number in path) for path in paths}


class PrunedSearch:
    """Depth-first search that only goes where the end is still within reach."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.after: dict[str, list[str]] = {}
        self.before: dict[str, list[str]] = {}
        for fact in facts:
            self.after.setdefault(fact.subject, []).append(fact.object)
            self.before.setdefault(fact.object, []).append(fact.subject)

    def chains(self, subject: str, object_: str) -> Iterator[tuple[str, ...]]:
        """Entity sequences of at most STEPS facts."""
        left = self._distances(object_)

        def walk(path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
            for entity in self.after.get(path[-1], ()):
                if entity == object_:
                    yield (*path, entity)
                elif entity not in path and len(path) + left.get(entity, STEPS) <= STEPS:
                    yield from walk((*path, entity))

        return walk((subject,))

    def _distances(self, object_: str) -> dict[str, int]:
        found, edge = {object_: 0}, [object_]
        for steps in range(1, STEPS):
            edge = [
                s for o in edge for s in dict.fromkeys(self.before.get(o, ())) if s not in found
            ]
            found |= dict.fromkeys(edge, steps)
            edge = list(dict.fromkeys(edge))
        return found


if __name__ == "__main__":
    raise SystemExit(main())
