"""Keeps the service's worker processes alive, and wakes them when something was submitted.

A worker is `python -m thinkeval.service.worker ID SERVICE` with a pipe on its standard input: a
line wakes it, the pipe's end (however the service ended) ends it. One that dies is replaced, after
a pause that grows while it keeps dying; its jobs are queued again at once.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from thinkeval.service.leases import new_token

log = logging.getLogger("thinkeval.supervisor")

PAUSE_S = (0.2, 1.0, 5.0, 30.0)
"""Before a worker is replaced; a worker that lived for a minute starts anew at the first."""
LIVED_S = 60.0
END_S = 15.0
"""How long a worker may take to release its job when the service ends."""


class Supervisor:
    """`count` workers, from `start` to `close`.

    Args:
        service: id of the service, which its workers name in their leases.
        exited: called after a worker process exited, from the thread that watches it: with the
            worker's id, and whether it died (false where the service ends it).
        longest_pause_s: no pause before a worker is replaced is longer.
    """

    def __init__(
        self,
        count: int,
        service: str = "",
        exited: Callable[[str, bool], None] = lambda worker, died: None,
        *,
        longest_pause_s: float = PAUSE_S[-1],
    ) -> None:
        self.count = count
        self._service, self._exited = service, exited
        self._longest_pause_s = longest_pause_s
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
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
            processes = list(self._processes.values())
        for process in processes:
            # A worker that is just dying, or busy and full of wake-ups, needs no more of them.
            with suppress(OSError, ValueError):
                if process.stdin is not None:
                    process.stdin.write(b"wake\n")
                    process.stdin.flush()

    def kill(self, worker: str) -> None:
        """Kill a worker that does not stop; it is replaced. Another's is left alone."""
        with self._lock:
            process = self._processes.get(worker)
        if process is not None:
            log.warning("worker %s does not stop: killing process %s", worker, process.pid)
            process.kill()

    def close(self) -> None:
        """End the workers; each releases its job."""
        self._ending.set()
        with self._lock:
            processes = list(self._processes.values())
        for process in processes:
            with suppress(OSError, ValueError):
                if process.stdin is not None:
                    process.stdin.close()
        deadline = time.monotonic() + END_S
        for process in processes:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for thread in self._threads:
            thread.join(timeout=5)

    def _keep(self, number: int) -> None:
        failures = 0
        while not self._ending.is_set():
            began = time.monotonic()
            worker = new_token()
            process = self._spawn(worker)
            if process is None:
                return
            code = process.wait()
            with suppress(OSError):
                if process.stdin is not None:
                    process.stdin.close()
            ending = self._ending.is_set()
            with self._lock:
                del self._processes[worker]
            self._exited(worker, not ending)
            if ending:
                return
            log.warning("worker %s (process %s) ended with code %s", number, process.pid, code)
            failures = 0 if time.monotonic() - began > LIVED_S else failures + 1
            pause = PAUSE_S[min(failures, len(PAUSE_S) - 1)]
            self._ending.wait(min(pause, self._longest_pause_s))

    def _spawn(self, worker: str) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._ending.is_set():
                return None
            process = subprocess.Popen(
                # -P: a folder named `thinkeval` in the working directory is not imported.
                [sys.executable, "-P", "-m", "thinkeval.service.worker", worker, self._service],
                stdin=subprocess.PIPE,
            )
            self._processes[worker] = process
            return process
