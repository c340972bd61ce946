"""A growth run in this process, under a lease, as by `thinkeval grow start`.

Its job is stored and taken in one transaction, so that no worker takes it in between. Where another
process works on it already, this one waits, and then goes through the run itself: what is stored is
not asked again.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...cypher import rows
from ..errors import KNOWN_ERRORS
from ..heartbeat import Heartbeat, State
from ..leases import Lease, event, new_token
from .job import prepare
from .run import Attempt, Report, silent

if TYPE_CHECKING:
    from ...cypher.sending import Tx
    from ..scoring.runtime import Runtime
    from .job import Prepared
    from .loop import Outcome
    from .run import Open
    from .schemas import GrowthIn

WAIT_S = 0.5


@dataclass(frozen=True, slots=True)
class Grown:
    """A run after an attempt."""

    run: str
    graph: str
    outcome: Outcome


def grow(
    runtime: Runtime,
    posted: GrowthIn,
    *,
    as_new: bool = False,
    report: Report = silent,
    open: Open | None = None,
) -> Grown:
    """Grow a graph here and now; the same request again continues its run.

    Args:
        as_new: begin another run of the same request.
        report: called with each iteration's row.
        open: opens an endpoint; None for the usual way.

    Raises:
        EndpointError: the run is paused.
        ConflictError, UsageError, NotFoundError: as `service.growth.job.prepare`.
    """
    prepared = prepare(runtime.db, posted, as_new=as_new)
    lease = _begin(runtime, prepared)
    state, lease_s = State(lease), runtime.settings.lease_s
    with Heartbeat(lambda: runtime.open_database, lambda: state, _ignore, lease_s=lease_s):
        try:
            outcome = Attempt(
                runtime, prepared.id, prepared.request, lease=lease, report=report, open=open
            ).run()
            lease.succeed(runtime.db.write)
            lease.ended = True
        except BaseException as error:
            with suppress(*KNOWN_ERRORS):
                if not lease.ended:
                    lease.fail(runtime.db.write, error)
            raise
    return Grown(prepared.id, prepared.request.graph or "", outcome)


def _begin(runtime: Runtime, prepared: Prepared) -> Lease:
    """Store the run and take its lease; wait while another process has it."""
    token = new_token()

    def begin(tx: Tx) -> rows.BeginJobRow:
        prepared.submit(tx.run, runtime.settings)
        (found,) = tx.run(
            rows.BeginJobRow,
            "jobs/begin",
            id=prepared.id,
            lease=token,
            lease_ms=runtime.settings.lease_ms,
            stage="growing",
            progress=0.0,
            event=event("running", "growing", 0.0),
        )
        return found

    while True:
        found = runtime.db.atomically(begin)
        if found.begun:
            return Lease(token, found.attempt)
        while runtime.db.read(bool, "jobs/busy", id=prepared.id)[0]:
            runtime.progress(0, 1, "another process grows this graph, waiting")
            time.sleep(WAIT_S)


def _ignore(lease: Lease, lost: bool, cancel: bool) -> None:
    """Both are noticed with the next stored answers."""
