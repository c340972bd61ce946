"""Start the engine that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .local import LocalEngine

if TYPE_CHECKING:
    from ..base.settings import Settings
    from .engine import Engine
    from .executor import Make


def start_engine(settings: Settings, make: Make, executors: int | None = None) -> Engine:
    """Return the engine that the settings name; its executors are started by its user.

    Args:
        make: makes an executor in its process: a function of a module, which that can import.
        executors: how many are wanted; None: as many as there is room for.

    Raises:
        UsageError: the engine `ray` cannot be used.
    """
    if settings.engine == "ray":
        from .ray import RayEngine

        return RayEngine(settings, make, executors, settings.ray_address)
    return LocalEngine(make)
