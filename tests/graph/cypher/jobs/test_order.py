"""In which order jobs are claimed, against brute force; and that an index gives that order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.job_queries import Queue
from support.job_queries import admin as admin
from support.job_queries import queue as queue
from thinkeval.cypher.catalog import query
from thinkeval.service.base.leases import new_token

PATIENCE_S = 300


@dataclass(frozen=True)
class Waiting:
    """A queued job of a random queue."""

    id: str
    ticket: int
    affinity: str
    age_s: int


def sorted_backlog(queued: list[Waiting], affinity: str | None) -> Waiting:
    """The next job as the query before this one found it: the whole backlog, sorted."""

    def turn(job: Waiting) -> int:
        if job.age_s > PATIENCE_S:
            return 0
        return 1 if job.affinity == affinity else 2

    return min(queued, key=lambda job: (turn(job), job.ticket, job.age_s, job.id))


@st.composite
def queues(draw: st.DrawFn) -> list[Waiting]:
    """Up to nine jobs of three models; who was submitted earlier waits for longer."""
    affinities = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=9))
    ages = sorted(draw(st.sampled_from([0, 5, 200, 290, 310, 400])) for _ in affinities)[::-1]
    tickets = sorted(draw(st.sets(st.integers(1, 99), min_size=len(ages), max_size=len(ages))))
    return [
        Waiting(f"j{number}", ticket, affinity, age)
        for number, (ticket, affinity, age) in enumerate(
            zip(tickets, affinities, ages, strict=True)
        )
    ]


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    waiting=queues(),
    first=st.sampled_from(["a", "c", None]),
    switch=st.booleans(),
    idle=st.integers(1, 3),
)
def test_claims_go_in_the_order_of_the_sorted_backlog(
    queue: Queue, waiting: list[Waiting], first: str | None, switch: bool, idle: int
) -> None:
    """Each of `idle` workers claims in turn, in one query, as if it had asked alone."""
    queue.clean()
    queue.submit(*(job.id for job in waiting))
    now = queue.cypher("RETURN timestamp() AS now")[0]["now"]
    rows = [
        {"id": queue.name(job.id), "ticket": job.ticket, "affinity": job.affinity,
         "queued_ms": now - 1000 * job.age_s}
        for job in waiting
    ]  # fmt: skip
    queue.cypher("UNWIND $rows AS row MATCH (j:Job {id: row.id}) SET j += row", rows=rows)
    affinity, left = first, list(waiting)
    while left:
        expected = []
        for _ in range(min(idle, len(left))):
            expected.append(sorted_backlog(left, affinity))
            left.remove(expected[-1])
        claimed = queue.claim_all(
            *({"worker": "w", "lease": new_token(), "affinity": affinity} for _ in range(idle)),
            patience_s=PATIENCE_S,
        )
        assert [row.id for row in claimed] == [queue.name(job.id) for job in expected], affinity
        affinity = claimed[-1].affinity if switch else affinity
    assert queue.claim(affinity=affinity) is None


def operators(plan: dict[str, Any]) -> list[str]:
    """Every operator of a plan."""
    return [plan["operatorType"].partition("@")[0]] + [
        name for child in plan.get("children", []) for name in operators(child)
    ]


def hits(plan: dict[str, Any]) -> int:
    return int(plan["args"].get("DbHits", 0)) + sum(map(hits, plan.get("children", [])))


def test_a_claim_reads_the_same_however_long_the_queue_is(queue: Queue) -> None:
    costs = {}
    for total in (20, 1500):
        queue.clean()
        queue.submit(*(f"{n}" for n in range(total - 10)), affinity="other")
        queue.submit(*(f"mine{n}" for n in range(10)), affinity="mine")
        told = {
            "kinds": [queue.kind], "lease_ms": 1000, "patience_s": 300, "event": "{}",
            "rows": [{"worker": "w", "lease": f"{total}", "affinity": "mine"}],
        }  # fmt: skip
        with queue.admin.session() as session:
            result = session.run("PROFILE\n" + query("jobs/claim").text, told)
            assert result.single(strict=True)["id"] == queue.name("mine0")
            plan = result.consume().profile
        assert plan is not None
        names = operators(plan)
        assert not [name for name in names if "Sort" in name or "Top" in name], names
        assert not [name for name in names if "Scan" in name and "Index" not in name], names
        costs[total] = hits(plan)
    assert costs[1500] == pytest.approx(costs[20], abs=20), costs
