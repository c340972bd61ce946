"""All kinds of experiment. A further kind is declared in its room (`kind.py`) and listed here."""

from __future__ import annotations

from typing import Any

from .depedit.kind import DEPEDIT
from .experiments.derivation import DERIVATION
from .experiments.edit import EDIT
from .experiments.kind import Kind
from .experiments.sweep import SWEEP
from .growth.kind import GROWTH
from .leakcut.coedit_kind import COEDIT
from .states.kind import COMPARISON

KINDS: tuple[Kind[Any, Any], ...] = (
    EDIT,
    SWEEP,
    COEDIT,
    COMPARISON,
    DEPEDIT,
    GROWTH,
    DERIVATION,
)
