"""`python -m thinkeval.service.worker`: a worker for all kinds of jobs."""

from __future__ import annotations

import os
import sys
import threading

from thinkeval.service import logs
from thinkeval.service.depedit.job import DepEditJob
from thinkeval.service.garbage_collection import collect_seldom
from thinkeval.service.growth.job import GrowthJob
from thinkeval.service.jobs.edit_job import EditJob
from thinkeval.service.jobs.worker import Worker
from thinkeval.service.lasting.job import LastingTask
from thinkeval.service.leakcut.coedit.job import CoEditJob
from thinkeval.service.settings import Settings
from thinkeval.service.states.job import ComparisonTask

KINDS = (EditJob, DepEditJob, GrowthJob, CoEditJob, ComparisonTask, LastingTask)
NICENESS = 5
"""The service, the database and the user's own programs come first."""


def main(settings: Settings | None = None, *, child: tuple[str, str] | None = None) -> None:
    """Run a worker in this process until it shall stop.

    Args:
        child: ids of the worker and of the service that started it. A line on standard input wakes
            it; the stream's end, however the service ended, stops it.
    """
    collect_seldom()
    logs.set_up()
    os.nice(NICENESS)
    worker, service = child or (None, None)
    made = Worker(settings or Settings(), KINDS, id=worker, service=service)
    if child:
        threading.Thread(target=_listen, args=(made,), name="parent", daemon=True).start()
    made.run()


def _listen(worker: Worker) -> None:
    for _ in sys.stdin:
        worker.look()
    worker.stop()


if __name__ == "__main__":
    main(child=(sys.argv[1], sys.argv[2]) if len(sys.argv) > 2 else None)
