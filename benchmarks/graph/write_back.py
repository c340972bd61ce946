"""Create a big graph and write probabilities into it: in batches, against one fact a transaction.

Both sides send the same values; one fact a transaction is what a loop over a plain driver session
does, measured on a sample and counted as a rate. What is stored is read back and compared. A second
part gives rows from a generator to Database.write_all and measures the client's memory, which must
not grow with the number of facts.
"""

from __future__ import annotations

import random
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import neo4j
import synthetic

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import Entity, Fact
from thinkeval.service.graphs import datasets
from thinkeval.service.graphs.write import write_graph

BATCH = 10_000
FLAT = 1.25  # how much more memory five times the facts may take

CREATE_ONE = """
MERGE (s:Entity {key: $graph + '|' + $row.subject})
  ON CREATE SET s.graph = $graph, s.name = $row.subject
MERGE (o:Entity {key: $graph + '|' + $row.object})
  ON CREATE SET o.graph = $graph, o.name = $row.object
CREATE (s)-[:FACT {id: $graph + '|' + $row.id, graph: $graph, relation: $row.relation,
  prompt: $row.prompt, question: $row.question, questions: $row.questions}]->(o)
"""
WRITE_ONE = "MATCH ()-[f:FACT {id: $row.id}]->() SET f.p_pre = $row.p_pre, f.p_post = $row.p_post"
READ_BACK = """
MATCH ()-[f:FACT]->()
WHERE f.id STARTS WITH $graph + '|'
RETURN f.id AS id, f.p_pre AS p_pre, f.p_post AS p_post
"""


def main() -> int:
    """Measure, compare, print; 0 if the targets are met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--sample", type=int, default=500, help="facts written one by one")
    parser.add_argument("--repeats", type=int, default=3, help="times the probabilities go in")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    facts = synthetic.hub_facts(options.facts, options.seed)
    entities = synthetic.entities_of(facts)
    with bench.server() as server, bench.scratch_graph(server.db, "write") as graph:
        lines = [
            created(server, graph, entities, facts, options.sample),
            written(server, graph, facts, options.sample, options.repeats, options.seed),
            created_memory(server.db, options.facts),
            written_memory(server.db, graph, facts),
        ]
    notes = [
        f"One fact a transaction was measured on {options.sample} facts.",
        f"Probabilities: two a fact, median of {options.repeats} after a warm-up, {BATCH:,} facts a"
        " transaction; all values are new (Neo4j skips equal ones, which looks twice as fast)."
        " Creating: once, with its entities, until readers see it.",
        "Memory: peak of what Python allocates (tracemalloc) while rows of a generator are sent;"
        " the ratio is that of five times fewer facts.",
    ]
    return bench.show("write_back", lines, notes, as_json=options.json)


def created(
    server: bench.Server,
    graph: str,
    entities: Sequence[Entity],
    facts: Sequence[Fact],
    sample: int,
) -> bench.Line:
    """Facts a second into a new graph."""
    given = [datasets.fact_row(fact) for fact in facts]
    one_by_one = _sample_rate(server, CREATE_ONE, given[:sample])
    bench.say(f"creating {len(facts):,} facts")
    header = rows.GraphHeader(graph, "dataset", graph)
    took = bench.seconds(lambda: write_graph(server.db, header, entities, given))
    stored = {id_ for id_, _, _ in _read_back(server.driver, graph)}
    bench.agree(stored == {f"{graph}|{fact.id}" for fact in facts}, "facts sent and stored")
    return bench.Line(
        f"create a graph of {len(facts):,} facts",
        "facts/s",
        len(facts) / took,
        one_by_one,
        "one fact a transaction",
        bench.Goal("value", ">=", 8_000),
    )


def written(
    server: bench.Server,
    graph: str,
    facts: Sequence[Fact],
    sample: int,
    repeats: int,
    seed: int,
) -> bench.Line:
    """Facts a second that get two probabilities."""
    rng = random.Random(seed)
    rounds = iter(
        [
            [
                {"id": f"{graph}|{fact.id}", "p_pre": rng.random(), "p_post": rng.random()}
                for fact in facts
            ]
            for _ in range(repeats + 1)
        ]
    )
    last: list[dict[str, Any]] = []

    def write() -> None:
        nonlocal last
        last = next(rounds)
        server.db.write_probabilities(last, batch=BATCH)

    bench.say(f"writing {len(facts):,} probabilities {repeats + 1} times")
    took = bench.median_seconds(write, repeats)
    stored = sorted(_read_back(server.driver, graph))
    sent = sorted((row["id"], row["p_pre"], row["p_post"]) for row in last)
    bench.agree(stored == sent, "probabilities sent and stored")
    one_by_one = _one_by_one(server.driver, WRITE_ONE, last[:sample])
    return bench.Line(
        f"write probabilities of {len(facts):,} facts",
        "facts/s",
        len(facts) / took,
        one_by_one,
        "one fact a transaction",
        bench.Goal("value", ">=", 50_000),
    )


def created_memory(db: Database, n_facts: int) -> bench.Line:
    """Peak of the client's memory for facts that come from a generator."""
    batch = _small_batch(n_facts)

    def peak(n: int) -> float:
        with bench.scratch_graph(db, "memory") as graph:
            db.write_all(
                rows.WrittenRow,
                "graph/merge_entities",
                [{"name": f"e{i}"} for i in range(100)],
                graph=graph,
            )
            given = _rows(n)
            return _peak_mb(
                lambda: db.write_all(
                    rows.WrittenRow, "graph/merge_facts", given, batch=batch, graph=graph
                )
            )

    return _memory_line("create", n_facts, peak)


def written_memory(db: Database, graph: str, facts: Sequence[Fact]) -> bench.Line:
    """Peak of the client's memory for probabilities that come from a generator."""
    batch = _small_batch(len(facts))

    def peak(n: int) -> float:
        given = (
            {"id": f"{graph}|{fact.id}", "p_pre": i / n, "p_post": 0.5}
            for i, fact in enumerate(islice(facts, n))
        )
        return _peak_mb(lambda: db.write_probabilities(given, batch=batch))

    return _memory_line("write probabilities of", len(facts), peak)


def _memory_line(what: str, n_facts: int, peak: Callable[[int], float]) -> bench.Line:
    bench.say(f"memory to {what} {n_facts // 5:,} and {n_facts:,} facts")
    few, many = peak(n_facts // 5), peak(n_facts)
    return bench.Line(
        f"client memory to {what} {n_facts:,} facts",
        "MB",
        many,
        few,
        f"{n_facts // 5:,} facts",
        bench.Goal("value", "<=", FLAT * few),
    )


def _small_batch(n_facts: int) -> int:
    """Several batches even of a fifth of the facts; 5,000 as in Database.write_all if they do."""
    return min(5_000, max(n_facts // 20, 1))


def _rows(n: int) -> Iterator[dict[str, Any]]:
    for i in range(n):
        yield {
            "id": f"f{i}",
            "subject": f"e{i % 100}",
            "relation": f"r{i % 7}",
            "object": f"e{(i + 1 + i // 100) % 100}",
            "prompt": f"{{}} has the relation {i % 7} to",
            "questions": [f"What has e{i % 100} the relation {i % 7} to?"],
        }


def _peak_mb(function: Callable[[], Any]) -> float:
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def _sample_rate(server: bench.Server, query: str, given: Sequence[Mapping[str, Any]]) -> float:
    with bench.scratch_graph(server.db, "single") as graph:
        return _one_by_one(server.driver, query, given, graph=graph)


def _one_by_one(
    driver: neo4j.Driver, query: str, given: Sequence[Mapping[str, Any]], **params: Any
) -> float:
    """Facts a second, one a transaction, after a few that are not counted."""
    warm_up = len(given) // 10

    def write(part: Sequence[Mapping[str, Any]]) -> None:
        with driver.session() as session:
            for row in part:
                session.run(query, row=dict(row), **params).consume()

    write(given[:warm_up])
    return (len(given) - warm_up) / bench.seconds(lambda: write(given[warm_up:]))


def _read_back(driver: neo4j.Driver, graph: str) -> Iterator[tuple[str, float, float]]:
    with driver.session(fetch_size=10_000) as session:
        for record in session.run(READ_BACK, graph=graph):
            yield record["id"], record["p_pre"], record["p_post"]


if __name__ == "__main__":
    raise SystemExit(main())
