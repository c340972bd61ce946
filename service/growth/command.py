"""A growth run in this process, under a lease, as by `thinkeval grow start`.

Its job is stored and taken in one transaction, so that no worker takes it in between. Where another
process works on it already, this one waits, and then goes through the run itself: what is stored is
not asked again.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ...cypher import rows
from ..errors import KNOWN_ERRORS
from ..heartbeat import Heartbeat, State
from ..leases import Lease, event, new_token
from .kind import GROWTH
from .request import prepare
from .run import Attempt, Report, silent

if TYPE_CHECKING:
    from ...cypher.sending import Tx
    from ..experiments.kind import Prepared
    from ..scoring.runtime import Runtime
    from .run import Open
    from .schemas import GrowthIn, GrowthOut

WAIT_S = 0.5


def grow(
    runtime: Runtime,
    posted: GrowthIn,
    *,
    report: Report = silent,
    open: Open | None = None,
) -> GrowthOut:
    """Grow a graph here and now; the same request again continues its run.

    Args:
        report: called with each iteration's row.
        open: opens an endpoint; None for the usual way.

    Raises:
        EndpointError: the run is paused.
        ConflictError, UsageError, NotFoundError: as `service.growth.request.prepare`.
    """
    prepared = prepare(runtime.db, posted)
    lease = _begin(runtime, prepared)
    state, lease_s = State(lease), runtime.settings.lease_s
    with Heartbeat(lambda: runtime.open_database, lambda: state, _ignore, lease_s=lease_s):
        try:
            Attempt(
                runtime, prepared.id, prepared.request, lease=lease, report=report, open=open
            ).run()
            lease.succeed_with(runtime.db, prepared.id)
        except BaseException as error:
            with suppress(*KNOWN_ERRORS):
                if not lease.ended:
                    lease.fail(runtime.db.write, error)
            raise
    return GROWTH.store.result(runtime.db, prepared.id)


def _begin(runtime: Runtime, prepared: Prepared[GrowthIn]) -> Lease:
    """Store the run and take its lease; wait while another process has it."""
    token = new_token()

    def begin(tx: Tx) -> rows.BeginJobRow:
        GROWTH.store.enqueue(tx, runtime.settings, prepared)
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
