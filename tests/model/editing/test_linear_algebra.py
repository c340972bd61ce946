"""Linear algebra on a device without float64: every method's updates are those of the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from support.edit_methods import ALL, HARRY, WITHOUT_UPDATE, execute
from support.tiny_models import CORPUS, build_tiny
from thinkeval.editing import covariance, linear_algebra
from thinkeval.editing.deltas.strength import scaled
from thinkeval.editing.linear_algebra import in_float64, linear_algebra_device
from thinkeval.editing.sequence import combined

METHODS = [name for name in ALL if name not in WITHOUT_UPDATE]
OPTIONS = {"context_templates": ["{}"]}


def test_float64_is_where_the_device_has_it():
    assert linear_algebra_device(torch.device("mps", 0)) == torch.device("cpu")
    for device in (torch.device("cpu"), torch.device("cuda", 1)):
        assert linear_algebra_device(device) == device
    wide = torch.ones(2, dtype=torch.float64)
    assert in_float64(wide) is wide


def _report() -> dict[str, object]:
    """{method: largest relative difference of its updates}, made on the emulated device."""
    from support.without_float64 import NAME, on_narrow_device, to_cpu

    pair = build_tiny("llama", n_layers=2)
    pair[0].set_attn_implementation("eager")  # SDPA chooses its kernel by the name of the device
    texts = CORPUS * 8
    moments = covariance.collect(*pair, texts, [0, 1], dtype="float64")
    plain = {n: execute(n, pair, [HARRY], dict(moments), **OPTIONS) for n in METHODS}
    found: dict[str, object] = {}
    with on_narrow_device(pair[0]):
        assert next(pair[0].parameters()).device.type == NAME
        try:
            execute("rome", pair, [HARRY], dict(moments), **OPTIONS)
        except TypeError as error:
            found["unaware"] = str(error)
        linear_algebra.WITHOUT_FLOAT64 = frozenset({NAME})
        again = covariance.collect(*pair, texts, [0, 1], dtype="float64", weights_digest="x")
        found["covariance"] = max(float((again[n] - moments[n]).abs().max()) for n in moments)
        for name in METHODS:
            effect = execute(name, pair, [HARRY], dict(moments), **OPTIONS)
            twice = combined(scaled(effect, 0.5), scaled(effect, 1.5))
            sizes = []
            for key, delta in plain[name].deltas.items():
                for other, factor in ((effect, 1), (twice, 2)):
                    change = to_cpu(other.deltas[key]) - factor * delta
                    sizes.append(float(change.norm() / delta.norm()))
            found[name] = max(sizes)
    return found


def test_every_method_edits_a_model_on_a_device_without_float64():
    """In a process of its own, since the emulated device is one for the whole process."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    ran = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    found = json.loads(ran.stdout.splitlines()[-1])
    assert "no float64" in found.pop("unaware")
    assert found.pop("covariance") < 1e-9
    assert set(found) == set(METHODS)
    assert max(found.values()) == pytest.approx(0, abs=1e-4), found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_report()))
