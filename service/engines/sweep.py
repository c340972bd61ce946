"""A sweep of the command line: in this process, or on the executors of an engine.

The cells of one rewrite are one job, as methods share its target vectors. They pass through no
queue: a service may not load the models and files that a command names, and its older jobs would
go first. Each cell is scored under a lease of its own, as by `thinkeval score`, so an executor that
is out of reach overwrites nothing. The job of one that died is given to another; what it had scored
is read from the database.
"""

from __future__ import annotations

import os
import sys
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from ...cypher import rows
from ..base.errors import KNOWN_ERRORS, SweepStoppedError, describe
from ..base.formatting import pluralize
from ..base.leases import MAX_CRASHES, Lease, State, new_token
from ..base.processes import collect_seldom
from ..base.settings import Settings
from ..experiments.job import JobProgress
from ..scoring import sweep as sweeps
from ..scoring import tasks as lm_eval
from ..scoring.resolved import require_hparams
from ..scoring.sweep import Cell, Outcome, Sweep
from .executor import Executor
from .start import start_engine

if TYPE_CHECKING:
    from ..scoring.runtime import Runtime
    from .engine import Engine, Report

SMALL = 20_000_000
"""Models of at most so many weights leave a core idle; larger ones use all of them."""
MOST = 4
"""Processes that are started where none are named."""
POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class CellsRow(rows.ClaimJobRow):
    """A job of a sweep: the cells of one rewrite, of one model and seed."""

    sweep: Sweep
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Stopped:
    """The result of a job that met an error which every other one would meet."""

    reason: str


class _Progress(JobProgress):
    """Counts the cells that are done."""

    done = 0

    @property
    def state(self) -> State:
        """The number of cells that are done, as the stage."""
        return State(f"{self.done}")


class CellsJob:
    """Scores the cells of one rewrite, one after the other."""

    KIND: ClassVar[str] = "cells"

    def __init__(self, row: rows.ClaimJobRow, lease: Lease) -> None:
        assert isinstance(row, CellsRow)
        self._row = row
        self.progress = _Progress(lease)

    def run(self, runtime: Runtime) -> list[Outcome] | Stopped:
        """Return the outcome of each cell."""
        found: list[Outcome] = []
        try:
            for outcome in sweeps.run_cells(runtime, self._row.sweep, self._row.cells):
                found.append(outcome)
                self.progress.done = len(found)
        except KNOWN_ERRORS as error:
            problem = describe(error)
            return Stopped(f"{problem.detail} {problem.remedy}")
        finally:
            runtime.targets.clear()  # no other rewrite shares them
        return found

    @staticmethod
    def drop(db: object, job: str) -> None:
        """Nothing is stored of it: its cells are edits."""


def make_executor(settings: Settings | None, threads: int | None) -> Executor:
    """Set this process up for an executor of a sweep, and make it.

    Args:
        settings: None: those of its environment, as Ray shows the arguments of an actor to all.
        threads: that it computes on; None: as torch chooses.
    """
    collect_seldom()
    if threads is not None:
        from ...editing.models import use_threads  # imports torch

        use_threads(threads)
    return Executor(settings or Settings(), (CellsJob,))


def run(runtime: Runtime, sweep: Sweep, workers: int | None = None) -> list[Outcome]:
    """Score every cell; in the order of `scoring.sweep.tasks`.

    Args:
        workers: executors; None takes all that a Ray cluster has room for, or else one a core for
            small models on the CPU, and this process for others.

    Raises:
        UsageError: as `scoring.sweep.tasks`; the engine cannot be used.
        SweepStoppedError: an executor met an error that no other cell would survive either.
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
        # Ray prints messages of its nodes to standard output, which holds the command's result.
        with redirect_stdout(sys.stderr):
            engine = start_engine(settings, partial(make_executor, None), workers)
            return _on(engine, runtime, sweep, todo, workers)
    runtime.log(f"{pluralize(total, 'edit')}; first what they share")
    weights = sweeps.prepare(runtime, sweep)
    count = how_many(runtime, len(todo), weights) if workers is None else workers
    if count > 1:
        engine = start_engine(settings, partial(make_executor, settings), count)
        return _on(engine, runtime, sweep, todo, count)
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


def _on(
    engine: Engine,
    runtime: Runtime,
    sweep: Sweep,
    todo: Sequence[tuple[Cell, ...]],
    executors: int | None,
) -> list[Outcome]:
    """Score the cells on an engine, which is closed at the end."""
    try:
        running = _Running(engine, runtime, sweep, todo)
        return running.run(min(executors or engine.room, len(todo)))
    finally:
        engine.close()


class _Running:
    """The jobs of a sweep on an engine."""

    def __init__(
        self,
        engine: Engine,
        runtime: Runtime,
        sweep: Sweep,
        todo: Sequence[tuple[Cell, ...]],
    ) -> None:
        self._engine, self._runtime, self._sweep, self._todo = engine, runtime, sweep, todo
        self._total = sum(map(len, todo))
        self._waiting = deque(range(len(todo)))
        self._given: dict[str, int] = {}
        self._deaths: Counter[int] = Counter()
        self._useless = 0
        self._found: dict[int, list[Outcome]] = {}

    def run(self, executors: int) -> list[Outcome]:
        """Return the outcome of every cell, in the order of the jobs.

        Raises:
            SweepStoppedError: as `run` of this module.
        """
        for _ in range(executors):
            self._start()
        while len(self._found) < len(self._todo):
            for name in self._engine.ready():
                if self._waiting and name not in self._given:
                    self._give(name, self._waiting.popleft())
            for report in self._engine.wait(POLL_S):
                self._note(report)
            self._tell()
        return [outcome for number in range(len(self._todo)) for outcome in self._found[number]]

    def _start(self) -> None:
        try:
            self._engine.start(new_token())
        except (OSError, EOFError) as error:
            raise SweepStoppedError(f"An executor could not be started: {error}.") from error

    def _give(self, name: str, number: int) -> None:
        cells = self._todo[number]
        model = f"{cells[0].model} {cells[0].seed}"  # another one than before is loaded anew
        row = CellsRow(name, f"{number}", CellsJob.KIND, "", model, 1, 1, (), self._sweep, cells)
        self._given[name] = number
        self._engine.run(name, row, Lease(name, number))

    def _note(self, report: Report) -> None:
        number = self._given.pop(report.executor, None)
        if report.outcome == "died":
            self._bury(report, number)
        elif number is not None and isinstance(report.result, Stopped):
            raise SweepStoppedError(report.result.reason)
        elif number is not None:
            self._end(number, report.result)

    def _bury(self, report: Report, number: int | None) -> None:
        """Give the job of an executor that died to another, but not for ever."""
        if number is None:
            self._useless += 1
            if self._useless > MAX_CRASHES:
                raise SweepStoppedError(f"Executors end before they work: {report.detail}.")
        else:
            self._deaths[number] += 1
            self._runtime.log(f"an executor died, another takes its cells: {report.detail}")
            if self._deaths[number] < MAX_CRASHES:
                self._waiting.appendleft(number)
            else:
                self._end(number, None, report.detail)
        if self._waiting or self._given:
            self._start()

    def _end(self, number: int, outcomes: list[Outcome] | None, died: str = "") -> None:
        """Note the outcomes of a job; where it has none, each cell gets the reason."""
        reason = (
            f"its worker process ended {MAX_CRASHES} times ({died}) → run the same sweep again;"
            " scored cells stay"
            if died
            else "its worker met an unexpected error, which the log above has → please report it"
        )
        found = outcomes or [Outcome(cell, error=reason) for cell in self._todo[number]]
        done = self._count()
        self._found[number] = found
        for place, outcome in enumerate(found, 1):
            self._runtime.log(f"{done + place} of {self._total}: {outcome}")

    def _count(self) -> int:
        return sum(map(len, self._found.values()))

    def _tell(self) -> None:
        """Show how many cells are done, those of jobs under way included."""
        under_way = (self._engine.heard(name).state for name in self._given)
        done = self._count() + sum(int(state.stage or 0) for state in under_way if state)
        self._runtime.progress(done, self._total, "edits")
