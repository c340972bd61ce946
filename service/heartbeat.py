"""The heartbeat: a second thread that renews a lease, reports progress, and learns of cancelling.

One query each time: as soon as the progress has changed (at most twice a second), else every ten
seconds, or six times within a short lease. The server commits it, so a process that is stopped
meanwhile does not keep its job locked. Workers and commands use the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..cypher import rows
from ..cypher.errors import GraphError
from .leases import Lease

if TYPE_CHECKING:
    from ..cypher.run import Database

TICK_S = 0.25
CHANGED_S = 0.5
"""Progress that changes all the time is not sent more often."""
QUIET_S = 10.0
"""Longest time between two heartbeats."""


class State(NamedTuple):
    """The content of a heartbeat: the lease (None: idle), and the progress of the job."""

    lease: Lease | None = None
    stage: str | None = None
    progress: float | None = None


class Heartbeat:
    """A context manager: the thread lives as long as the block.

    Args:
        database: the open database; None while there is none.
        state: the state to send.
        interrupt: called after each heartbeat of a job with its lease, True if that belongs to
            another now, and True if the job shall be cancelled.
        lease_s: length of the leases.
        worker: the worker's entry in the list: its id and its properties; empty for a command.
        tick: called a few times a second.
    """

    def __init__(
        self,
        database: Callable[[], Database | None],
        state: Callable[[], State],
        interrupt: Callable[[Lease, bool, bool], None],
        *,
        lease_s: float,
        worker: dict[str, Any] | None = None,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self._database, self._state, self._interrupt = database, state, interrupt
        self._worker, self._tick = worker or {}, tick
        self._quiet_s = min(QUIET_S, lease_s / 6)
        self._end = threading.Event()
        self._wake = threading.Event()
        self._exchange = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._wake.set()
        self._thread.join()

    def wake(self) -> None:
        """Send the next heartbeat at once; may be called from any thread."""
        self._wake.set()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No heartbeat while the block runs: the database is exchanged."""
        with self._exchange:
            yield

    def _run(self) -> None:
        sent, at = State(), -self._quiet_s
        while not self._end.is_set():
            self._tick()
            state, quiet = self._state(), time.monotonic() - at
            changed = state != sent and quiet >= CHANGED_S
            if changed or quiet >= self._quiet_s or self._wake.is_set():
                self._wake.clear()
                self._send(state)
                sent, at = state, time.monotonic()
            self._wake.wait(min(TICK_S, self._quiet_s / 2))

    def _send(self, state: State) -> None:
        lease = None if state.lease is None or state.lease.ended else state.lease
        if lease is None and not self._worker:
            return
        with self._exchange:
            database = self._database()
            if database is None:
                return
            try:
                told = database.write_implicitly(
                    rows.HeartbeatRow,
                    "jobs/heartbeat",
                    **self._worker,
                    **(lease.params if lease else {}),
                    stage=state.stage,
                    progress=state.progress,
                )[0]
            except GraphError:
                return  # the main thread notices by itself
        if lease is not None and not lease.ended:
            self._interrupt(lease, not told.valid, told.cancel)
