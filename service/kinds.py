"""All kinds of experiment. A further kind is declared in its room (`kind.py`) and listed here."""

from __future__ import annotations

from typing import Any

from .depedit.kind import DEPEDIT
from .experiments.kind import Kind
from .leakcut.coedit_kind import COEDIT
from .states.kind import COMPARISON

KINDS: tuple[Kind[Any, Any], ...] = (COEDIT, COMPARISON, DEPEDIT)
