"""Jobs of a command on the executors of an engine.

They pass through no queue: a service may not load the models and files that a command names, and
its older jobs would go first. The job of an executor that died is given to another one.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ..base.errors import KNOWN_ERRORS, CommandStoppedError, describe
from ..base.leases import MAX_CRASHES, Lease, State, new_token
from ..base.processes import collect_seldom
from ..base.settings import Settings
from .executor import Executor
from .start import start_engine

if TYPE_CHECKING:
    from ...cypher import rows
    from ..experiments.recovery import Kinds
    from .engine import Engine, Report

POLL_S = 0.5

Turned: TypeAlias = Callable[[Sequence[State]], None]
"""Called every half second with the states of the jobs under way."""


@dataclass(frozen=True, slots=True)
class Died:
    """The result of a job whose executors died MAX_CRASHES times."""

    detail: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """The result of a job that met an error which every other one would meet."""

    reason: str


def stopped(error: Exception) -> Stopped:
    """Return the result of a job that met an error of KNOWN_ERRORS."""
    assert isinstance(error, KNOWN_ERRORS)
    problem = describe(error)
    return Stopped(f"{problem.detail} {problem.remedy}")


def make_executor(kinds: Kinds, settings: Settings | None, threads: int | None) -> Executor:
    """Set this process up for an executor of a command's jobs, and make it.

    Args:
        settings: None: those of its environment, as Ray shows the arguments of an actor to all.
        threads: that it computes on; None: as torch chooses.
    """
    collect_seldom()
    if threads is not None:
        from ...editing.models import use_threads  # imports torch

        use_threads(threads)
    return Executor(settings or Settings(), kinds)


@contextmanager
def opened(settings: Settings, kinds: Kinds, executors: int | None) -> Iterator[Engine]:
    """Open the engine that the settings name, for jobs of some kinds.

    Raises:
        UsageError: as `start_engine`.
    """
    on_ray = settings.engine == "ray"
    # Nodes of a cluster have settings of their own, by their environment. Ray prints messages of
    # them to standard output, which holds the command's result.
    own = None if on_ray else settings
    with redirect_stdout(sys.stderr) if on_ray else nullcontext():
        engine = start_engine(settings, partial(make_executor, kinds, own), executors)
        try:
            yield engine
        finally:
            engine.close()


class Pool:
    """Jobs on an engine, which `run` ends with none under way.

    Args:
        jobs: each has another id.
        log: takes one line for each executor that died.
    """

    def __init__(
        self,
        engine: Engine,
        jobs: Sequence[rows.ClaimJobRow],
        log: Callable[[str], None],
        turned: Turned = lambda states: None,
    ) -> None:
        self._engine, self._jobs, self._log, self._turned = engine, jobs, log, turned
        self._waiting = deque(range(len(jobs)))
        self._given: dict[str, int] = {}
        self._deaths: Counter[int] = Counter()
        self._useless = 0

    def run(self, executors: int) -> Iterator[tuple[int, Any]]:
        """Yield the place of each job among the jobs, with its result, as they end.

        The result is `Died` where the job ended its executors, and None where it met an unexpected
        error, which the log has.

        Raises:
            CommandStoppedError: an executor cannot be started, several ended before they worked,
                or a job returned `Stopped`.
        """
        for _ in range(min(executors, len(self._jobs))):
            self._start()
        while self._waiting or self._given:
            for name in self._engine.ready():
                if self._waiting and name not in self._given:
                    self._give(name, self._waiting.popleft())
            for report in self._engine.wait(POLL_S):
                yield from self._ended(report)
            heard = (self._engine.heard(name).state for name in self._given)
            self._turned([state for state in heard if state is not None])

    def _start(self) -> None:
        try:
            self._engine.start(new_token())
        except (OSError, EOFError) as error:
            raise CommandStoppedError(f"An executor could not be started: {error}.") from error

    def _give(self, name: str, number: int) -> None:
        self._given[name] = number
        self._engine.run(name, self._jobs[number], Lease(name, number))

    def _ended(self, report: Report) -> Iterator[tuple[int, Any]]:
        number = self._given.pop(report.executor, None)
        if report.outcome == "died":
            yield from self._bury(report, number)
        elif number is not None and isinstance(report.result, Stopped):
            raise CommandStoppedError(report.result.reason)
        elif number is not None:
            yield number, report.result

    def _bury(self, report: Report, number: int | None) -> Iterator[tuple[int, Any]]:
        """Give the job of an executor that died to another, but not for ever."""
        if number is None:
            self._useless += 1
            if self._useless > MAX_CRASHES:
                raise CommandStoppedError(f"Executors end before they work: {report.detail}.")
        else:
            self._deaths[number] += 1
            self._log(f"an executor died, another takes its job: {report.detail}")
            if self._deaths[number] < MAX_CRASHES:
                self._waiting.appendleft(number)
            else:
                yield number, Died(report.detail)
        if self._waiting or self._given:
            self._start()
