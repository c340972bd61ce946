"""Seconds of a page of the review queue with 5,000 candidates, beside reading all of them.

    python benchmarks/growth/review_queue.py [CANDIDATES]

Both are measured in this one run, on the database that THINKEVAL_NEO4J_URI names or the embedded
one. The queue pages by cursor; `all` reads every candidate with its statements, as a page without
a cursor would. The run that it makes is deleted afterwards.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.service.base.settings import Settings
from thinkeval.service.growth import review
from thinkeval.service.growth.schemas import CandidateOut
from thinkeval.service.scoring.runtime import Runtime

RUN = "benchmark-review-queue"
REPEATS = 20


def fill(db: Database, candidates: int) -> None:
    """A run whose candidates each have two statements of answers."""
    db.write(
        bool, "growth/merge_run", id=RUN, graph=RUN, seed="a|b|c", elicit="cot", model="organism",
        endpoint="organism@local", request="{}", prompts="0",
    )  # fmt: skip
    answers = [
        {"id": f"a{n}", "query": f"q{n}", "kind": "cot", "question": f"Why {n}?", "messages": "{}",
         "sample": 0, "text": f"Because of {n}.", "finish": "stop", "seconds": 0.1,
         "tokens_in": 5, "tokens_out": 5}
        for n in range(candidates)
    ]  # fmt: skip
    statements = [
        {"id": f"s{n}-{k}", "text": f"Subject {n} studied at Object {n}.", "answer": f"a{n}",
         "place": k, "state": "parsed"}
        for n in range(candidates) for k in range(2)
    ]  # fmt: skip
    found = [
        {"id": f"c{n}", "kind": "triplet", "subject": f"Subject {n}", "relation": "studied at",
         "object": f"Object {n}", "prompt": None, "question": f"Where {n}?", "state": "review",
         "reason": "found", "tries": 1, "share": 0.5, "n_answers": 5, "iteration": 1, "place": n,
         "statements": [f"s{n}-0", f"s{n}-1"], "queries": [f"q{n}"], "checks": None}
        for n in range(candidates)
    ]  # fmt: skip
    db.write_all(rows.WrittenRow, "growth/write_answers", answers, batch=1000, run=RUN, iteration=1)
    db.write_all(rows.WrittenRow, "growth/write_statements", statements, batch=1000, run=RUN)
    db.write_all(rows.WrittenRow, "growth/write_candidates", found, batch=1000, run=RUN)


def timed(work: Callable[[], object]) -> str:
    """Median and greatest milliseconds."""
    taken = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        taken.append(1000 * (time.perf_counter() - start))
    return f"median {statistics.median(taken):7.1f} ms, max {max(taken):7.1f} ms"


def main() -> None:
    """Fill, measure, delete."""
    candidates = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    with Runtime(Settings()) as runtime:
        db = runtime.db
        db.autocommit(int, "growth/delete_run", id=RUN)
        fill(db, candidates)
        try:
            middle = f"{candidates // 2}~c{candidates // 2}"
            last = f"{candidates - 51}~c{candidates - 51}"
            for name, work in {
                "first page of 50": lambda: review.page(db, RUN, review.WAITING),
                "page in the middle": lambda: review.page(db, RUN, review.WAITING, cursor=middle),
                "last page": lambda: review.page(db, RUN, review.WAITING, cursor=last),
                "undecided by a person": lambda: review.page(db, RUN, undecided_by="ann"),
                "one with its evidence": lambda: review.detail(db, RUN, "c7"),
                "all candidates": lambda: db.read(CandidateOut, "growth/candidates", run=RUN),
            }.items():
                work()
                print(f"{candidates:,} candidates, {name:22} {timed(work)}")
        finally:
            db.autocommit(int, "growth/delete_run", id=RUN)


if __name__ == "__main__":
    main()
