"""Additivity of 500 stored appends in one query, from lists on one node a prompt.

Each append has synthetic probabilities: 3 prompts (13 correct, 12 hard and 10 random names) and 5
prompts of locality. Instead of lists, a node a name could be stored: the same 52,500 names are read
back into lists from such nodes, which is what the query would have to do first. Both must hold the
same names. Five appends are computed in Python, too, and agree within 1e-9.
"""

from __future__ import annotations

import math
import random
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import neo4j

from thinkeval.cypher import rows

LISTS = {"correct": (13, 1.0), "hard": (12, 0.2), "random": (10, 0.2)}
"""Names of a list, and their largest probability."""
PROMPTS, NEAR = 3, 5

CREATE = """
UNWIND $rows AS row
CREATE (x:AppendAnswers {id: row.edit + '|' + row.place})
SET x += row.own
FOREACH (each IN row.names |
  CREATE (:BenchName {edit: row.edit, place: row.place, role: each[0], name: each[1],
    pre: each[2], post: each[3]}))
"""
BY_NAME = """
UNWIND $edits AS edit
MATCH (x:BenchName {edit: edit})
WITH edit, x.place AS place, x.role AS role, collect(x.name) AS names, collect(x.pre) AS pre,
  collect(x.post) AS post
RETURN edit, count(*) AS lists, sum(size(names)) AS names
"""
INDEX = "CREATE INDEX bench_name_edit IF NOT EXISTS FOR (x:BenchName) ON (x.edit)"
DELETE = """
MATCH (x)
WHERE (x:AppendAnswers OR x:BenchName) AND x.edit STARTS WITH $prefix
CALL (x) { DELETE x } IN TRANSACTIONS OF 5000 ROWS
"""


def main() -> int:
    """Measure, compare, print; 0 if the target is met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--edits", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=30)
    options = parser.parse_args()
    with bench.server() as server, stored(server.driver, options.edits) as answers:
        lines = measured(server, answers, options.repeats)
    note = f"Medians of {options.repeats} after a warm-up of as many."
    return bench.show("additivity", lines, [note], as_json=options.json)


@contextmanager
def stored(driver: neo4j.Driver, edits: int) -> Iterator[list[dict[str, Any]]]:
    """The synthetic answers, in both ways; deleted afterwards."""
    prefix, rng = f"bench-{uuid.uuid4().hex[:8]}", random.Random(0)
    answers = [prompt(rng, f"{prefix}-{e}", place) for e in range(edits) for place in range(8)]
    driver.execute_query(INDEX)
    driver.execute_query("CALL db.awaitIndexes()")
    try:
        for start in range(0, len(answers), 400):
            some = answers[start : start + 400]
            driver.execute_query(CREATE, rows=[row | {"own": own(row)} for row in some])
        yield answers
    finally:
        with driver.session() as session:
            session.run(DELETE, prefix=prefix).consume()
        driver.execute_query("DROP INDEX bench_name_edit IF EXISTS")


def own(row: dict[str, Any]) -> dict[str, Any]:
    """The properties of the node a prompt."""
    return {key: value for key, value in row.items() if key != "names"}


def prompt(rng: random.Random, edit: str, place: int) -> dict[str, Any]:
    """One prompt with random probabilities; the last ones are of locality."""
    role = "prompt" if place == 0 else "paraphrase" if place < PROMPTS else "locality"
    row: dict[str, Any] = {"edit": edit, "place": place, "role": role, "text": f"text {place}"}
    row |= {"new_pre": rng.random(), "new_post": rng.random(), "names": []}
    if role == "locality":
        return row | {"right_pre": rng.random(), "right_post": rng.random()}
    for kind, (n, top) in LISTS.items():
        row[kind] = [f"{kind} {i}" for i in range(n)]
        row |= {
            f"{kind}_{side}": [top * rng.random() for _ in range(n)] for side in ("pre", "post")
        }
        row["names"] += [
            [kind, row[kind][i], row[f"{kind}_pre"][i], row[f"{kind}_post"][i]] for i in range(n)
        ]
    return row


def measured(
    server: bench.Server, answers: Sequence[dict[str, Any]], repeats: int
) -> list[bench.Line]:
    """Both ways, first compared, then timed."""
    edits = list(dict.fromkeys(row["edit"] for row in answers))

    def ours() -> list[rows.AdditivityRow]:
        return server.db.read(rows.AdditivityRow, "append/additivity", edits=edits)

    def by_name() -> list[neo4j.Record]:
        return server.driver.execute_query(
            BY_NAME, edits=edits, routing_=neo4j.RoutingControl.READ
        ).records

    found = {(row.edit, row.set): row for row in ours()}
    bench.agree(len(found) == 2 * len(edits), "rows of Cypher")
    bench.agree(any(row.n for row in found.values()), "no prompt counts")
    for edit in edits[:5]:
        values = [aff(row) for row in answers if row["edit"] == edit and row["role"] != "locality"]
        known = [value for value in values if value is not None]
        aff, n = found[edit, "hard"].aff, found[edit, "hard"].n
        same = n == len(known) and math.isclose(aff or 0, fmean(known or [0]), abs_tol=1e-9)
        bench.agree(same, f"AFF of {edit}: {aff}, {known}")
    names = sum(record["names"] for record in by_name())
    bench.agree(names == sum(len(row["names"]) for row in answers), "names of both ways")
    took = 1e3 * bench.median_seconds(ours, repeats, warm_up=repeats)
    instead = 1e3 * bench.median_seconds(by_name, repeats, warm_up=repeats)
    goal = bench.Goal("value", "<=", 200)
    what = f"additivity of {len(edits)} appends, {names:,} names"
    return [bench.Line(what, "ms", took, instead, "only reading a node a name", goal)]


def aff(row: dict[str, Any]) -> float | None:
    """AFF against the hard false answers at one prompt, in plain Python."""
    wrong, least = row["hard_pre"], 0.2 * len(row["hard_pre"])
    kept = [i for i, p in enumerate(row["correct_pre"]) if sum(f > p for f in wrong) < least]
    if not kept:
        return None
    bound = min(row["correct_pre"][i] for i in kept)
    false = [row["hard_post"][f] for f, p in enumerate(wrong) if p < bound]
    if not false or all(p >= bound for p in row["random_pre"]):
        return None
    now, before = [row["correct_post"][i] for i in kept], [row["correct_pre"][i] for i in kept]
    weights = [(p, 1 / (1 + math.exp(-p))) for p in now]
    rff = sum(w for p, w in weights if p < max(false)) / sum(w for _, w in weights)
    return 1 - (1 - rff) * min(1, sum(now) / sum(before))


if __name__ == "__main__":
    raise SystemExit(main())
