"""Device and precision of linear algebra: float64, on the CPU where the model's device has none.

The updates are solved for in float64. Apple's MPS devices have no float64, so keys, residuals and
weights of a model there are moved to the CPU before they are widened.
"""

from __future__ import annotations

import torch
from torch import Tensor

WITHOUT_FLOAT64 = frozenset({"mps"})
"""Types of devices that have no float64."""


def linear_algebra_device(device: torch.device) -> torch.device:
    """The device of float64 algebra on tensors of a device: itself, or the CPU."""
    return torch.device("cpu") if device.type in WITHOUT_FLOAT64 else device


def in_float64(tensor: Tensor) -> Tensor:
    """The tensor in float64, on the `linear_algebra_device` of its device."""
    # In two steps: a conversion during the copy may take place on the old device.
    return tensor.to(linear_algebra_device(tensor.device)).to(torch.float64)
