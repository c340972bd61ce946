"""Programs of the worker processes: an executor of a dispatcher, and a dispatcher of its own."""

from __future__ import annotations

import os
import signal

from . import kinds
from .base import processes
from .base.processes import collect_seldom
from .base.settings import Settings
from .engines.connection import Connection
from .engines.dispatcher import Dispatcher
from .engines.executor import Executor
from .engines.start import start_engine
from .experiments.job import job_of

KINDS = tuple(job_of(kind) for kind in kinds.KINDS if kind.run is not None)
NICENESS = 5
"""The service, the database and the user's own programs come first."""


def make_executor(threads: int | None) -> Executor:
    """Set this process up for an executor, and make it; the environment has its settings.

    Args:
        threads: that it computes on; None: as torch chooses.
    """
    collect_seldom()
    processes.set_up()
    os.nice(NICENESS)
    if threads is not None:
        from ..editing.models import use_threads  # imports torch

        use_threads(threads)
    return Executor(Settings(), KINDS)


def main(settings: Settings | None = None) -> None:
    """Dispatch jobs to one executor beside a service, or without one, until SIGTERM or SIGINT."""
    processes.set_up()
    settings = settings or Settings()
    connection = Connection(settings)
    engine = start_engine(settings, make_executor, 1)
    dispatcher = Dispatcher(settings, KINDS, engine, 1, connection.waited, connection.suspect)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: dispatcher.stop())
    connection.start()
    try:
        dispatcher.run()
    finally:
        connection.close()


if __name__ == "__main__":
    main()
