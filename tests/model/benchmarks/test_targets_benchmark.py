"""The benchmark for GPU machines runs on any machine in its tiny form, and agrees with its peer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


@pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="installed without the benchmarks")
def test_the_tiny_form_runs():
    """Exit 0: every step count and target is the yardstick's."""
    shape, method = "gpt2-xl", "alphaedit"
    options = ["--tiny", "--json", "--shapes", shape, "--methods", method]
    done = subprocess.run(
        [sys.executable, "gpu_shapes.py", *options, "--yardstick-requests", "1"],
        cwd=BENCHMARKS / "editing",
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [line["what"].removeprefix(f"{shape} {method}, ") for line in told["lines"]] == [
        "first edit (factors C)",
        "1 edits",
        "8 edits",
    ]
    assert all(line["ours"] > 0 for line in told["lines"])
