"""Every measurement and method on an emulated accelerator gives the numbers of the CPU."""

from __future__ import annotations

import json
import sys

import pytest

from support.own_process import reported

CLOSE = 1e-5
OF_ROUNDING = {"npo": 1e-3}
"""Adam moves a weight whose gradient is rounding by a whole step: here one of some thousand."""


@pytest.mark.parametrize("kind", ["cuda", "mps"])
def test_every_method_computes_on_a_device_as_on_the_cpu(kind: str) -> None:
    """In a process of its own: the emulated device is one for the whole process."""
    found = reported(__file__, kind)
    assert not {name: error for name, (_, error) in found.items() if error}
    assert {"likelihoods", "own texts", "covariance", "rome", "memit", "mend"} < set(found)
    apart = {name: x for name, (x, _) in found.items() if not x <= OF_ROUNDING.get(name, CLOSE)}
    assert apart == {}


def _report(kind: str) -> dict[str, tuple[float | None, str]]:
    """{stage: (difference from the CPU, error)} of the check of the emulated device."""
    import torch

    from support.emulated import NAME, emulated  # before the first backward pass
    from thinkeval.editing import device_check

    with emulated(kind):  # type: ignore[arg-type]
        stages = device_check.stages(torch.device(NAME, 0))
        return {stage.name: (stage.difference, stage.error) for stage in stages}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_report(sys.argv[1])))
