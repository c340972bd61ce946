"""The interface of an engine, which starts, watches and ends executors.

An executor runs one job at a time, and records how it ended. The dispatcher claims jobs, renews
their leases, and takes back those of executors that died. The engine lies between: it knows
processes, and nothing of the database.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...cypher import rows
    from ..base.leases import Lease, State

ALIVE_S = 1.0
"""Longest time between two messages of an executor that runs a job."""
END_S = 15.0
"""Maximum time that an executor takes to release its job when the engine is closed."""

Outcome: TypeAlias = Literal["ended", "away", "died"]
"""ended: the executor recorded the end of its job; away: it could not, as the database did not
answer; died: its process is gone, with or without a job."""


@dataclass(frozen=True, slots=True)
class Report:
    """The end of a job, or of an executor.

    Attributes:
        detail: for the log: how the process ended.
        begun: the executor had begun a job.
        result: of the job, where it returned one.
    """

    executor: str
    outcome: Outcome
    detail: str = ""
    begun: bool = False
    result: Any = None


@dataclass(slots=True)
class Heard:
    """The last message of an executor.

    Attributes:
        at: when it arrived, by this process's monotonic clock.
        begun: the executor has begun the job it was given.
        state: how far its job is; None before its first message.
        about: properties that are listed of the executor: device, host, process.
    """

    at: float
    begun: bool = False
    state: State | None = None
    about: dict[str, Any] = field(default_factory=dict)


class Engine(Protocol):
    """Starts, watches and ends executors; used by one thread, but for `wake`."""

    @property
    def room(self) -> int:
        """The number of executors that can run at once."""
        ...

    def start(self, name: str) -> None:
        """Start an executor; `ready` names it once it can be given a job.

        Raises:
            OSError, EOFError: it cannot be started.
        """
        ...

    def ready(self) -> Sequence[str]:
        """The executors that can be given a job."""
        ...

    def run(self, name: str, job: rows.ClaimJobRow, lease: Lease) -> None:
        """Give a ready executor a job."""
        ...

    def wait(self, timeout_s: float) -> list[Report]:
        """The jobs and executors that ended; waits until there is news, or `wake` is called."""
        ...

    def heard(self, name: str) -> Heard:
        """The last message of an executor that was started and has not died."""
        ...

    def cancel(self, name: str, lease: Lease, *, lost: bool) -> None:
        """Ask an executor to stop the job of a lease.

        Args:
            lost: the job belongs to another, so that nothing is recorded.
        """
        ...

    def kill(self, name: str) -> None:
        """End an executor for sure; `wait` reports that it died."""
        ...

    def wake(self) -> None:
        """End `wait` at once; may be called from any thread."""
        ...

    def close(self) -> None:
        """End what this engine started; a job under way is queued again by its executor."""
        ...
