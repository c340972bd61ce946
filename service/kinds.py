"""All kinds of experiment. A further kind is declared in its room (`kind.py`) and listed here."""

from __future__ import annotations

from typing import Any

from .depedit.kind import DEPEDIT
from .edits.kind import EDIT
from .edits.sweep import SWEEP
from .experiments.kind import Kind
from .growth.kind import GROWTH
from .leakcut.coedit.kind import COEDIT
from .states.kind import COMPARISON

KINDS: tuple[Kind[Any, Any], ...] = (EDIT, SWEEP, COEDIT, COMPARISON, DEPEDIT, GROWTH)
