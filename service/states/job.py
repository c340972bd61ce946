"""Comparisons as jobs of the queue: checked, submitted, and run under a lease.

A worker that is killed leaves nothing but model graphs, which its successor finds. Nothing here
imports torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ...cypher import rows
from ...loaders.records import digest, slug
from .. import NUMBERS_VERSION
from ..graphs import datasets
from ..jobs import submit
from ..jobs.job import JobProgress, hold_for_tests
from ..jobs.submit import Posted, accept
from ..leases import Lease
from .allow import require_allowed
from .requests import requests_of
from .schemas import ComparisonIn

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..scoring.runtime import Runtime
    from ..settings import Settings

COMPARISON = "comparison"
"""The kind of job that compares two states."""


class ComparisonTask:
    """A submitted comparison."""

    KIND: ClassVar[str] = COMPARISON

    def __init__(self, row: rows.ClaimJobRow, lease: Lease) -> None:
        self._request = row.request
        self.progress = JobProgress(lease)

    def run(self, runtime: Runtime) -> None:
        """Compare the states, and store the result."""
        from .compare import compare  # imports numpy

        posted = ComparisonIn.model_validate_json(self._request)
        lease = self.progress.lease

        def enter(stage: str, reached: float) -> None:
            lease.stage(runtime.db.write, stage, reached)
            self.progress.enter(stage, reached)
            hold_for_tests(stage, lambda: lease.stage(runtime.db.write, stage, reached))

        require_allowed(runtime.settings, runtime.db, posted.before)
        require_allowed(runtime.settings, runtime.db, posted.after)
        found = compare(runtime, posted, lease=lease, enter=enter)
        lease.succeed_with(runtime.db, found.id)

    @staticmethod
    def drop(db: Database, job: str) -> None:
        """Its graphs are replaced when it is submitted again; without a record none is listed."""


def post(
    db: Database, settings: Settings, posted: ComparisonIn, *, key: str | None = None
) -> Posted:
    """Accept a comparison; one that was done is done again only with `force`.

    Args:
        key: the client's idempotency key; the same key and body give the same job for ever.

    Raises:
        QueueFullError: too many jobs wait already.
        ConflictError: the key belongs to another body.
        NotFoundError, UsageError: a worker would refuse it.
    """
    for state in (posted.before, posted.after):
        require_allowed(settings, db, state)
    dataset = datasets.ensure(db, posted.graph)
    rewrites = requests_of(db, posted)
    identity = [rewrite.identity for rewrite in rewrites]
    left_out = {"force", "rewrites", "all_rewrites", "forget"}
    if not posted.implications:
        left_out.add("implications")  # so that requests of before it was an option keep their ids
    about = posted.model_dump(mode="json", exclude=left_out)
    id = f"comparison-{slug(posted.after.name)[:40]}-" + digest(
        [about, identity, dataset.digest, NUMBERS_VERSION], 10
    )
    job = {
        "id": id,
        "request": posted.model_dump_json(),
        "affinity": submit.affinity_of(
            posted.after.model, posted.graph, posted.dtype, posted.after.revision,
            posted.organism_seed,
        ),
        "properties": {
            "graph": posted.graph, "before": posted.before.word, "after": posted.after.word,
        },
    }  # fmt: skip
    body = digest([about, identity], 16)
    (accepted,) = db.atomically(
        lambda tx: accept(
            tx.run, settings, COMPARISON, [job], key=key, body=body, again=posted.force
        )
    )
    return accepted
