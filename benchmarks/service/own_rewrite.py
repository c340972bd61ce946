"""POST of an edit whose rewrite the client writes out: on a big graph, against `hogwarts`.

Each request of the big graph is followed by one of the same form on `hogwarts`, in one process, so
that a busy machine slows both; the medians are compared. No request was sent before, so each is
looked up in the graph and queued. No worker runs, and what was queued is deleted.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "graph"))

import bench
import synthetic
from fastapi.testclient import TestClient

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import Fact, ImportReport, KnowledgeGraph, LoadedGraph
from thinkeval.service.graphs import datasets
from thinkeval.service.web.app import create_app
from thinkeval.service.web.state import database

Written = dict[str, str]
FORMS: dict[str, Callable[[Fact, Fact], Written]] = {
    "relation of the subject": lambda fact, other: {"relation": fact.relation},
    "relation of another subject": lambda fact, other: {"relation": other.relation},
    "prompt of another subject": lambda fact, other: {"prompt": other.prompt},
    "prompt of no fact": lambda fact, other: {"prompt": f"{other.prompt}, at first,"},
    "old object of no fact": lambda fact, other: {
        "relation": fact.relation,
        "target_true": "Zanzibar",
    },
}
"""The parts of a written rewrite that decide what is looked up, from two facts of a graph."""


def main() -> int:
    """Measure, compare, print; 0 if the targets are met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--posts", type=int, default=15, help="of each form and graph, at most 100")
    options = parser.parse_args()
    small = datasets.read("hogwarts").graph
    big = synthetic.hub_facts(options.facts)
    with bench.server() as server, ExitStack() as stack:
        db = server.db
        graphs = []
        for what, facts in (("small", small.facts), ("big", big)):
            name = stack.enter_context(bench.scratch_graph(db, what))
            bench.say(f"writing {len(facts):,} facts")
            graph = KnowledgeGraph(name, tuple(synthetic.entities_of(facts)), tuple(facts))
            datasets.store(db, LoadedGraph(graph, ImportReport("-", "-", {}, {})))
            stack.callback(forget, db, name)
            graphs.append((name, facts))
        app = create_app(workers=0)
        app.dependency_overrides[database] = lambda: db
        client = TestClient(app, base_url="http://localhost")
        lines = [line(client, form, graphs, options.posts) for form in FORMS]
    notes = [f"Medians of {options.posts} requests after one that is not counted, in turns."]
    return bench.show("own_rewrite", lines, notes, as_json=options.json)


def line(
    client: TestClient, form: str, graphs: list[tuple[str, list[Fact]]], posts: int
) -> bench.Line:
    """The median milliseconds of one form on both graphs."""
    bodies = [posted(name, facts, FORMS[form]) for name, facts in graphs]
    took: list[list[float]] = [[], []]
    for _ in range(posts + 1):
        for times, body in zip(took, bodies, strict=True):
            given = next(body)
            times.append(1e3 * bench.seconds(lambda given=given: post(client, given)))
    small, big = (statistics.median(times[1:]) for times in took)
    bench.say(f"{form}: {big:,.0f} ms, hogwarts {small:,.0f} ms")
    what = f"POST of an own rewrite, {form}; {len(graphs[1][1]):,} facts"
    return bench.Line(what, "ms", big, small, "hogwarts", bench.Goal("ratio", ">=", 1 / 3))


def posted(
    graph: str, facts: list[Fact], form: Callable[[Fact, Fact], Written]
) -> Iterator[dict[str, object]]:
    """Bodies of requests, each of another fact and with a new object of its own."""
    for number in count():
        fact, other = facts[number * 7 % len(facts)], facts[(number * 11 + 5) % len(facts)]
        rewrite = {"subject": fact.subject, "target_true": fact.object} | form(fact, other)
        rewrite["target_new"] = f"New object {number} of {rewrite.get('relation', 'a prompt')}"
        yield {"graph": graph, "rewrite": rewrite, "method": "rome"}


def post(client: TestClient, body: dict[str, object]) -> None:
    """One request, which must be accepted."""
    answer = client.post("/v1/edits", json=body)
    bench.agree(answer.status_code == 202, f"{answer.status_code} {answer.text}")


def forget(db: Database, graph: str) -> None:
    """Delete what was queued: less than the query's limit."""
    for edit in db.read(rows.PageEditRow, "edits/page_edits", dataset=graph, limit=1000):
        db.write(rows.DeleteEditRow, "edits/delete_edit", id=edit.id)


if __name__ == "__main__":
    raise SystemExit(main())
