"""Keeps the service's worker processes alive, and wakes them when something was posted.

A worker is `python -m thinkeval.service.jobs.worker --child` with a pipe on its standard input: a
line wakes it, the pipe's end (however the service ended) ends it. One that dies is replaced, after
a pause that grows while it keeps dying; what it was at goes back into the queue.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

log = logging.getLogger("thinkeval.supervisor")

PAUSE_S = (0.2, 1.0, 5.0, 30.0)
"""Before a worker is replaced; a worker that lived for a minute starts anew at the first."""
LIVED_S = 60.0
END_S = 15.0
"""How long a worker may take to put its edit back into the queue when the service ends."""


class Supervisor:
    """`count` workers, from `start` to `close`.

    Args:
        died: called after a worker has died, from the thread that watches it.
        longest_pause_s: no pause before a worker is replaced is longer.
    """

    def __init__(
        self,
        count: int,
        died: Callable[[], None] = lambda: None,
        *,
        longest_pause_s: float = PAUSE_S[-1],
    ) -> None:
        self.count = count
        self._died = died
        self._longest_pause_s = longest_pause_s
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
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

    def pids(self) -> list[int]:
        """Process ids of the workers alive."""
        with self._lock:
            return [p.pid for p in self._processes.values() if p.poll() is None]

    def close(self) -> None:
        """End the workers; each puts what it is at back into the queue."""
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
            process = self._spawn(number)
            if process is None:
                return
            code = process.wait()
            with suppress(OSError):
                if process.stdin is not None:
                    process.stdin.close()
            if self._ending.is_set():
                return
            log.warning("worker %s (process %s) ended with code %s", number, process.pid, code)
            self._died()
            failures = 0 if time.monotonic() - began > LIVED_S else failures + 1
            pause = PAUSE_S[min(failures, len(PAUSE_S) - 1)]
            self._ending.wait(min(pause, self._longest_pause_s))

    def _spawn(self, number: int) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._ending.is_set():
                return None
            process = subprocess.Popen(
                # -P: a folder named `service` where the user stands is not taken for ours.
                [sys.executable, "-P", "-m", "thinkeval.service.jobs.worker", "--child"],
                stdin=subprocess.PIPE,
            )
            self._processes[number] = process
            return process
