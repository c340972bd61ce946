"""`python -m thinkeval.service.worker`: a worker for all kinds of jobs."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from multiprocessing.connection import Connection

from . import kinds
from .base import processes
from .base.processes import collect_seldom
from .base.settings import Settings
from .experiments.job import job_of
from .experiments.worker import Worker

KINDS = tuple(job_of(kind) for kind in kinds.KINDS if kind.run is not None)
NICENESS = 5
"""The service, the database and the user's own programs come first."""


def main(
    settings: Settings | None = None,
    *,
    id: str | None = None,
    service: str | None = None,
    wakes: Connection | None = None,
) -> None:
    """Run a worker in this process until it shall stop.

    Args:
        id: of the worker, where a service started it; random else.
        service: id of that service.
        wakes: a message on it wakes the worker; its end, however the service ended, stops it.
    """
    collect_seldom()
    processes.set_up()
    os.nice(NICENESS)
    made = Worker(settings or Settings(), KINDS, id=id, service=service)
    if wakes is not None:
        threading.Thread(target=_listen, args=(made, wakes), name="parent", daemon=True).start()
    made.run()


def supervised(id: str, service: str, wakes: Connection) -> None:
    """Run a process of `thinkeval.service.experiments.supervisor.Supervisor`: see `main`."""
    main(id=id, service=service, wakes=wakes)


def _listen(worker: Worker, wakes: Connection) -> None:
    with suppress(EOFError, OSError):
        while True:
            wakes.recv_bytes()
            worker.look()
    worker.stop()


if __name__ == "__main__":
    main()
