"""Submit runs of the protocol: checked, and queued as one job or found to be there already.

When a post returns, the job is committed: whatever is killed afterwards, its runs will be done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.loaders.records import digest
from thinkeval.service import __version__
from thinkeval.service.depedit import job_checks
from thinkeval.service.depedit.job_queue import DEPEDIT
from thinkeval.service.depedit.schemas import RunsIn
from thinkeval.service.graphs import datasets
from thinkeval.service.jobs import job_requests, queue
from thinkeval.service.jobs.submit import Posted, accept
from thinkeval.service.scoring.runtime import parse

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.service.settings import Settings


def post(db: Database, settings: Settings, posted: RunsIn, *, key: str | None = None) -> Posted:
    """Accept runs. The same request of the same sets and graphs is the same job.

    Args:
        key: the client's idempotency key; the same key and body give the same job for ever.

    Returns:
        The job's id, and what became of the post: `created`, `queued` again, or `known`. A job
        that succeeded is queued again where some of its runs were deleted since.

    Raises:
        QueueFullError: too many edits and jobs wait already.
        ConflictError: the key belongs to another body.
        NotFoundError, UsageError, NothingStoredError, EditingError: a worker would refuse it.
    """
    wanted = job_checks.check(settings, posted)
    sets = job_checks.sets_of(db, posted)
    total = job_checks.require_bounded(sets, wanted)
    graphs = job_checks.graphs_of(sets, posted.graph)
    contents = [datasets.graph_digest(db, graph) for graph in graphs]
    written = posted.model_copy(
        update={
            "sets": [row.id for row in sets],
            "strategies": [method.label for method in wanted],
            "editor": None,  # each strategy names its own now
        }
    )
    asked = written.model_dump(exclude={"force"})
    about = [asked, [row.content_digest for row in sets], contents, __version__]
    name = f"runs-{digest(about, 10)}"
    job = {
        "id": name,
        "request": written.model_dump_json(),
        "affinity": job_requests.affinity_of(
            posted.model, graphs[0] if len(graphs) == 1 else "", posted.dtype, posted.revision
        ),
        "total": total,
        "properties": {
            "sets": written.sets,
            "strategies": written.strategies,
            "model": parse(posted.model).name,
            "graph": posted.graph,
        },
    }
    again = posted.force or not _all_stored(db, name)
    (accepted,) = accept(
        db.write, settings, DEPEDIT, [job], key=key, body=digest(asked, 16), again=again
    )
    return accepted


def _all_stored(db: Database, job: str) -> bool:
    """Whether all runs of a job are stored; true where there is no such job."""
    found = queue.find(db, DEPEDIT, job)
    if found is None or not found.parts:
        return True
    return len(db.read(rows.ProtocolRunRow, ids=list(found.parts))) == len(found.parts)
