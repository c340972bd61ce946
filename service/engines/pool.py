"""Tasks of a command on the executors of an engine.

They pass through no queue: a service may not load the models and files that a command names, and
its older jobs would go first. The task of an executor that died is given to another one.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ...cypher import rows
from ..base.errors import KNOWN_ERRORS, CommandStoppedError, describe
from ..base.leases import MAX_CRASHES, Lease, State, new_token
from ..base.processes import collect_seldom
from ..base.settings import Settings
from ..experiments.job import JobProgress
from .executor import Executor
from .start import start_engine

if TYPE_CHECKING:
    from ..scoring.runtime import Runtime
    from .engine import Engine, Report

POLL_S = 0.5


class Counted(JobProgress):
    """Counts the parts of a task that are done."""

    done = 0

    @property
    def state(self) -> State:
        """The number of parts that are done, as the stage."""
        return State(f"{self.done}")


class Task(Protocol):
    """A part of a command's work, as it is sent to an executor."""

    @property
    def affinity(self) -> str:
        """The model: an executor forgets the one before where this is another."""
        ...

    def run(self, runtime: Runtime, progress: Counted) -> Any:
        """Do it, and return its result.

        Raises:
            KNOWN_ERRORS: other tasks would meet the same; the command stops.
        """
        ...


@dataclass(frozen=True, slots=True)
class Died:
    """The result of a task whose executors died MAX_CRASHES times."""

    detail: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """The result of a task that met an error which every other one would meet."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Row(rows.ClaimJobRow):
    task: Task


class TaskJob:
    """A task as the job of an executor."""

    KIND: ClassVar[str] = "task"

    def __init__(self, row: rows.ClaimJobRow, lease: Lease) -> None:
        assert isinstance(row, _Row)
        self._task = row.task
        self.progress = Counted(lease)

    def run(self, runtime: Runtime) -> Any:
        """Return the task's result, or `Stopped`."""
        runtime.executor = self.progress.lease.token
        try:
            return self._task.run(runtime, self.progress)
        except KNOWN_ERRORS as error:
            problem = describe(error)
            return Stopped(f"{problem.detail} {problem.remedy}")

    @staticmethod
    def drop(db: object, job: str) -> None:
        """Nothing is stored of the task itself."""


def make_executor(settings: Settings | None, threads: int | None) -> Executor:
    """Set this process up for an executor of a command's tasks, and make it.

    Args:
        settings: None: those of its environment, as Ray shows the arguments of an actor to all.
        threads: that it computes on; None: as torch chooses.
    """
    collect_seldom()
    if threads is not None:
        from ...editing.models import use_threads  # imports torch

        use_threads(threads)
    return Executor(settings or Settings(), (TaskJob,))


def wanted(settings: Settings, executors: int | None) -> bool:
    """Return True if tasks are for executors, and not for the process of the command."""
    return settings.engine == "ray" or executors not in (None, 1)


def required(result: Any) -> Any:
    """Return the result of a task whose loss ends the command.

    Raises:
        CommandStoppedError: there is none.
    """
    if isinstance(result, Died):
        raise CommandStoppedError(
            f"The executors of one task ended {MAX_CRASHES} times ({result.detail})."
        )
    if result is None:
        raise CommandStoppedError("A task met an unexpected error, which the log above has.")
    return result


@contextmanager
def opened(settings: Settings, executors: int | None) -> Iterator[Engine]:
    """Open the engine that the settings name, for the tasks of a command.

    Raises:
        UsageError: as `start_engine`.
    """
    on_ray = settings.engine == "ray"
    # Nodes of a cluster have settings of their own, by their environment. Ray prints messages of
    # them to standard output, which holds the command's result.
    own = None if on_ray else settings
    with redirect_stdout(sys.stderr) if on_ray else nullcontext():
        engine = start_engine(settings, partial(make_executor, own), executors)
        try:
            yield engine
        finally:
            engine.close()


class Pool:
    """Tasks on an engine; none is under way once `run` returns.

    Args:
        log: takes one line for each executor that died.
        count: called every half second with the number of done parts of the tasks under way.
        died: called with the id of an executor that died over a task, before another has it.
    """

    def __init__(
        self,
        engine: Engine,
        tasks: Sequence[Task],
        log: Callable[[str], None],
        count: Callable[[int], None] = lambda done: None,
        died: Callable[[str], object] = lambda executor: None,
    ) -> None:
        self._engine, self._tasks, self._log, self._count = engine, tasks, log, count
        self._died = died
        self._waiting = deque(range(len(tasks)))
        self._given: dict[str, int] = {}
        self._deaths: Counter[int] = Counter()
        self._useless = 0

    def run(self, executors: int) -> Iterator[tuple[int, Any]]:
        """Yield the place of each task among the tasks, with its result, as they end.

        The result is `Died` where the task ended its executors, and None where it met an unexpected
        error, which the log has.

        Raises:
            CommandStoppedError: an executor cannot be started, several ended before they worked,
                or a task met an error of KNOWN_ERRORS.
        """
        for _ in range(min(executors, len(self._tasks)) - len(self._engine.ready())):
            self._start()
        while self._waiting or self._given:
            for name in self._engine.ready():
                if self._waiting and name not in self._given:
                    self._give(name, self._waiting.popleft())
            for report in self._engine.wait(POLL_S):
                yield from self._ended(report)
            heard = (self._engine.heard(name).state for name in self._given)
            self._count(sum(int(state.stage or 0) for state in heard if state is not None))

    def _start(self) -> None:
        try:
            self._engine.start(new_token())
        except (OSError, EOFError) as error:
            raise CommandStoppedError(f"An executor could not be started: {error}.") from error

    def _give(self, name: str, number: int) -> None:
        task = self._tasks[number]
        row = _Row(name, f"{number}", TaskJob.KIND, "", task.affinity, 1, 1, (), task)
        self._given[name] = number
        self._engine.run(name, row, Lease(name, number))

    def _ended(self, report: Report) -> Iterator[tuple[int, Any]]:
        number = self._given.pop(report.executor, None)
        if report.outcome == "died":
            yield from self._bury(report, number)
        elif number is not None and isinstance(report.result, Stopped):
            raise CommandStoppedError(report.result.reason)
        elif number is not None:
            yield number, report.result

    def _bury(self, report: Report, number: int | None) -> Iterator[tuple[int, Any]]:
        """Give the task of an executor that died to another, but not for ever."""
        if number is None:
            self._useless += 1
            if self._useless > MAX_CRASHES:
                raise CommandStoppedError(f"Executors end before they work: {report.detail}.")
        else:
            self._deaths[number] += 1
            self._log(f"an executor died, another takes its task: {report.detail}")
            self._died(report.executor)
            if self._deaths[number] < MAX_CRASHES:
                self._waiting.appendleft(number)
            else:
                yield number, Died(report.detail)
        if self._waiting or self._given:
            self._start()
