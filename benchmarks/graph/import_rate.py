"""Import of a graph against a plain batched CREATE of the same nodes and relationships, in turns.

Ours takes the records of a data set, digests their content, checks each row against the query's
header and writes them so that no reader sees a part. The other sends rows that were made before by
a plain driver: all entities, then all facts, 5,000 a transaction. What both have stored is
compared, property by property. Processor time is that of this process and of the embedded server.
"""

from __future__ import annotations

import csv
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import psutil
import synthetic

from thinkeval.cypher.run import Database
from thinkeval.loaders.records import Fact, ImportReport, KnowledgeGraph, LoadedGraph
from thinkeval.service.base.database import embedded_server
from thinkeval.service.base.processes import collect_seldom
from thinkeval.service.base.settings import Settings
from thinkeval.service.graphs import datasets

BATCH = 5_000
COMPARED = 5_000
ENTITIES = "UNWIND $rows AS row CREATE (e:Entity) SET e = row"
FACTS = """UNWIND $rows AS row
MATCH (s:Entity {key: row.s})
MATCH (o:Entity {key: row.o})
CREATE (s)-[f:FACT]->(o)
SET f = row.properties"""
STORED = """MATCH (s:Entity)-[f:FACT]->(o:Entity)
WHERE f.id STARTS WITH $graph + '|'
WITH s, f, o
ORDER BY f.id
LIMIT $limit
RETURN properties(s) AS s, properties(f) AS f, properties(o) AS o"""
Taken = tuple[float, float]
"""Seconds of the wall clock and of processors."""


def main() -> int:
    """Measure, compare, print; 0 if the targets are met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    collect_seldom()
    facts = synthetic.hub_facts(options.facts)
    with bench.server() as server:
        ours: list[Taken] = []
        plain: list[Taken] = []
        for turn in range(options.repeats + 1):
            # Names of one length, as ids begin with them.
            with (
                bench.scratch_graph(server.db, "ours") as graph,
                bench.scratch_graph(server.db, "bare") as other,
            ):
                ours.append(taken(stores(server.db, graph, facts)))
                plain.append(taken(creates(server, other, facts)))
                found = [contents(server, each) for each in (graph, other)]
                bench.agree(found[0] == found[1], "the stored properties")
                bench.say(f"turn {turn}: {ours[-1]} and {plain[-1]} s")
                server.db.autocommit(int, "graph/delete_graph", graph=graph)
                delete(server, other)
    reading = taken(reads(facts))
    what = f"import {options.facts:,} facts"
    lines = []
    for place, unit in enumerate(("s", "processor s")):
        medians = [statistics.median(each[place] for each in side[1:]) for side in (ours, plain)]
        name = "plain CREATE in batches"
        goal = bench.Goal("ratio", ">=", 0.9)
        lines.append(bench.Line(what, unit, medians[0], medians[1], name, goal))
    lines.append(bench.Line(f"read a CSV of {options.facts:,} triples", "processor s", reading[1]))
    notes = [f"Medians of {options.repeats} turns after one that is not counted."]
    return bench.show("import_rate", lines, notes, as_json=options.json)


def taken(function: Callable[[], object]) -> Taken:
    """Time a call; a server elsewhere counts by the wall clock only."""
    pid = embedded_server(Settings()).status().pid
    others = [psutil.Process(pid)] if pid else []

    def spent() -> float:
        times = [each.cpu_times() for each in others]
        return time.process_time() + sum(each.user + each.system for each in times)

    before = spent()
    took = bench.seconds(function)
    return took, spent() - before


def loaded_graph(graph: str, facts: Sequence[Fact]) -> LoadedGraph:
    """The facts as a data set."""
    entities = tuple(synthetic.entities_of(facts))
    report = ImportReport("-", "-", {}, {})
    return LoadedGraph(KnowledgeGraph(graph, entities, tuple(facts)), report)


def stores(db: Database, graph: str, facts: Sequence[Fact]) -> Callable[[], object]:
    """Import of the facts, as `thinkeval import` does once its files are read."""
    loaded = loaded_graph(graph, facts)
    return lambda: datasets.store(db, loaded)


def creates(server: bench.Server, graph: str, facts: Sequence[Fact]) -> Callable[[], object]:
    """CREATE of rows that are ready, with the properties that an import stores."""
    entities: list[dict[str, Any]] = [
        {"key": f"{graph}|{each.name}", "graph": graph, "name": each.name, "aliases": []}
        for each in synthetic.entities_of(facts)
    ]
    stored = [
        {
            "s": f"{graph}|{fact.subject}",
            "o": f"{graph}|{fact.object}",
            "properties": {
                "id": f"{graph}|{fact.id}", "graph": graph, "relation": fact.relation,
                "prompt": fact.prompt, "question": fact.question,
                "questions": list(fact.questions), "paraphrases": [], "cases": [],
                "role": "fact", "listed": True, "caption": fact.relation,
            },
        }
        for fact in facts
    ]  # fmt: skip

    def create() -> None:
        for text, rows in ((ENTITIES, entities), (FACTS, stored)):
            for start in range(0, len(rows), BATCH):
                server.driver.execute_query(text, rows=rows[start : start + BATCH])

    return create


def contents(server: bench.Server, graph: str) -> list[Any]:
    """The properties of the first facts by id, with their entities, without the graph's name."""
    records, _, _ = server.driver.execute_query(STORED, graph=graph, limit=COMPARED)

    def bare(properties: dict[str, Any]) -> dict[str, Any]:
        return {
            name: value.removeprefix(graph) if isinstance(value, str) else value
            for name, value in properties.items()
        }

    return [[bare(record[name]) for name in ("s", "f", "o")] for record in records]


def delete(server: bench.Server, graph: str) -> None:
    """Delete a graph without a node of its own."""
    server.driver.execute_query("CREATE (:Graph {id: $graph, kind: 'dataset'})", graph=graph)
    server.db.autocommit(int, "graph/delete_graph", graph=graph)


def reads(facts: Sequence[Fact]) -> Callable[[], object]:
    """Reading a file of the triples, with all checks and repairs."""
    folder = TemporaryDirectory()
    path = Path(folder.name) / "triples.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["subject", "relation", "object"])
        out.writerows((fact.subject, fact.relation, fact.object) for fact in facts)

    def read() -> None:
        with folder:
            datasets.read(path)

    return read


if __name__ == "__main__":
    raise SystemExit(main())
