"""Control of growth runs: in this process, paused, continued after decisions, asked in advance."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ...cypher import rows
from ..base.errors import KNOWN_ERRORS
from ..base.leases import Lease, event, kept, new_token
from ..graphs.datasets import get_or_import, stored_graph
from ..scoring.runtime import parse
from . import review
from .candidates import Candidates
from .context import Answers, Budget, Context, Seat
from .elicit import open_elicitor
from .kind import GROWTH
from .request import prepare
from .review import Decision, Read
from .run import Attempt, Report, silent
from .runs import request_of, require_run
from .schemas import Recorded, RecordedFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ..base.settings import Settings
    from ..experiments.kind import Prepared
    from ..scoring.runtime import Runtime
    from .endpoint import Reply, Request
    from .run import Open
    from .schemas import EndpointIn, GrowthIn, GrowthOut


# A growth run in this process, under a lease, as by `thinkeval graph grow start`.
#
# Its job is stored and taken in one transaction, so that no worker takes it in between. Where
# another process works on it already, this one waits, and then goes through the run itself: what
# is stored is not asked again.

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
    with kept(lambda: runtime.open_database, lease, runtime.settings.lease_s):
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


# Questions of the first iteration of a run, without asking them.


class _Unopened:
    """An endpoint that is described, and never asked."""

    def __init__(self, endpoint: EndpointIn) -> None:
        self.id = self.model = endpoint.model
        self.chat = endpoint.url is not None or parse(endpoint.model).organism is None

    def ask(self, requests: Sequence[Request]) -> Iterator[list[tuple[int, Reply]]]:
        raise RuntimeError("a dry run asks nothing")

    def close(self) -> None:
        """Nothing is open."""


def first_calls(db: Database, prepared: Prepared[GrowthIn]) -> list[tuple[str, int | None]]:
    """The requests of the first iteration: (what, number of answers or None: not known).

    Raises:
        UsageError: the model cannot answer the request.
    """
    posted = prepared.request
    base = stored_graph(db, get_or_import(db, posted.base).id) if posted.base else None
    main = Seat(Answers(db, prepared.id, _Unopened(posted.answers), Budget()))
    context = Context(db, prepared.id, "", posted, main, Candidates({}), base=base)
    seed: list[tuple[str, int | None]] = []
    if posted.seed is not None and "|" in posted.seed:
        relation = context.relations.canonical(posted.seed.split("|")[1])
        if main.chat and relation not in context.relations.templates:
            seed.append(("question about the seed", 1))
        seed.append(("validation of the seed", context.samples))
    elif base is not None:
        seed.append(("validation of the graph's facts", context.samples * len(base.facts)))
    return [*seed, *open_elicitor(context).first_calls()]


# Decisions of people, and their consequence: a run that waited for the last one continues.


def decide(db: Database, settings: Settings, run: str, decisions: Sequence[Decision]) -> Recorded:
    """Record decisions of people; the run is queued again if nothing waits any more.

    Raises:
        NotFoundError: no such run or candidate.
        ConflictError: an added triplet is a candidate already.
        UsageError: no such verb, no valid name, or a correction is missing, idle or of a chain.
    """
    done = review.record(db, run, decisions)
    row = require_run(db, run)
    if row.state != "waiting_review" or row.to_review:
        return done
    prepared = prepare(db, request_of(row))  # a command may have begun it with any model
    db.atomically(lambda tx: GROWTH.store.enqueue(tx, settings, prepared))
    return done.model_copy(update={"resumed": True})


def decide_by_file(db: Database, settings: Settings, run: str, read: Read) -> RecordedFile:
    """Record the decisions of a file: all of them, or none where one is refused.

    Raises:
        NotFoundError, ConflictError, UsageError: as `decide`.
    """
    done = decide(db, settings, run, read.decisions)
    return RecordedFile(**done.model_dump(), undecided=read.undecided, judged=read.judged)
