"""Start the engine that the settings name."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from .local import LocalEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base.settings import Settings
    from .engine import Engine
    from .executor import Executor


MakeOn: TypeAlias = "Callable[[int | None], Executor]"
"""Makes an executor in its process that computes on so many threads; None: as torch chooses.

It is a function of a module, which that process can import."""


def start_engine(settings: Settings, make: MakeOn, executors: int | None = None) -> Engine:
    """Return the engine that the settings name; its executors are started by its user.

    Several executors of this machine divide its processors and GPUs; Ray divides those of a node
    itself.

    Args:
        executors: how many are wanted; None: as many as there is room for.

    Raises:
        UsageError: the engine `ray` cannot be used.
    """
    if settings.engine == "ray":
        from .ray import RayEngine

        return RayEngine(settings, partial(make, None), executors, settings.ray_address)
    several = executors or 1
    threads = None if several == 1 else max(1, (os.cpu_count() or 1) // several)
    return LocalEngine(partial(make, threads), several=several > 1)
