"""The device and the precision of linear algebra."""

from __future__ import annotations

import torch

from thinkeval.editing.linear_algebra import in_float64, linear_algebra_device


def test_float64_is_where_the_device_has_it() -> None:
    assert linear_algebra_device(torch.device("mps", 0)) == torch.device("cpu")
    for device in (torch.device("cpu"), torch.device("cuda", 1)):
        assert linear_algebra_device(device) == device
    wide = torch.ones(2, dtype=torch.float64)
    assert in_float64(wide) is wide
