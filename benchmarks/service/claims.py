"""Claims a second: from the queue's index, against sorting the backlog under the queue's lock.

The same queued edits are claimed by both texts in one run, by one worker and by several at once,
with 100, 2,000 and 10,000 edits queued, of three models. No edit may be claimed twice, and both
texts have to claim the edits in the same order. In between, a submission is timed.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench
import neo4j

from thinkeval.cypher import rows

SORTED = """
MERGE (q:Queue {id: 'bench-edits'})
SET q.id = 'bench-edits'
WITH q
MATCH (e:Edit {status: 'queued'})
WHERE e.request IS NOT NULL
WITH e, CASE
    WHEN datetime(e.queued_at) < datetime() - duration({seconds: $patience_s}) THEN 0
    WHEN e.affinity = $affinity THEN 1
    ELSE 2
  END AS turn
ORDER BY turn, coalesce(e.ticket, 0), datetime(e.queued_at), e.id
LIMIT 1
SET e.status = 'running', e.owner = $owner, e.attempts = coalesce(e.attempts, 0) + 1,
  e.progress = 0.0, e.stage = 'starting', e.events = coalesce(e.events, []) + $event
RETURN e.id AS id
"""
"""The query before claims had leases: every queued edit is read and sorted."""

QUEUED = """
UNWIND range(1, $total) AS n
MERGE (e:Job {id: $prefix + n})
SET e:Edit, e.kind = $prefix, e.status = 'queued', e.ticket = n, e.request = '{}',
  e.affinity = 'model ' + toString(n % 3), e.queued_ms = timestamp(),
  e.queued_at = toString(datetime()), e.events = [], e.attempts = 0, e.attempt = 0,
  e.lease = null, e.lease_until = null
"""

Claim = Callable[[], str | None]


def main() -> int:
    """Measure, compare, print; 0 if the targets are met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each measurement")
    parser.add_argument("--workers", type=int, default=8, help="that claim at once")
    options = parser.parse_args()
    lines = []
    with bench.server() as server:
        queue = Queue(server)
        try:
            for total in (100, 2000, 10_000):
                for workers in (1, options.workers):
                    lines.append(queue.line(total, workers, options.seconds))
            lines += queue.flat(lines)
            lines += queue.together(options.workers)
            lines += queue.submitted(options.workers, options.seconds)
        finally:
            queue.clean()
    notes = [
        f"{options.seconds:g} s each, or until {queue.MOST:.0%} of the queue is claimed.",
        "No edit was claimed twice; both texts claimed the first 30 in the same order.",
    ]
    return bench.show("claims", lines, notes, as_json=options.json)


class Queue:
    """Queued edits of a kind of the benchmark's own."""

    MOST = 0.5

    def __init__(self, server: bench.Server) -> None:
        self.db, self.driver = server.db, server.driver
        self.prefix = f"bench-{uuid.uuid4().hex[:8]}-"
        (others,) = self.run("MATCH (e:Edit {status: 'queued'}) RETURN count(e) AS n")
        if others["n"]:
            raise SystemExit("There are queued edits; the sorted text would claim them.")

    def run(self, text: str, **params: object) -> list[neo4j.Record]:
        """A query of the benchmark's own."""
        return self.driver.execute_query(text, params).records  # type: ignore[arg-type]

    def line(self, total: int, workers: int, limit_s: float) -> bench.Line:
        """Claims a second by both texts."""
        self.fill(total)
        ours = [self.by_index("model 1")() for _ in range(30)]
        self.fill(total)
        sorted_ = [self.by_sorting("model 1")() for _ in range(30)]
        bench.agree(ours == sorted_, f"{ours[:5]} ..., {sorted_[:5]} ...")
        rates = []
        for make in (self.by_index, self.by_sorting):
            self.fill(total)
            rates.append(self.rate(make, total, workers, limit_s))
        bench.say(f"{total} queued, {workers} workers: {rates[0]:.1f}, {rates[1]:.1f} claims/s")
        goal = bench.Goal("ratio", ">=", 5) if total == 10_000 and workers > 1 else None
        what = f"{total:,} queued, {workers} {'worker' if workers == 1 else 'workers'}"
        return bench.Line(what, "claims/s", rates[0], rates[1], "sorted backlog", goal)

    def flat(self, lines: list[bench.Line]) -> list[bench.Line]:
        """How claims by the index depend on the length of the queue."""
        short, long = (line.ours for line in (lines[1], lines[-1]))
        goal = bench.Goal("value", ">=", 0.7)
        return [bench.Line("by index: 10,000 queued over 100 queued", "", long / short, goal=goal)]

    def rate(
        self,
        make: Callable[[str], Claim],
        total: int,
        workers: int,
        limit_s: float,
        beside: Callable[[], None] | None = None,
    ) -> float:
        """Claims a second of several workers at once, while `beside` runs."""
        claimed: list[str] = []
        over = threading.Event()

        def work(number: int) -> None:
            claim = make(f"model {number % 3}")
            while not over.is_set() and len(claimed) < self.MOST * total:
                found = claim()
                if found is not None:
                    claimed.append(found)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(workers)]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        if beside is not None:
            beside()
        threads[0].join(max(0.0, limit_s - (time.perf_counter() - began)))
        over.set()
        for thread in threads:
            thread.join()
        took = time.perf_counter() - began
        bench.agree(len(set(claimed)) == len(claimed), "an edit was claimed twice")
        return len(claimed) / took

    def submitted(self, workers: int, limit_s: float) -> list[bench.Line]:
        """Median time of a submission while workers claim, against an idle queue of that length."""
        self.fill(10_000)
        idle, busy = self.submissions(limit_s), []
        self.fill(10_000)
        self.rate(
            self.by_index, 10_000, workers, limit_s, lambda: busy.extend(self.submissions(limit_s))
        )
        what = f"a submission beside the claims of {workers} workers, 10,000 queued"
        ms = [1e3 * statistics.median(each) for each in (busy, idle)]
        return [bench.Line(what, "ms", ms[0], ms[1], "without claims")]

    def submissions(self, limit_s: float) -> list[float]:
        """Seconds of submissions, one after the other."""
        until, found = time.perf_counter() + limit_s, []
        job = {"place": 0, "request": "{}", "affinity": "x", "total": 1, "properties": {}}
        options = {"kind": f"{self.prefix}submitted", "limit": 10**6, "event": "{}"}
        while time.perf_counter() < until:
            one = job | {"id": f"{self.prefix}{uuid.uuid4().hex}"}
            found.append(
                bench.seconds(
                    lambda one=one: self.db.write(
                        rows.SubmitJobsRow, "jobs/submit", rows=[one], **options
                    )
                )
            )
        return found

    def by_index(self, affinity: str) -> Claim:
        """Claims as ThinkEval makes them."""

        def claim() -> str | None:
            found = self.claimed(1, affinity)
            return found[0] if found else None

        return claim

    def claimed(self, idle: int, affinity: str) -> list[str]:
        """Claim for so many idle workers in one query."""
        return [
            row.id
            for row in self.db.write(
                rows.ClaimJobRow, "jobs/claim",
                kinds=[self.prefix], lease_ms=60_000, event="{}",
                rows=[
                    {"worker": "w", "lease": uuid.uuid4().hex, "affinity": affinity}
                    for _ in range(idle)
                ],
            )
        ]  # fmt: skip

    def together(self, workers: int) -> list[bench.Line]:
        """Claims of one dispatcher for all its workers, against one query for each."""
        self.fill(10_000)
        rates = []
        for idle in (workers, 1):
            began, n = time.perf_counter(), 0
            while n < 50 * workers:
                n += len(self.claimed(idle, "model 1"))
            rates.append(n / (time.perf_counter() - began))
        what = f"10,000 queued, one dispatcher claims for {workers} workers"
        goal = bench.Goal("ratio", ">=", 1)
        return [bench.Line(what, "claims/s", rates[0], rates[1], "a query for each", goal)]

    def by_sorting(self, affinity: str) -> Claim:
        """Claims as they were made before."""
        params = {"owner": "w", "affinity": affinity, "patience_s": 300, "event": "{}"}

        def claim() -> str | None:
            with self.driver.session() as session:
                found = session.execute_write(
                    lambda tx: tx.run(SORTED, params).single()  # type: ignore[arg-type]
                )
            return str(found["id"]) if found else None

        return claim

    def fill(self, total: int) -> None:
        """Queue so many edits, whatever was queued before."""
        self.clean()
        self.run(QUEUED, total=total, prefix=self.prefix)

    def clean(self) -> None:
        """Delete all of the benchmark's."""
        self.run(
            "MATCH (e:Job) WHERE e.id STARTS WITH $prefix"
            " OPTIONAL MATCH (p:Post)-[:ASKS_FOR]->(e) DETACH DELETE p, e",
            prefix=self.prefix,
        )
        self.run("MATCH (q:Queue {id: 'bench-edits'}) DELETE q")


if __name__ == "__main__":
    raise SystemExit(main())
