"""Strength of an edit: its update times a factor, without a new optimisation.

The only strength parameter common to all methods that change weights, so that they can be compared
at equal efficacy. (Method-specific parameters such as v_lr also change the update's direction.)
"""

from __future__ import annotations

import math
from dataclasses import replace

from torch import Tensor

from ..errors import EditingError
from ..linear_algebra import in_float64
from . import EditEffect


def scaled(effect: EditEffect, factor: float) -> EditEffect:
    """The effect with all updates times a factor; 1 returns the effect itself, 0 is no edit.

    `residual_left` was measured at strength 1 and is dropped.

    Raises:
        EditingError: the effect changes the prompt, or the factor is negative or not finite.
    """
    if not (math.isfinite(factor) and factor >= 0):
        raise EditingError(
            f"the strength of an edit is {factor}",
            remedy="Use a number of 0 or more; 1 is the unscaled edit.",
        )
    if factor == 1:
        return effect
    if effect.prompt_change is not None:
        raise EditingError(
            "an edit that changes the prompt cannot be scaled",
            remedy="Leave the strength at 1 for this method.",
        )
    factors = {n: (in_float64(left) * factor, right) for n, (left, right) in effect.factors.items()}

    def of(name: str) -> Tensor:
        if name not in factors:
            return (in_float64(effect.deltas[name]) * factor).float()
        left, right = factors[name]
        return (left @ in_float64(right)).float()

    deltas = {name: of(name) for name in effect.deltas}
    return replace(effect, deltas=deltas, factors=factors, residual_left={})
