"""A sweep of the command line: in this process, or on the executors of an engine.

The cells of one rewrite are one task, as methods share its target vectors. Each cell is scored
under a lease of its own, as by `thinkeval score`, so an executor that is out of reach overwrites
nothing. Where one died, the next reads from the database what it had scored.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..base.formatting import pluralize
from ..base.leases import MAX_CRASHES
from ..experiments.edit import EDIT
from ..experiments.job import job_of
from ..experiments.recovery import recover_worker
from ..scoring import sweep as sweeps
from ..scoring import tasks as lm_eval
from ..scoring.resolved import require_hparams
from ..scoring.sweep import Cell, Outcome, Sweep
from . import pool
from .pool import Counted

if TYPE_CHECKING:
    from ..scoring.runtime import Runtime

SMALL = 20_000_000
"""Models of at most so many weights leave a core idle; larger ones use all of them."""
MOST = 4
"""Processes that are started where none are named."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one rewrite, of one model and seed, which are scored one after the other."""

    sweep: Sweep
    cells: tuple[Cell, ...]

    @property
    def affinity(self) -> str:
        """The model and its seed."""
        return f"{self.cells[0].model} {self.cells[0].seed}"

    def run(self, runtime: Runtime, progress: Counted) -> list[Outcome]:
        """Return the outcome of each cell; raises as `run_cells`."""
        found: list[Outcome] = []
        try:
            for outcome in sweeps.run_cells(runtime, self.sweep, self.cells):
                found.append(outcome)
                progress.done = len(found)
        finally:
            runtime.targets.clear()  # no other rewrite shares them
        return found


def run(runtime: Runtime, sweep: Sweep, workers: int | None = None) -> list[Outcome]:
    """Score every cell; in the order of `scoring.sweep.tasks`.

    Args:
        workers: executors; None takes all that a Ray cluster has room for, or else one a core for
            small models on the CPU, and this process for others.

    Raises:
        UsageError: as `scoring.sweep.tasks`; the engine cannot be used.
        CommandStoppedError: an executor met an error that no other cell would survive either.
        GraphError, ServiceError: the same in this process.
    """
    todo = sweeps.tasks(sweep)
    total = sum(len(cells) for cells in todo)
    requests = (sweeps.request_of(sweep, cell) for cells in todo for cell in cells)
    require_hparams(runtime, requests)
    lm_eval.load(runtime, sweep.options)  # a wrong name fails once, before a model is loaded
    runtime.progress(0, total, "edits")
    settings = runtime.settings
    if settings.engine == "ray":  # this machine may have neither a GPU nor room for the model
        runtime.log(f"{pluralize(total, 'edit')} on the Ray cluster {settings.ray_address!r}")
        return _on_engine(runtime, sweep, todo, workers)
    runtime.log(f"{pluralize(total, 'edit')}; first what they share")
    weights = sweeps.prepare(runtime, sweep)
    count = how_many(runtime, len(todo), weights) if workers is None else workers
    if count > 1:
        return _on_engine(runtime, sweep, todo, count)
    outcomes: list[Outcome] = []
    for outcome in sweeps.run_cells(runtime, sweep, (cell for cells in todo for cell in cells)):
        outcomes.append(outcome)
        runtime.progress(len(outcomes), total, "edits")
        runtime.log(f"{len(outcomes)} of {total}: {outcome}")
    return outcomes


def how_many(runtime: Runtime, n_tasks: int, weights: int) -> int:
    """Processes of this machine that are worth starting."""
    small_on_cpu = weights <= SMALL and runtime.settings.device in ("auto", "cpu")
    if not small_on_cpu or n_tasks < 4 or _has_accelerator():
        return 1
    return min(os.cpu_count() or 1, MOST, n_tasks)


def _has_accelerator() -> bool:
    from ...editing.models import resolve_device

    return resolve_device("auto").type != "cpu"


def _on_engine(
    runtime: Runtime, sweep: Sweep, todo: Sequence[tuple[Cell, ...]], executors: int | None
) -> list[Outcome]:
    """Score the cells on the engine that the settings name."""
    total = sum(map(len, todo))
    found: dict[int, list[Outcome]] = {}

    def count(under_way: int) -> None:
        runtime.progress(sum(map(len, found.values())) + under_way, total, "edits")

    def died(executor: str) -> None:
        """Release the edit that an executor was scoring; the next one need not wait for it."""
        recover_worker(runtime.db, (job_of(EDIT),), executor, crashed=False)

    tasks = [Cells(sweep, cells) for cells in todo]
    with pool.opened(runtime.settings, executors) as engine:
        running = pool.Pool(engine, tasks, runtime.log, count, died)
        for number, result in running.run(executors or engine.room):
            done = sum(map(len, found.values()))
            found[number] = _outcomes(todo[number], result)
            for place, outcome in enumerate(found[number], 1):
                runtime.log(f"{done + place} of {total}: {outcome}")
    count(0)
    return [outcome for number in range(len(todo)) for outcome in found[number]]


def _outcomes(cells: Sequence[Cell], result: list[Outcome] | pool.Died | None) -> list[Outcome]:
    """Return the outcomes of a task; where it has none, each cell gets the reason."""
    if isinstance(result, list):
        return result
    reason = "its worker met an unexpected error, which the log above has → please report it"
    if result is not None:
        reason = (
            f"its worker process ended {MAX_CRASHES} times ({result.detail}) → run the same sweep"
            " again; scored cells stay"
        )
    return [Outcome(cell, error=reason) for cell in cells]
