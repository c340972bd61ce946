"""Lines of states as jobs of the queue: checked, submitted, and run under a lease.

A worker that is killed leaves comparisons and fine-tunes, which its successor finds. Nothing here
imports torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ...cypher import rows
from ...loaders.records import digest, slug
from .. import NUMBERS_VERSION
from ..errors import UsageError
from ..jobs import submit
from ..jobs.job import JobProgress, hold_for_tests
from ..jobs.submit import Posted, accept
from ..leases import Lease
from ..rules.groundings import rules_for
from ..scoring import deltas, record
from ..states.allow import require_allowed
from ..states.words import StateIn
from . import line
from .schemas import LastingIn

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..schemas import Score
    from ..scoring.runtime import Runtime
    from ..settings import Settings

LASTING = "lasting"
"""The kind of job that puts later changes on an edit."""
ORGANISM = "organism"
"""In place of the base where the lists of models are not asked: the worker asks them, since only
the saved update has the base's whole name."""


class LastingTask:
    """A submitted line of states."""

    KIND: ClassVar[str] = LASTING

    def __init__(self, row: rows.ClaimJobRow, lease: Lease) -> None:
        self._request = row.request
        self.progress = JobProgress(lease)

    def run(self, runtime: Runtime) -> None:
        """Compare each state with the base, and store the line."""
        from ...editing.deltas.files import load
        from .lasting import lasting  # imports numpy

        posted = LastingIn.model_validate_json(self._request)
        lease = self.progress.lease

        def enter(stage: str, reached: float) -> None:
            lease.stage(runtime.db.write, stage, reached)
            self.progress.enter(stage, reached)
            hold_for_tests(stage, lambda: lease.stage(runtime.db.write, stage, reached))

        require_line(runtime.settings, runtime.db, posted)
        model = load(deltas.find(runtime, posted.edit)).meta.model
        submit.require_allowed(runtime.settings, model or "")
        found = lasting(runtime, posted, lease=lease, enter=enter)
        lease.succeed_with(runtime.db, found.id)

    @staticmethod
    def drop(db: Database, job: str) -> None:
        """Its comparisons stay: each is whole, and found when it is submitted again."""


def require_line(settings: Settings, db: Database, posted: LastingIn) -> Score:
    """The score of the edit, once all that is put on its model is allowed by the operator.

    Raises:
        UsageError: a later change that cannot be read, or a file or folder that is not allowed.
        NotFoundError, NothingStoredError: an edit that is not stored, or has no saved update;
            implications of a graph without kept rules.
    """
    score = record.get_score(db, posted.edit)
    if posted.implications:
        rules_for(db, score.dataset)
    then = [line.parse(text) for text in posted.then]
    line.check(then)
    edits = (posted.edit, *(each.edit for each in then if isinstance(each, line.Edit)))
    adapters = [each.folder for each in then if isinstance(each, line.Adapter)]
    for adapter in adapters or [None]:
        require_allowed(settings, db, StateIn(model=ORGANISM, edits=edits, adapter=adapter))
    for each in then:
        if isinstance(each, line.FineTune) and not each.of_graph:
            _require_file(settings, each.source)
    return score


def _require_file(settings: Settings, source: str) -> None:
    """Refuse a file to learn from that is outside of the operator's folders."""
    if not submit.in_model_dirs(settings, str(Path(source).parent)):
        raise UsageError(
            f"The file {source!r} is not in a folder that this service may read.",
            remedy="Name it by its whole path; the operator adds folders to THINKEVAL_MODEL_DIRS.",
        )


def post(db: Database, settings: Settings, posted: LastingIn, *, key: str | None = None) -> Posted:
    """Accept a line; one that was done is done again only with `force`.

    Args:
        key: the client's idempotency key; the same key and body give the same job for ever.

    Raises:
        QueueFullError: too many jobs wait already.
        ConflictError: the key belongs to another body.
        NotFoundError, NothingStoredError, UsageError: a worker would refuse it.
    """
    score = require_line(settings, db, posted)
    posted = posted.model_copy(update={"graph": score.dataset})
    left_out = {"force"} if posted.implications else {"force", "implications"}  # keeps older ids
    about = posted.model_dump(mode="json", exclude=left_out)
    id = f"{LASTING}-job-{slug(posted.edit)[:40]}-{digest([about, NUMBERS_VERSION], 10)}"
    job = {
        "id": id,
        "request": posted.model_dump_json(),
        "affinity": submit.affinity_of(score.model, score.dataset, posted.dtype, None),
        "properties": {"graph": score.dataset, "edit": posted.edit, "then": posted.then},
    }
    (accepted,) = db.atomically(
        lambda tx: accept(
            tx.run, settings, LASTING, [job], key=key, body=digest(about, 16), again=posted.force
        )
    )
    return accepted
