"""A short run of the benchmark that disturbs real processes at random: nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

FAULTS = Path(__file__).resolve().parents[4] / "benchmarks" / "service" / "faults.py"


@pytest.mark.timeout(1800)
def test_ten_faults_lose_nothing_and_change_no_number(tmp_path: Path) -> None:
    """A home of its own; `python benchmarks/service/faults.py` draws hundreds."""
    env = {k: v for k, v in os.environ.items() if k != "THINKEVAL_NEO4J_URI"}
    command = [sys.executable, str(FAULTS), "--faults", "10", "--seed", "7"]
    with subprocess.Popen(
        command, env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            out, err = process.communicate(timeout=1500)
        except BaseException:
            process.send_signal(signal.SIGINT)  # it ends what it started
            process.wait(120)
            raise
    told = json.loads(out) if out.strip() else {"violations": [err]}
    assert (process.returncode, told["violations"]) == (0, []), err
    assert told["faults"] == 10
