"""Keeps the service's worker processes alive, and wakes them when something was submitted.

A worker is a process with a pipe: a message wakes it, the pipe's end (however the service ended)
ends it. One that dies is replaced, after a pause that grows while it keeps dying; its jobs are
queued again at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from ..base import processes
from ..base.leases import new_token

log = logging.getLogger("thinkeval.supervisor")

PAUSE_S = (0.2, 1.0, 5.0, 30.0)
"""Before a worker is replaced; a worker that lived for a minute starts anew at the first."""
LIVED_S = 60.0
END_S = 15.0
"""Maximum time that a worker takes to release its job when the service ends."""


Work = Callable[[str, str, Connection], None]
"""Program of a worker process: takes its id, that of the service, the pipe's reading end."""


@dataclass(frozen=True, slots=True)
class _Child:
    process: BaseProcess
    wakes: Connection
    """The pipe's writing end."""


class Supervisor:
    """`count` workers, from `start` to `close`.

    Args:
        work: a function of a module, which a new process can import.
        service: id of the service, which its workers name in their leases.
        exited: called after a worker process exited, from the thread that watches it: with the
            worker's id, and True if it died (False if the service ends it).
        longest_pause_s: no pause before a worker is replaced is longer.
    """

    def __init__(
        self,
        count: int,
        work: Work,
        service: str = "",
        exited: Callable[[str, bool], None] = lambda worker, died: None,
        *,
        longest_pause_s: float = PAUSE_S[-1],
    ) -> None:
        self.count = count
        self._work = work
        self._service, self._exited = service, exited
        self._longest_pause_s = longest_pause_s
        self._ending = threading.Event()
        self._lock = threading.Lock()
        # Starting a process looks after all others: one thread at a time reads how one ended.
        self._reaping = threading.Lock()
        self._children: dict[str, _Child] = {}
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start the workers."""
        for number in range(self.count):
            thread = threading.Thread(
                target=self._keep, args=(number,), name=f"worker {number}", daemon=True
            )
            thread.start()
            self._threads.append(thread)

    def wake(self) -> None:
        """Tell all workers that there may be something to do."""
        with self._lock:
            children = list(self._children.values())
        for child in children:
            with suppress(OSError):  # it is just dying
                child.wakes.send_bytes(b"wake")

    def kill(self, worker: str) -> None:
        """Kill a worker that does not stop; it is replaced. Another's is left alone."""
        with self._lock:
            child = self._children.get(worker)
        if child is not None:
            log.warning("worker %s does not stop: killing process %s", worker, child.process.pid)
            child.process.kill()

    def close(self) -> None:
        """End the workers; each releases its job."""
        self._ending.set()
        with self._lock:
            children = list(self._children.values())
        for child in children:
            child.wakes.close()
        deadline = time.monotonic() + END_S
        for thread in self._threads:
            thread.join(max(0.1, deadline - time.monotonic()))
        with self._reaping:
            for child in children:
                if child.process.is_alive():
                    child.process.kill()
        for thread in self._threads:
            thread.join(timeout=5)

    def _keep(self, number: int) -> None:
        failures = 0
        while not self._ending.is_set():
            began = time.monotonic()
            worker = new_token()
            try:
                ended = self._run_one(worker)
            except (OSError, EOFError) as error:
                ended = f"could not be started: {error}"
            if self._ending.is_set():
                return
            log.warning("worker %s %s", number, ended)
            failures = 0 if time.monotonic() - began > LIVED_S else failures + 1
            pause = PAUSE_S[min(failures, len(PAUSE_S) - 1)]
            self._ending.wait(min(pause, self._longest_pause_s))

    def _run_one(self, worker: str) -> str:
        """Start a worker and wait for its end; returns how it ended."""
        process, wakes = self._start(worker)
        with self._lock:
            self._children[worker] = _Child(process, wakes)
        if self._ending.is_set():  # `close` did not see it
            wakes.close()
        wait([process.sentinel])
        with self._reaping:
            process.join()
        with self._lock:
            del self._children[worker]
        wakes.close()
        self._exited(worker, not self._ending.is_set())
        return f"(process {process.pid}) ended with code {process.exitcode}"

    def _start(self, worker: str) -> tuple[BaseProcess, Connection]:
        context = processes.context()
        reader, writer = context.Pipe(duplex=False)
        # A daemon, so that this process can exit while one does not: its pipe ends it.
        process = context.Process(
            target=self._work, args=(worker, self._service, reader), name=worker, daemon=True
        )
        with reader, self._reaping:
            process.start()
        return process, writer
