"""Comparison of many states on the executors of an engine: each state with the base is one task.

An executor stores the comparison of its state, which the command then finds, as it would find one
that an earlier run had stored before it was interrupted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..base.formatting import pluralize
from ..states.compare import compare
from ..states.schemas import ComparisonIn
from . import pool

if TYPE_CHECKING:
    from ..scoring.runtime import Runtime


@dataclass(frozen=True, slots=True)
class OneState:
    """The comparison of one state with the base."""

    posted: ComparisonIn

    @property
    def affinity(self) -> str:
        """The base, which all have."""
        return self.posted.base.name

    def run(self, runtime: Runtime, progress: pool.Counted) -> str:
        """Compare and store; return the comparison's id. Raises as `compare`."""
        return compare(runtime, self.posted).id


def ahead(runtime: Runtime, posted: ComparisonIn, executors: int | None) -> ComparisonIn:
    """Compare each state on the engine of the settings; return the request that finds all of them.

    The first state comes alone: the others find the answers of the base that it stores.

    Args:
        executors: None takes all that a Ray cluster has room for, and this process else.

    Raises:
        UsageError: the engine cannot be used.
        CommandStoppedError: a state cannot be compared; what is stored is found by the next run.
    """
    if not pool.wanted(runtime.settings, executors):
        return posted
    tasks = [OneState(posted.model_copy(update={"states": [state]})) for state in posted.states]
    total, done = len(tasks), 0
    runtime.log(f"{pluralize(total, 'state')} on executors")
    with pool.opened(runtime.settings, executors) as engine:
        for part in (tasks[:1], tasks[1:]):
            for place, result in pool.Pool(engine, part, runtime.log).run(executors or engine.room):
                pool.required(result)
                done += 1
                runtime.progress(done, total, f"states: {part[place].posted.states[0].name}")
    return posted.model_copy(update={"force": False})
