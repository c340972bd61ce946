"""A dispatcher whose executor runs in a thread of this process, with a test's own kinds of job."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, cast

from thinkeval.cypher.run import Database
from thinkeval.service.base.settings import Settings
from thinkeval.service.engines.dispatcher import Dispatcher
from thinkeval.service.engines.executor import Executor, Make
from thinkeval.service.engines.local import LocalEngine, serve


@contextmanager
def dispatching(db: Database, settings: Settings, *kinds: type[Any]) -> Iterator[Dispatcher]:
    """A dispatcher with one executor for jobs of these kinds, for the time of a block."""

    def make() -> Executor:
        return Executor(settings, kinds)

    made = Dispatcher(settings, kinds, _ThreadEngine(make), 1, lambda: db)
    made.start()
    try:
        yield made
    finally:
        made.close()


class _ThreadEngine(LocalEngine):
    def _process(self, name: str, pipe: Connection, number: int) -> BaseProcess:
        return cast(BaseProcess, _Thread(self._make, pipe))


class _Thread:
    """A thread with the attributes of a process that the engine uses."""

    pid = exitcode = 0

    def __init__(self, make: Make, pipe: Connection) -> None:
        # The caller closes its copy once the process has started, which has one of its own.
        mine = Connection(os.dup(pipe.fileno()))
        self.sentinel, self._over = Pipe(duplex=False)
        thread = threading.Thread(target=self._run, args=(make, mine))
        self.start, self.join, self.is_alive = thread.start, thread.join, thread.is_alive

    def _run(self, make: Make, pipe: Connection) -> None:
        with pipe, self._over:
            serve(make(), pipe)
