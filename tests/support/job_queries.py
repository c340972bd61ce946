"""Jobs of a kind of a test's own, by the queries alone: submitted, claimed, fenced."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import neo4j
import pytest

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database

LEASE_MS = 60_000
EVENTS = {status: f'{{"status": "{status}"}}' for status in ("queued", "failed", "cancelled")}
AT = "2026-05-04T09:30:00Z"


@dataclass(frozen=True)
class Queue:
    """A kind of job that nobody else submits or claims."""

    db: Database
    admin: neo4j.Driver
    kind: str

    def cypher(self, text: str, **params: Any) -> list[dict[str, Any]]:
        """A query of the test's own."""
        with self.admin.session() as session:
            return [record.data() for record in session.run(text, params)]

    def submit(self, *ids: str, affinity: str = "a", **more: Any) -> list[rows.SubmitJobsRow]:
        rows_ = [
            {"id": name, "place": place, "request": "{}", "affinity": affinity, "total": 1,
             "properties": {}}
            for place, name in enumerate(map(self.name, ids))
        ]  # fmt: skip
        more = {"limit": 100_000, "event": EVENTS["queued"]} | more
        return self.db.write(rows.SubmitJobsRow, "jobs/submit", kind=self.kind, rows=rows_, **more)

    def name(self, short: str) -> str:
        """The id of a job, unique to this queue."""
        return short if short.startswith(self.kind) else f"{self.kind}-{short}"

    def claim(
        self,
        worker: str = "w",
        *,
        lease: str | None = None,
        affinity: str | None = None,
        **more: Any,
    ) -> rows.ClaimJobRow | None:
        found = self.claim_all(
            {"worker": worker, "lease": lease or uuid.uuid4().hex, "affinity": affinity}, **more
        )
        return found[0] if found else None

    def claim_all(self, *idle: dict[str, Any], **more: Any) -> list[rows.ClaimJobRow]:
        """Claim a job for each of these idle workers, in one query."""
        return self.db.write(
            rows.ClaimJobRow,
            "jobs/claim",
            kinds=[self.kind],
            rows=list(idle),
            event='{"status": "running"}',
            **({"lease_ms": LEASE_MS} | more),
        )

    def renew(self, held: dict[str, Any] | None = None, **more: Any) -> rows.RenewalRow:
        """Renew a lease, or tell of an idle worker."""
        news = {"worker": None, "about": {}, "lease": None, "attempt": None, "stage": None,
                "progress": None}  # fmt: skip
        (row,) = self.db.write(rows.RenewalRow, "jobs/renew", rows=[news | (held or {}) | more])
        return row

    def claimed(self, lease: str, **more: Any) -> dict[str, Any]:
        """Claim the next job under this token: the parameters of every fenced write."""
        job = self.claim(lease=lease, **more)
        assert job is not None
        return {"lease": lease, "attempt": job.attempt}

    def job(self, short: str) -> rows.JobRow:
        (row,) = self.db.read(rows.JobRow, "jobs/get", id=self.name(short), kind=self.kind)
        return row

    def node(self, short: str) -> dict[str, Any]:
        """Everything that is recorded of a job."""
        (found,) = self.cypher(
            "MATCH (j:Job {id: $id}) RETURN properties(j) AS p", id=self.name(short)
        )
        return found["p"]

    def set(self, short: str, **properties: Any) -> None:
        """Change the record of a job."""
        self.cypher("MATCH (j:Job {id: $id}) SET j += $p", id=self.name(short), p=properties)

    def release(
        self, held: dict[str, Any], *, crashed: bool, **more: Any
    ) -> list[rows.ReleaseJobRow]:
        return self.db.write(
            rows.ReleaseJobRow, "jobs/release",
            **held, crashed=crashed, error="exited", remedy="again",
            cancelled="submit it again", at=AT, events=EVENTS, **more,
        )  # fmt: skip

    def orphans(self, worker: str | None = None) -> list[rows.OrphanRow]:
        found = self.db.read(rows.OrphanRow, "jobs/orphans", worker=worker)
        return [row for row in found if row.id.startswith(self.kind)]

    def clean(self) -> None:
        """Remove everything of this kind."""
        self.cypher(
            "MATCH (j:Job {kind: $kind}) OPTIONAL MATCH (p:Post)-[:ASKS_FOR]->(j)"
            " DETACH DELETE p, j",
            kind=self.kind,
        )
        self.cypher(
            "MATCH (s) WHERE s:Worker AND s.id STARTS WITH $kind DELETE s",
            kind=self.kind,
        )


@pytest.fixture(scope="module")
def admin(server: dict[str, str]) -> Iterator[neo4j.Driver]:
    auth = (server["THINKEVAL_NEO4J_USER"], server["THINKEVAL_NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(server["THINKEVAL_NEO4J_URI"], auth=auth) as driver:
        yield driver


@pytest.fixture
def queue(db: Database, admin: neo4j.Driver) -> Iterator[Queue]:
    made = Queue(db, admin, f"kind{uuid.uuid4().hex[:8]}")
    yield made
    made.clean()
