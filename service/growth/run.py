"""One attempt at a growth run: open its models, make passes until no decision is missing, record.

Whatever ends an attempt, the next one finds every stored answer and continues.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...cypher import rows
from ..base.errors import ConflictError, EndpointError, LeaseLostError
from ..graphs.datasets import get_or_import, stored_graph
from . import prompts
from .candidates import Candidates, decisions
from .context import Answers, Budget, Context, Seat, spent
from .loop import Loop, Outcome
from .open_endpoint import Opened, opened
from .runs import require_run

if TYPE_CHECKING:
    from ..base.leases import Lease
    from ..scoring.runtime import Runtime
    from .schemas import EndpointIn, GrowthIn, GrowthOut


AS_NEW = "Start it as a new run with --as-new (`as_new` over REST); this one stays as it is."
PASSES = 20
"""Passes of one attempt, at most: decisions may come faster than passes end."""

Open = Callable[["Runtime", "EndpointIn"], Opened]
Report = Callable[[rows.IterationRow], None]


def silent(row: rows.IterationRow) -> None:
    """Report of iterations that shows nothing."""


class Attempt:
    """An attempt under a lease.

    Args:
        run: id of the run, which is stored.
        open: opens an endpoint; None for the usual way.
        report: called with each iteration's row.
    """

    def __init__(
        self,
        runtime: Runtime,
        run: str,
        posted: GrowthIn,
        *,
        lease: Lease | None = None,
        open: Open | None = None,
        report: Report = silent,
    ) -> None:
        self._runtime, self._run, self._posted = runtime, run, posted
        self._lease, self._report = lease, report
        self._open = open or self._opened
        self._row = require_run(runtime.db, run)

    def run(self) -> Outcome:
        """Make passes until the run is finished or waits for people.

        Raises:
            ConflictError: prompts or model are not those that the run began with.
            EndpointError: an endpoint does not answer: the run is paused.
        """
        began = time.monotonic()
        require_prompts(self._row)
        self._set(state="growing")
        budget = Budget(
            self._posted.max_calls,
            self._posted.max_tokens,
            self._posted.max_seconds,
            seconds=self._row.seconds,
        )
        spent(self._runtime.db, self._run, budget)
        opened_all: dict[str, Opened] = {}
        try:
            outcome = self._passes(budget, opened_all)
        except EndpointError as error:
            self._set(state="paused", reason=error.detail, seconds=time.monotonic() - began)
            raise
        except LeaseLostError:
            raise  # the run is another process's by now
        except BaseException:
            self._set(seconds=time.monotonic() - began)
            raise
        finally:
            for one in opened_all.values():
                one.endpoint.close()
        self._set(
            state=outcome.state,
            reason=outcome.reason,
            seconds=time.monotonic() - began,
        )
        return outcome

    def _passes(self, budget: Budget, opened_all: dict[str, Opened]) -> Outcome:
        posted = self._posted
        opened_all["main"] = self._open(self._runtime, posted.answers)
        self._require_same(opened_all["main"])
        if posted.judge_model is not None:
            opened_all["judge"] = self._open(self._runtime, posted.judge_model)
        for _ in range(PASSES):
            context = self._context(budget, opened_all)
            n = require_run(self._runtime.db, self._run).decisions
            outcome = Loop(context, self._report).run()
            self._settle(context, outcome)
            if require_run(self._runtime.db, self._run).decisions == n + context.judged:
                break
        return outcome  # PASSES is not 0

    def _context(self, budget: Budget, opened_all: dict[str, Opened]) -> Context:
        db, runtime = self._runtime.db, self._runtime
        decided, added = decisions(db, self._run)
        seats = {
            name: Seat(
                Answers(
                    db,
                    self._run,
                    one.endpoint,
                    budget,
                    lease=self._lease,
                    progress=runtime.progress,
                ),
                one.form,
                one.in_chat,
                one.asked,
            )
            for name, one in opened_all.items()
        }
        base = (
            stored_graph(db, get_or_import(db, self._posted.base).id) if self._posted.base else None
        )
        return Context(
            db,
            self._run,
            self._row.graph,
            self._posted,
            seats["main"],
            Candidates(decided),
            judge=seats.get("judge"),
            base=base,
            added=added,
            lease=self._lease,
            progress=runtime.progress,
        )

    def _opened(self, runtime: Runtime, endpoint: EndpointIn) -> Opened:
        main = endpoint == self._posted.answers
        return opened(
            runtime,
            endpoint,
            graph=self._posted.base or "",
            known=self._row.capabilities if main else None,
            greedy=self._posted.greedy,
            chat=self._posted.crawl.chat if main else None,
        )

    def _require_same(self, one: Opened) -> None:
        """Answers of another model are not mixed with those that are stored."""
        name, before = one.endpoint.id, self._row.endpoint
        if self._row.calls and before != name:
            raise ConflictError(
                f"Run {self._run!r} was begun with {before}, and now {name} answers.",
                remedy=AS_NEW,
            )
        self._set(endpoint=name, capabilities=one.capabilities, asked=one.asked)

    def _settle(self, context: Context, outcome: Outcome) -> None:
        ids = [one.id for one in context.candidates.all()]
        context.write(
            int, "growth/settle_run", run=self._run, ids=ids, iterations=outcome.iterations
        )

    def _set(
        self,
        *,
        state: str | None = None,
        reason: str | None = None,
        seconds: float = 0.0,
        **more: str | None,
    ) -> None:
        self._runtime.db.write(
            float,
            "growth/set_run",
            id=self._run,
            state=state,
            stop_reason=reason,
            seconds=seconds,
            **more,
        )


def require_prompts(row: GrowthOut) -> None:
    """Refuse to continue with other prompts than those a run began with.

    Raises:
        ConflictError: they changed.
    """
    if row.prompts != prompts.digest():
        raise ConflictError(
            f"The prompts of run {row.id!r} have changed since it began: its answers would mix.",
            remedy=AS_NEW,
        )
