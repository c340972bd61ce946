"""Co-edits as jobs of the queue: checked, submitted, and run under a lease.

The job has the id of its co-edit, so that the same request again is the same job; rounds that were
scored before a worker was killed are found. Nothing here imports torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ....cypher import rows
from ....loaders.records import digest
from ...graphs import datasets
from ...graphs.datasets import own_or_stored
from ...graphs.write import rewrite_row
from ...jobs import submit
from ...jobs.job import JobProgress
from ...jobs.submit import Posted, accept
from ...leases import Lease
from ..schemas import CoEditIn, RoundOut
from . import store

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ....cypher.sending import Tx
    from ...scoring.runtime import Runtime
    from ...settings import Settings

COEDIT = "coedit"
"""The kind of job that co-edits."""


class CoEditJob:
    """A submitted co-edit."""

    KIND: ClassVar[str] = COEDIT

    def __init__(self, row: rows.ClaimJobRow, lease: Lease) -> None:
        self._request = row.request
        self._rounds = 1
        self.progress = JobProgress(lease)

    def run(self, runtime: Runtime) -> None:
        """Score its rounds, and store the frontier."""
        from .run import co_edit  # imports numpy

        posted = CoEditIn.model_validate_json(self._request)
        rewrite = own_or_stored(runtime.db, posted.graph, str(posted.rewrite))
        submit.check(runtime.settings, posted)
        self._rounds = posted.rounds + 1
        lease = self.progress.lease
        self.progress.enter("the edit alone", 0.0)
        co_edit(runtime, posted, rewrite, lease=lease, report=self._round)
        lease.succeed(runtime.db.write)
        lease.ended = True

    def _round(self, row: RoundOut) -> None:
        ifr = "–" if row.ifr is None else f"{row.ifr:.3f}"
        words = f"round {row.number}: {row.facts} facts edited, IFR {ifr}"
        self.progress.enter(words, min((row.number + 1) / self._rounds, 1.0))

    @staticmethod
    def drop(db: Database, job: str) -> None:
        """Rounds are results by themselves: they stay."""


def post(db: Database, settings: Settings, posted: CoEditIn, *, key: str | None = None) -> Posted:
    """Accept a co-edit; one that was done is done again only with `force`.

    Args:
        key: the client's idempotency key; the same key and body give the same job for ever.

    Raises:
        QueueFullError: too many jobs wait already.
        ConflictError: the key belongs to another body.
        NotFoundError, UsageError, EditingError: a worker would refuse it.
    """
    from .check import check

    submit.check(settings, posted)
    datasets.ensure(db, posted.graph)
    rewrite = submit.rewrite_of(db, posted)
    check(posted, rewrite)
    named = posted.model_copy(update={"rewrite": rewrite.id})
    id = store.id_of(db, posted, rewrite)
    job = {
        "id": id,
        "request": named.model_dump_json(),
        "affinity": submit.affinity_of(
            posted.model, posted.graph, posted.dtype, posted.revision, posted.organism_seed
        ),
        "total": posted.rounds + 1,
        "properties": {"graph": posted.graph, "method": posted.method, "rewrite": rewrite.id},
    }
    body = digest([posted.model_dump(mode="json", exclude={"rewrite"}), rewrite.identity], 16)
    again = posted.force or not db.read(rows.CoEditRow, "leakcut/coedits", id=id)

    def write(tx: Tx) -> Posted:
        tx.run(
            rows.WrittenRow,
            "graph/merge_rewrites",
            dataset=posted.graph,
            rows=[rewrite_row(rewrite)],
        )
        (accepted,) = accept(tx.run, settings, COEDIT, [job], key=key, body=body, again=again)
        return accepted

    return db.atomically(write)
