"""The cells of a sweep on several processes: one a core, each with a model of its own.

Small models leave cores idle; two processes use them. Each takes the cells of one rewrite at a
time. A worker that is killed loses only the rewrite it had: those cells fail with that reason, and
are scored when the sweep is run again.
"""

from __future__ import annotations

import os
import queue
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any

from .. import processes
from ..errors import KNOWN_ERRORS, SweepStoppedError, describe
from ..schemas import Score
from ..settings import Settings
from .resolved import require_hparams
from .runtime import Runtime
from .sweep import (
    Cell,
    Outcome,
    Sweep,
    prepare,
    request_of,
    run_cells,
    tasks,
)

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

SMALL = 20_000_000
"""Models of at most so many weights leave a core idle; larger ones use all of them."""

MOST = 4
POLL_S = 0.5
GOODBYE_S = 20.0

Message = tuple[str, int, int, str]
"""kind (score, failed, skipped, stopped), number of the task, number of the cell in it, text."""


def how_many(runtime: Runtime, n_tasks: int, weights: int) -> int:
    """Processes that are worth starting."""
    small_on_cpu = weights <= SMALL and runtime.settings.device in ("auto", "cpu")
    if not small_on_cpu or n_tasks < 4 or _has_accelerator():
        return 1
    return min(os.cpu_count() or 1, MOST, n_tasks)


def _has_accelerator() -> bool:
    from ...editing.models import resolve_device

    return resolve_device("auto").type != "cpu"


def run(runtime: Runtime, sweep: Sweep, workers: int | None = None) -> list[Outcome]:
    """Score every cell; in the order of `tasks`.

    Args:
        workers: processes; None takes one a core for small models on the CPU, else one.

    Raises:
        as `tasks` and `run_cells`.
    """
    todo = tasks(sweep)
    total = sum(len(cells) for cells in todo)
    require_hparams(runtime, (request_of(sweep, cell) for cells in todo for cell in cells))
    runtime.progress(0, total, "edits")
    weights = prepare(runtime, sweep)
    count = how_many(runtime, len(todo), weights) if workers is None else workers
    if count > 1:
        return run_on_processes(runtime, sweep, todo, count)
    outcomes: list[Outcome] = []
    for outcome in run_cells(runtime, sweep, (cell for cells in todo for cell in cells)):
        outcomes.append(outcome)
        runtime.progress(len(outcomes), total, "edits")
    return outcomes


def run_on_processes(
    runtime: Runtime, sweep: Sweep, todo: Sequence[tuple[Cell, ...]], workers: int
) -> list[Outcome]:
    """Score the cells of all tasks on `workers` processes; in the order of the tasks.

    Raises:
        SweepStoppedError: a worker met an error that no other cell would survive either.
    """
    context = processes.context()
    numbers, messages = context.Queue(), context.Queue()
    for number in range(len(todo)):
        numbers.put(number)
    threads = max(1, (os.cpu_count() or 1) // workers)
    arguments = (runtime.settings, sweep, todo, numbers, messages, threads)
    with _started(context, workers, arguments) as started:
        found = _collect(runtime, todo, messages, started)
    ended = sorted({str(p.exitcode) for p in started if p.exitcode}) or ["0"]
    reason = (
        f"its worker process ended early (exit code {', '.join(ended)}) → "
        "run the same sweep again; scored cells stay"
    )
    return [
        found.get((i, j)) or Outcome(cell, error=reason)
        for i, cells in enumerate(todo)
        for j, cell in enumerate(cells)
    ]


@contextmanager
def _started(context: Any, workers: int, arguments: tuple[Any, ...]) -> Iterator[list[BaseProcess]]:
    """Worker processes; interrupted, then ended, when the block is left early."""
    started = [context.Process(target=_work, args=arguments) for _ in range(workers)]
    for process in started:
        process.start()
    try:
        yield started
    except BaseException:
        for process in started:
            if process.is_alive() and process.pid:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGINT)  # lets it record its edit as cancelled
        raise
    finally:
        for process in started:
            process.join(GOODBYE_S)
            if process.is_alive():
                process.terminate()
                process.join()


def _collect(
    runtime: Runtime,
    todo: Sequence[tuple[Cell, ...]],
    messages: Queue[Message],
    started: Sequence[BaseProcess],
) -> dict[tuple[int, int], Outcome]:
    """The workers' messages, until every cell has one or no worker is left."""
    total = sum(len(cells) for cells in todo)
    found: dict[tuple[int, int], Outcome] = {}
    while len(found) < total:
        alive = any(process.is_alive() for process in started)
        try:
            kind, i, j, text = messages.get(timeout=POLL_S)
        except queue.Empty:
            if not alive:
                break
            continue
        if kind == "stopped":
            raise SweepStoppedError(text)
        score = Score.model_validate_json(text) if kind == "score" else None
        reason = text if score is None else None
        found[i, j] = Outcome(todo[i][j], score, reason, skipped=kind == "skipped")
        runtime.progress(len(found), total, "edits")
    return found


def _work(
    settings: Settings,
    sweep: Sweep,
    todo: Sequence[tuple[Cell, ...]],
    numbers: Queue[int],
    messages: Queue[Message],
    threads: int,
) -> None:
    """A worker: takes one rewrite's cells after the other until there are none."""
    from ...editing.models import use_threads

    use_threads(threads)
    with suppress(KeyboardInterrupt), Runtime(settings) as runtime:
        while True:
            try:
                number = numbers.get(timeout=POLL_S)
            except queue.Empty:
                return
            try:
                for place, outcome in enumerate(run_cells(runtime, sweep, todo[number])):
                    failed = "skipped" if outcome.skipped else "failed"
                    kind = "score" if outcome.score else failed
                    text = outcome.score.stored() if outcome.score else outcome.error
                    messages.put((kind, number, place, text or ""))
            except KNOWN_ERRORS as error:
                problem = describe(error)
                messages.put(("stopped", number, 0, f"{problem.detail} {problem.remedy}"))
                return
            runtime.targets.clear()  # no later rewrite shares them
