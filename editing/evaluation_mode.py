"""Evaluation mode of a model (no dropout) for the duration of a `with` block."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put the model into evaluation mode; each module's own training flag is restored on exit.

    A model may hold modules of both modes (a frozen part that stays in evaluation mode), which
    `model.train(mode)` would make equal.
    """
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        yield
    finally:
        for module, mode in modes:
            module.training = mode
