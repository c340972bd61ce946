"""POST of an edit whose rewrite the client writes out, and GETs: on big graphs, against `hogwarts`.

Each request of a big graph is followed by one of the same form on the others and on `hogwarts`, in
one process, so that a busy machine slows all; the medians are compared. No POST was sent before, so
each is looked up in the graph and queued. No worker runs, and what was queued is deleted.

With --keep the biggest graph stays in the database for the next run.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "graph"))

import bench
import synthetic
from fastapi.testclient import TestClient

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import Fact
from thinkeval.service.graphs import datasets
from thinkeval.service.web.app import create_app
from thinkeval.service.web.state import database

Written = dict[str, str]
Graphs = Mapping[str, Sequence[Fact]]
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


GETS = {
    "the graph": "/v1/graphs/{graph}",
    "the list of graphs": "/v1/graphs",
    "the rewrite requests, with the chains of a pair": "/v1/rewrites?graph={graph}",
    "an edit": "/v1/edits/{edit}",
}
"""Addresses that are read of each graph; `{edit}` is one that was queued for it."""


def main() -> int:
    """Measure, compare, print; 0 if the targets are met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--facts", type=int, nargs="+", default=[100_000])
    parser.add_argument("--posts", type=int, default=15, help="of each form and graph, at most 100")
    parser.add_argument("--keep", action="store_true", help="leave the biggest one stored")
    options = parser.parse_args()
    big = {f"bench-{n}": synthetic.hub_facts(n) for n in sorted(options.facts)}
    graphs = {"bench-hogwarts": datasets.read("hogwarts").graph.facts} | big
    with bench.server() as server, ExitStack() as stack:
        db = server.db
        for place, (name, facts) in enumerate(graphs.items()):
            if not options.keep or place < len(big):
                stack.callback(db.autocommit, int, "graph/delete_graph", graph=name)
            bench.say(f"writing {len(facts):,} facts")
            datasets.store(db, synthetic.loaded(name, facts))
        for name in graphs:
            stack.callback(forget, db, name)
        app = create_app(workers=0)
        app.dependency_overrides[database] = lambda: db
        client = TestClient(app, base_url="http://localhost")
        found = [line for form in FORMS for line in post_lines(client, form, graphs, options.posts)]
        for what, path in GETS.items():
            found += get_lines(client, what, path, graphs, options.posts)
    notes = [f"Medians of {options.posts} requests after one that is not counted, in turns."]
    return bench.show("own_rewrite", found, notes, as_json=options.json)


def post_lines(client: TestClient, form: str, graphs: Graphs, posts: int) -> list[bench.Line]:
    """The median milliseconds of one form on each big graph."""
    bodies = {name: posted(name, facts, FORMS[form]) for name, facts in graphs.items()}
    return lines(
        f"POST of an own rewrite, {form}",
        graphs,
        posts,
        lambda name: partial(post, client, next(bodies[name])),
    )


def get_lines(
    client: TestClient, what: str, path: str, graphs: Graphs, times: int
) -> list[bench.Line]:
    """The median milliseconds of a GET about each big graph."""
    edits = {name: queued(client, name) for name in graphs}

    def request(name: str) -> Callable[[], None]:
        return partial(get, client, path.format(graph=name, edit=edits[name]))

    return lines(f"GET of {what}", graphs, times, request)


def lines(
    what: str, graphs: Graphs, times: int, request: Callable[[str], Callable[[], None]]
) -> list[bench.Line]:
    """Medians of requests about each graph, in turns; the first graph is compared with."""
    took: dict[str, list[float]] = {name: [] for name in graphs}
    for _ in range(times + 1):
        for name, each in took.items():
            each.append(1e3 * bench.seconds(request(name)))
    small, *rest = (statistics.median(each[1:]) for each in took.values())
    found = []
    for median, facts in zip(rest, list(graphs.values())[1:], strict=True):
        bench.say(f"{what}, {len(facts):,} facts: {median:,.0f} ms, hogwarts {small:,.0f} ms")
        goal = bench.Goal("ratio", ">=", 1 / 3)
        named = f"{what}; {len(facts):,} facts"
        found.append(bench.Line(named, "ms", median, small, "hogwarts", goal))
    return found


def queued(client: TestClient, graph: str) -> str:
    """The id of an edit that was queued for a graph."""
    found = client.get("/v1/edits", params={"graph": graph, "limit": 1}).json()["items"]
    return str(found[0]["id"])


def get(client: TestClient, path: str) -> None:
    """One request, which must be answered."""
    answer = client.get(path)
    bench.agree(answer.status_code == 200, f"{path}: {answer.status_code} {answer.text[:300]}")


def posted(
    graph: str, facts: Sequence[Fact], form: Callable[[Fact, Fact], Written]
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
