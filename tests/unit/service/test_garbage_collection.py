"""The program ends without a last collection once it has imported torch, and as usual before."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys, types

from thinkeval.service.base.processes import LastExit

class Left:
    def __del__(self):
        print("collected")

torch, code = sys.argv[1:]
if torch == "torch":
    sys.modules["torch"] = types.ModuleType("torch")
last = LastExit()
atexit.register(print, "registered later")
left = Left()
left.itself = left
del left
print("answer")
if code != "none":
    last.code = int(code)
sys.exit(3)
"""


@pytest.mark.parametrize(
    ("torch", "code", "ends", "lines"),
    [
        ("torch", "3", 3, ["answer", "registered later"]),
        ("torch", "0", 0, ["answer", "registered later"]),
        ("torch", "none", 3, ["answer", "registered later", "collected"]),
        ("no torch", "3", 3, ["answer", "registered later", "collected"]),
    ],
)
def test_the_program_ends_with_its_code_and_all_that_it_printed(
    torch: str, code: str, ends: int, lines: list[str]
) -> None:
    command = [sys.executable, "-c", PROGRAM, torch, code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (ends, lines, "")
