"""The dispatcher: claims jobs for all executors of an engine, and renews their leases.

One thread, one turn after the other. A turn hears the engine, takes back jobs of executors that
died, renews the leases of those that run in one query, and claims for all idle ones in one query.
Everything that matters is in the database: a dispatcher that is killed loses nothing, as another
takes its jobs back once their leases have expired (`service.experiments.recovery`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from ...cypher import rows
from ...cypher.errors import GraphError, ServerUnavailableError
from ..base import leases
from ..base.leases import Lease, State, event, new_token
from ..experiments import recovery
from ..experiments.recovery import Kinds, Recovery
from .executor import STARTING

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..base.settings import Settings
    from .engine import Engine, Report

log = logging.getLogger("thinkeval.dispatcher")

IDLE_S = 2.0
"""Interval at which idle executors look for work that was submitted elsewhere."""
BUSY_S = 0.5
"""Progress that changes all the time is written no more often."""
RETRY_S = (0.5, 1.0, 2.0, 5.0)
"""Pauses before the database is tried again; the last one is repeated."""
RESTART_S = (0.2, 1.0, 5.0, 30.0)
"""Pauses before an executor is replaced; one that lived for LIVED_S is replaced after the first."""
LIVED_S = 60.0


@dataclass(slots=True)
class _Slot:
    """The place of one executor, and of its successors.

    Attributes:
        name: id of the executor; empty while there is none.
        due: when one is started, by the monotonic clock.
        failures: executors that died young, in a row.
        affinity: of the job that it did last.
        lease: of the job that it runs; None while it is idle.
        asked_at: when it was asked to stop that job; None if it was not.
        sent: the state that the database has of that job.
    """

    name: str = ""
    began: float = 0.0
    due: float = 0.0
    failures: int = 0
    affinity: str | None = None
    lease: Lease | None = None
    asked_at: float | None = None
    sent: State | None = None


class Dispatcher:
    """One dispatcher; `run` returns after `stop`.

    Args:
        kinds: the kinds of job that its executors run.
        database: the open database; raises ServerUnavailableError while there is none.
        away: called when a query did not reach the database.
    """

    def __init__(
        self,
        settings: Settings,
        kinds: Kinds,
        engine: Engine,
        executors: int,
        database: Callable[[], Database],
        away: Callable[[], None] = lambda: None,
    ) -> None:
        self.settings, self._kinds, self.engine = settings, kinds, engine
        self._database, self._away = database, away
        self._slots = [_Slot() for _ in range(executors)]
        self._recovery = Recovery(kinds, settings.lease_s)
        self._thread = threading.Thread(target=self.run, name="dispatcher", daemon=True)
        self._ending, self._woken = threading.Event(), threading.Event()
        self._looked_at = self._renewed_at = self._recovered_at = float("-inf")
        self._failures = 0
        self._turned_at = self._awake_since = monotonic()
        # Executors whose leases are taken back: True if that counts as a crash of the job.
        self._unsure: dict[str, bool] = {}

    def start(self) -> None:
        """Run in a thread of its own."""
        self._thread.start()

    def wake(self) -> None:
        """Look at once for work, and for cancelling; may be called from any thread."""
        self._woken.set()
        self.engine.wake()

    def stop(self) -> None:
        """Let `run` end; may be called from any thread."""
        self._ending.set()
        self.engine.wake()

    def close(self) -> None:
        """Stop, and wait for the end of all executors."""
        self.stop()
        if self._thread.is_alive():
            self._thread.join()

    def run(self) -> None:
        """Dispatch until it shall stop; jobs under way are then queued again."""
        try:
            while not self._ending.is_set():
                try:
                    self.turn()
                except Exception as error:  # an engine that fails: jobs must not wait for a restart
                    log.error("a turn failed", exc_info=error)
                    self._ending.wait(RETRY_S[-1])
        finally:
            self.engine.close()
            for slot in self._slots:
                if slot.name:
                    self._unsure[slot.name] = False  # a lease is left where it had to be killed
                    slot.name = ""
            try:
                self._take_back(self._database())
            except GraphError as error:
                log.warning("leases are left to expire: %s", error.detail)

    def turn(self) -> None:
        """Hear the engine, then look after the database once."""
        self._look_at_the_clock()
        self._start_due()
        reports = self.engine.wait(self._pause_s())
        self._look_at_the_clock()  # before a silent executor is killed
        for report in reports:
            self._note(report)
        self._end_stuck()
        if self._ending.is_set():
            return
        try:
            db = self._database()
            woken = self._woken.is_set()
            self._woken.clear()
            self._take_back(db)
            self._recover(db)
            self._renew(db, woken)
            self._claim(db, woken)
            self._failures = 0
        except GraphError as error:
            self._pause(error)

    def _look_at_the_clock(self) -> None:
        """Note that this process was stopped, and so could not listen to its executors."""
        now = monotonic()
        if now - self._turned_at > self.settings.lease_s / 4:
            self._awake_since = now
        self._turned_at = now

    def _pause_s(self) -> float:
        now = monotonic()
        due = [slot.due - now for slot in self._slots if not slot.name]
        busy = any(slot.lease for slot in self._slots)
        return max(0.0, min([*due, BUSY_S if busy else IDLE_S, self.settings.lease_s / 6]))

    def _start_due(self) -> None:
        for slot in self._slots:
            if slot.name or slot.due > monotonic():
                continue
            slot.name, slot.began, slot.affinity = new_token(), monotonic(), None
            try:
                self.engine.start(slot.name)
            except (OSError, EOFError) as error:
                self._bury(slot, f"could not be started: {error}")

    def _note(self, report: Report) -> None:
        (slot,) = [slot for slot in self._slots if slot.name == report.executor]
        if report.outcome == "died":
            # A crash of its job, if it had taken one up and was not asked to stop.
            self._unsure[slot.name] = report.begun and slot.asked_at is None
            self._bury(slot, report.detail)
        elif report.outcome == "away":
            self._unsure[slot.name] = False  # the database's fault
        slot.lease, slot.asked_at = None, None
        self._looked_at = float("-inf")

    def _bury(self, slot: _Slot, how: str) -> None:
        """Note the end of an executor; another replaces it after a pause."""
        log.warning("executor %s: %s", slot.name, how)
        lived = monotonic() - slot.began > LIVED_S
        slot.failures = 0 if lived else slot.failures + 1
        pause_s = RESTART_S[min(slot.failures, len(RESTART_S) - 1)]
        slot.due = monotonic() + min(pause_s, self.settings.restart_pause_s)
        slot.name = ""

    def _end_stuck(self) -> None:
        """Kill executors that do not stop, or have been silent for as long as a lease lasts."""
        now = monotonic()
        for slot in self._slots:
            if slot.lease is None:
                continue
            asked = slot.asked_at is not None and now - slot.asked_at > self.settings.stop_grace_s
            if asked or self._silent_s(slot.name) > self.settings.lease_s:
                self.engine.kill(slot.name)

    def _silent_s(self, name: str) -> float:
        """Return for how many seconds this process has listened to a silent executor."""
        return monotonic() - max(self.engine.heard(name).at, self._awake_since)

    def _take_back(self, db: Database) -> None:
        """Release the leases of executors that died, or whose claim may have been lost."""
        for worker, crashed in list(self._unsure.items()):
            released = recovery.recover_worker(db, self._kinds, worker, crashed=crashed)
            alive = any(worker == slot.name for slot in self._slots)
            if not alive:
                db.write(int, "jobs/forget_workers", id=worker, silent_ms=10**9)
            del self._unsure[worker]
            for job, status in released.items():
                log.warning("the executor of %s does not run it any more: it is %s", job, status)

    def _recover(self, db: Database) -> None:
        """Take back jobs whose lease has expired, of any dispatcher or command."""
        if monotonic() - self._recovered_at < self.settings.lease_s / 6:
            return
        self._recovered_at = monotonic()
        for job, status in self._recovery.run(db).items():
            log.warning("orphaned job %s is %s", job, status)

    def _renew(self, db: Database, woken: bool) -> None:
        """Renew all leases in one query: when a state has changed, else six times within a lease.

        The lease of an executor that has been silent for a quarter of it is not renewed.
        """
        now = monotonic()
        running = {slot.name: slot for slot in self._slots if slot.lease}
        heard = {slot.name: self.engine.heard(slot.name) for slot in self._slots if slot.name}
        changed = any(heard[name].state != slot.sent for name, slot in running.items())
        since = now - self._renewed_at
        quiet_s = min(leases.QUIET_S, self.settings.lease_s / 6)
        if not (since > quiet_s or (changed and since > BUSY_S) or woken):
            return
        self._renewed_at = now
        sent: list[leases.Renewal] = []
        for name, each in heard.items():
            slot = running.get(name)
            silent = self._silent_s(name) > self.settings.lease_s / 4
            if slot and not silent:
                slot.sent = each.state
            lease = slot.lease if slot and not silent else None
            if each.about:
                sent.append(leases.Renewal(lease, each.state, name, each.about))
        try:
            told = leases.renew(db, sent)
        except ServerUnavailableError:
            raise
        except GraphError as error:  # such as a deadlock: the next turn tries again
            log.info("leases were not renewed: %s", error.detail)
            self._renewed_at = float("-inf")
            return
        for row in told:
            slot = running.get(row.worker or "")
            if slot is None or slot.lease is None or slot.lease.token != row.lease:
                continue
            if row.cancel or not row.valid:
                self.engine.cancel(slot.name, slot.lease, lost=not row.valid)
                slot.asked_at = slot.asked_at or monotonic()

    def _claim(self, db: Database, woken: bool) -> None:
        """Claim a job for each idle executor, in one query."""
        now = monotonic()
        idle = {name: slot for slot in self._slots if (name := slot.name) in self.engine.ready()}
        if not idle or (now - self._looked_at < IDLE_S and not woken):
            return
        self._looked_at = now
        tokens = {name: new_token() for name in idle}
        self._unsure |= dict.fromkeys(idle, False)  # until an answer says what was claimed
        found = db.write(
            rows.ClaimJobRow,
            "jobs/claim",
            kinds=[kind.KIND for kind in self._kinds],
            lease_ms=self.settings.lease_ms,
            event=event("running", STARTING),
            rows=[
                {"worker": name, "lease": tokens[name], "affinity": slot.affinity}
                for name, slot in idle.items()
            ],
        )
        for name in idle:
            del self._unsure[name]
        for row in found:
            slot = idle[row.worker]
            slot.affinity, slot.sent = row.affinity, None
            slot.lease = Lease(tokens[row.worker], row.attempt)
            self.engine.run(row.worker, row, slot.lease)

    def _pause(self, error: GraphError) -> None:
        """The database is away: the exits of this time may be due to it."""
        pause = RETRY_S[min(self._failures, len(RETRY_S) - 1)]
        self._failures += 1
        log.warning("the database is away, trying again in %s s: %s", pause, error.detail)
        self._unsure = dict.fromkeys(self._unsure, False)
        if isinstance(error, ServerUnavailableError):
            self._away()
        self._ending.wait(pause)
