"""All metrics over chains by the query `chains/metrics`, against one query for each metric.

KnowGIC's 26 rewrites, with a random probability before and after on every fact. The same values are
read in both ways, then timed with their plans at hand; and both are planned again, as a server does
once after each of its starts.
"""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import Any, LiteralString, cast

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
from ifr_one_query import stored

from thinkeval.cypher.catalog import over_chains, query


def main() -> int:
    """Measure, compare, print; 0 if the targets are met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with stored("metrics", options.seed) as (server, _, cases):
        lines = measured(server, cases, options.repeats)
    note = f"Medians of {options.repeats} after a warm-up; the values are equal."
    return bench.show("metrics_together", lines, [note], as_json=options.json)


def measured(server: bench.Server, cases: list[dict[str, Any]], repeats: int) -> list[bench.Line]:
    """Both ways, first compared, then timed."""

    def together() -> dict[str, Any]:
        return server.db.metrics(over_chains(), cases=cases)

    def singly() -> dict[str, Any]:
        return {
            name.removeprefix("metrics/"): server.db.metric(name, cases=cases)
            for name in over_chains()
        }

    different = count()

    def plan(*names: str) -> None:
        for name in names:
            # A text that the server has not seen before has no plan.
            text = cast(LiteralString, f"EXPLAIN {query(name).text}\n// {next(different)}")
            with server.driver.session() as session:
                session.run(text).consume()

    bench.agree(together() == singly(), "values differ")
    what = f"{len(over_chains())} metrics of {len(cases)} rewrites"
    took, each = (1e3 * bench.median_seconds(way, repeats, warm_up=5) for way in (together, singly))
    planned = 1e3 * bench.median_seconds(lambda: plan("chains/metrics"), repeats, warm_up=5)
    plans = 1e3 * bench.median_seconds(lambda: plan(*over_chains()), repeats, warm_up=5)
    return [
        bench.Line(what, "ms", took, each, "a query for each"),
        bench.Line(
            "their plans", "ms", planned, plans, "a query for each", bench.Goal("ratio", ">=", 2)
        ),
    ]


if __name__ == "__main__":
    raise SystemExit(main())
