"""Device and precision of linear algebra: float64, on the CPU where the model's device has none.

The updates are solved for in float64. Apple's MPS devices have no float64, so keys, residuals and
weights of a model there are moved to the CPU before they are widened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor

from .errors import DeviceMemoryError

T = TypeVar("T")
CPU = torch.device("cpu")

WITHOUT_FLOAT64 = frozenset({"mps"})
"""Types of devices that have no float64."""


def linear_algebra_device(device: torch.device) -> torch.device:
    """The device of float64 algebra on tensors of a device: itself, or the CPU."""
    return torch.device("cpu") if device.type in WITHOUT_FLOAT64 else device


def in_float64(tensor: Tensor) -> Tensor:
    """The tensor in float64, on the `linear_algebra_device` of its device."""
    # In two steps: a conversion during the copy may take place on the old device.
    return tensor.to(linear_algebra_device(tensor.device)).to(torch.float64)


def else_on_cpu(compute: Callable[[torch.device], T], device: torch.device, n_bytes: int) -> T:
    """Compute on a device; where its memory or its solver fails, try once on the CPU.

    Args:
        n_bytes: memory that the computation takes, for the message.

    Raises:
        DeviceMemoryError: the CPU's memory does not suffice either.
        torch.linalg.LinAlgError: the CPU's solver fails too.
    """
    try:
        return compute(device)
    except (torch.OutOfMemoryError, torch.linalg.LinAlgError):
        pass  # Left first: the exception references the tensors of the failed try.
    try:
        return compute(CPU)
    except (MemoryError, RuntimeError) as error:
        full = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not full and "can't allocate memory" not in str(error):
            raise
        raise DeviceMemoryError(
            f"{n_bytes:,} bytes are needed for linear algebra in float64, and neither {device} nor"
            " the CPU has them"
        ) from error
