"""Leak cuts, exact and greedy: KnowGIC's 26 rewrites, and rewrites of a big synthetic graph.

The paths come from Cypher, as a cut of an unedited rewrite reads them; the time of the solver is
that after they were read. Greedy takes the fact on most paths again and again, without any library.
Both cuts must leave no path; the exact one must cost no more than greedy and, on KnowGIC, 111 facts
in all. Paths have two facts or more: KnowGIC words 15 of the edited facts otherwise than the edit.
On the big graph, rewrites are pairs of a subject and an object with such paths.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import synthetic

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders import formats
from thinkeval.loaders.records import RewriteRequest
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.write import write_graph
from thinkeval.service.leakcut import leaks
from thinkeval.service.leakcut.hitting_set import Chain, Problem, cut

TOTAL = 111
"""Further facts of all 26 rewrites, counted by an independent program."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """Both cuts of one rewrite, with seconds.

    Attributes:
        reading: of the paths.
    """

    paths: int
    reading: float
    exact: float
    greedy: float
    size: int
    greedy_size: int
    proved: bool


def main() -> int:
    """Measure, compare, print; 0 if the targets are met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--facts", type=int, default=100_000, help="of the synthetic graph")
    parser.add_argument("--pairs", type=int, default=21, help="of the synthetic graph")
    parser.add_argument("--repeats", type=int, default=3, help="of each cut; the median counts")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    cut(Problem((Chain(frozenset("a")),)))  # SciPy is imported by the first cut
    with bench.server() as server:
        lines = knowgic(server.db, options.repeats)
        more, note = big(server.db, options.facts, options.pairs, options.repeats, options.seed)
    return bench.show("leak_cut", [*lines, *more], [note], as_json=options.json)


def knowgic(db: Database, repeats: int) -> list[bench.Line]:
    """All 26 rewrites, any fact but the edited one."""
    loaded = formats.load(bench.data_dir() / "knowgic" / "chains.json").graph
    with bench.scratch_graph(db, "knowgic") as graph:
        header = rows.GraphHeader(graph, "dataset", graph)
        write_graph(db, header, loaded.entities, [datasets.fact_row(f) for f in loaded.facts])
        found = [measured(db, graph, rewrite, repeats) for rewrite in loaded.rewrites]
    size, greedy = sum(each.size for each in found), sum(each.greedy_size for each in found)
    bench.agree(size == TOTAL, f"{size} facts, {TOTAL} by an independent program")
    bench.agree(all(each.proved for each in found), "a cut was not proved optimal")
    n = f"KnowGIC's {len(found)} rewrites, {sum(each.paths for each in found):,} paths"
    return [
        bench.Line(
            f"{n}: {size} facts (greedy {greedy})", "s",
            sum(each.exact for each in found), sum(each.greedy for each in found), "greedy",
            goal=bench.Goal("value", "<=", 2),
        ),
        bench.Line(f"{n}: paths read", "s", sum(each.reading for each in found)),
    ]  # fmt: skip


def big(
    db: Database, n_facts: int, n_pairs: int, repeats: int, seed: int
) -> tuple[list[bench.Line], str]:
    """Pairs (subject, object) of facts of the synthetic graph, as rewrites are of facts."""
    facts = synthetic.hub_facts(n_facts, seed)
    found: list[Cuts] = []
    with bench.scratch_graph(db, "hubs") as graph:
        bench.say(f"writing {n_facts:,} facts")
        header = rows.GraphHeader(graph, "dataset", graph)
        given = [datasets.fact_row(fact) for fact in facts]
        write_graph(db, header, synthetic.entities_of(facts), given)
        drawn = random.Random(seed).sample(facts, 10 * n_pairs)
        for fact in drawn:
            ends = (fact.subject, fact.relation, fact.object)
            rewrite = RewriteRequest("r", graph, fact.prompt, *ends, "new")
            cuts = measured(db, graph, rewrite, repeats)
            if cuts.paths:
                found.append(cuts)
                bench.say(f"pair {len(found)} of {n_pairs}: {cuts}")
            if len(found) == n_pairs:
                break
    return _summary(found, n_facts)


def _summary(found: Sequence[Cuts], n_facts: int) -> tuple[list[bench.Line], str]:
    exact, greedy = ([1e3 * getattr(c, name) for c in found] for name in ("exact", "greedy"))
    what = f"{n_facts:,} facts, {len(found)} rewrites with paths"
    lines = [
        bench.Line(
            f"{what}: median", "ms", statistics.median(exact), statistics.median(greedy), "greedy",
            goal=bench.Goal("value", "<=", 100),
        ),
        bench.Line(f"{what}: slowest", "ms", max(exact), max(greedy), "greedy"),
        bench.Line(
            f"{what}: paths read, median", "ms", statistics.median(1e3 * c.reading for c in found)
        ),
    ]  # fmt: skip
    size, other = sum(c.size for c in found), sum(c.greedy_size for c in found)
    unproved = sum(not c.proved for c in found)
    note = (
        f"Big graph: {size:,} facts in all, greedy {other:,}; {unproved} cuts not proved optimal"
        f" within their time. Paths: {', '.join(f'{n:,}' for n in sorted(c.paths for c in found))}."
    )
    return lines, note


def measured(db: Database, graph: str, rewrite: RewriteRequest, repeats: int) -> Cuts:
    """Both cuts of one rewrite; neither may leave a path."""
    began = time.perf_counter()
    paths = leaks.of_rewrite(db, graph, rewrite)
    reading = time.perf_counter() - began
    chains = tuple(chain for chain in paths.leaking(0.1) if len(chain.facts) > 1)
    problem = Problem(chains)
    best, simple = cut(problem), greedy_cut(problem)
    for chosen in (best.facts, simple):
        bench.agree(not problem.survivors(chosen), f"{rewrite.subject}: a path is left")
    bench.agree(best.bound <= len(simple) and len(best.facts) <= len(simple), "greedy is smaller")
    return Cuts(
        len(problem.chains),
        reading,
        bench.median_seconds(lambda: cut(problem), repeats, warm_up=0),
        bench.median_seconds(lambda: greedy_cut(problem), repeats, warm_up=0),
        len(best.facts),
        len(simple),
        best.complete,
    )


def greedy_cut(problem: Problem) -> list[str]:
    """The fact on most paths that are left, again and again; of equal ones the first by id."""
    left = [chain.facts for chain in problem.chains]
    chosen: list[str] = []
    while left:
        counts = Counter(fact for facts in left for fact in facts)
        best = min(counts, key=lambda fact: (-counts[fact], fact))
        chosen.append(best)
        left = [facts for facts in left if best not in facts]
    return chosen


if __name__ == "__main__":
    raise SystemExit(main())
