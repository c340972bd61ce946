"""Logs of the driver do not reach the terminal of a command: its one line is the error."""

from __future__ import annotations

import subprocess
import sys

WARNS = (
    "import logging, thinkeval.cypher.run\n"
    "logging.getLogger('neo4j.io').warning('RESET received IGNORED, dropping connection')\n"
)


def test_warnings_of_the_driver_are_not_printed() -> None:
    done = subprocess.run([sys.executable, "-c", WARNS], capture_output=True, text=True, check=True)
    assert done.stderr == ""
