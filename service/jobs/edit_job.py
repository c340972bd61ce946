"""Job handler for edits: score one; delete its data if it ends without a score."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ...cypher import rows
from ..graphs.datasets import own_or_stored
from ..leases import Lease
from ..schemas import EditIn
from ..scoring.request import ScoreRequest
from . import queue, submit
from .job import JobProgress

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..scoring.runtime import Runtime

PART = 5000
"""Entities that are deleted in one transaction."""


class EditJob:
    """A submitted edit."""

    KIND: ClassVar[str] = queue.EDIT

    def __init__(self, row: rows.ClaimJobRow, lease: Lease) -> None:
        self._request = row.request
        self.progress = JobProgress(lease)

    def run(self, runtime: Runtime) -> None:
        """Score it."""
        from ..scoring.score import score_edit  # imports numpy

        posted = EditIn.model_validate_json(self._request)
        rewrite = own_or_stored(runtime.db, posted.graph, str(posted.rewrite))
        submit.check(runtime.settings, posted)
        score_edit(runtime, ScoreRequest.of(rewrite, posted), lease=self.progress.lease)

    @staticmethod
    def drop(db: Database, job: str) -> None:
        """Delete the graph of an edit that ended without a score: it was written, not recorded."""
        while db.write(int, "edits/drop_unfinished", id=job, limit=PART)[0]:
            pass
