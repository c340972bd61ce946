"""Row types that rooms share: dataclasses whose fields are the columns of a query.

All metrics share MetricRow. Lists are tuples; maps are separate record types.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .append import *
    from .backup import *
    from .base import *
    from .chains import *
    from .checks import *
    from .closure import *
    from .depedit import *
    from .edits import *
    from .experiments import *
    from .forms import *
    from .graph import *
    from .growth import *
    from .jobs import *
    from .leakcut import *
    from .metrics import *
    from .rules import *
    from .states import *

_MODULES = (
    "append", "backup", "base", "chains", "checks", "closure", "depedit", "edits",
    "experiments",
    "forms", "graph", "growth", "jobs", "leakcut", "metrics", "rules", "states")  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load all row types on first access: creating them would slow down `--help` by a tenth."""
    for module in () if name.startswith("_") else _MODULES:
        found = vars(import_module(f"{__name__}.{module}"))
        globals().update({key: found[key] for key in found if not key.startswith("_")})
    if name not in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals()[name]
