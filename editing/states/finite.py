"""Refusal of models whose weights have NaN or infinity, before anything is asked."""

from __future__ import annotations

import torch
from torch import nn

from ..errors import ModelLoadError


def require_finite(model: nn.Module, name: str) -> None:
    """Refuse a model with a weight that is not finite.

    Reads every weight once, without a copy: `aminmax` passes NaN on.

    Args:
        name: of the model, for the error.

    Raises:
        ModelLoadError: names the first such parameter in the order of the model's modules.
    """
    for parameter, value in model.named_parameters():
        if not value.is_floating_point() or value.numel() == 0:
            continue
        least, most = torch.aminmax(value.detach())
        if not (torch.isfinite(least) and torch.isfinite(most)):
            raise ModelLoadError(
                f"the parameter '{parameter}' of '{name}' holds NaN or infinity",
                remedy="The weights are broken: the training or the edit that made them diverged, "
                "or the file is damaged. Use an earlier checkpoint, or --dtype float32 where the "
                "numbers are too large for float16.",
            )
