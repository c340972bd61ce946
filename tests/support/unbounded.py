"""Hyperparameters out of their bounds, for tests of edits that explode."""

from __future__ import annotations

import copy
from typing import TypeVar

H = TypeVar("H")


def unbounded(hparams: H, **values: float) -> H:
    """A copy with values that are not checked."""
    made = copy.copy(hparams)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made
