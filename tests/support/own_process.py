"""Run a test file as a script, in a process of its own, and read its report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def reported(file: str, *arguments: str, seconds: int = 300) -> Any:
    """The JSON that the script prints in its last line; `tests` is on its path."""
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    ran = subprocess.run(
        [sys.executable, file, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1])
