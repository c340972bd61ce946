"""An edit made weaker or stronger: its update times a factor, nothing optimised anew.

The one strength knob that all methods that change weights share, so that they can be compared at
equal efficacy. (Each has knobs of its own, as v_lr; those change the direction of the update too.)
"""

from __future__ import annotations

import math
from dataclasses import replace

from torch import Tensor

from thinkeval.editing.deltas import EditEffect
from thinkeval.editing.errors import EditingError


def scaled(effect: EditEffect, factor: float) -> EditEffect:
    """The effect with all updates times a factor; 1 gives the effect itself, 0 no edit at all.

    Raises:
        EditingError: the effect changes the prompt, which has no strength, or the factor is
            negative or not finite.
    """
    if not (math.isfinite(factor) and factor >= 0):
        raise EditingError(
            f"the strength of an edit is {factor}", remedy="Give a number of 0 or more; 1 is whole."
        )
    if factor == 1:
        return effect
    if effect.prompt_change is not None:
        raise EditingError(
            "an edit that changes the prompt cannot be scaled",
            remedy="Leave the strength at 1 for this method.",
        )
    factors = {n: (left.double() * factor, right) for n, (left, right) in effect.factors.items()}

    def of(name: str) -> Tensor:
        if name not in factors:
            return (effect.deltas[name].double() * factor).float()
        left, right = factors[name]
        return (left @ right.double()).float()

    deltas = {name: of(name) for name in effect.deltas}
    return replace(effect, deltas=deltas, factors=factors)
