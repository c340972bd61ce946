"""Processor time of `thinkeval --help`, against importing the libraries that it cannot do without.

Both are processes of their own with all modules compiled, run in turns; the median of the rounds.
Instead: typer with its rich help, the settings' pydantic-settings, and PyYAML, imported alone.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the folder of bench.py

import bench

HELP = (sys.executable, "-m", "thinkeval", "--help")
LIBRARIES = "import typer.main, typer.rich_utils, pydantic_settings, yaml"


def main() -> int:
    """Measure, print; 0 if the target is met."""
    parser = bench.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    ours, instead = [], []
    for command in (HELP, (sys.executable, "-c", LIBRARIES)):
        processor_s(command)  # the first one may have to compile the modules
    for _ in range(options.rounds):
        ours.append(processor_s(HELP))
        instead.append(processor_s((sys.executable, "-c", LIBRARIES)))
    line = bench.Line(
        "`thinkeval --help`, processor time",
        "s",
        statistics.median(ours),
        statistics.median(instead),
        "its libraries imported alone",
        bench.Goal("ratio", ">=", 0.25),
    )
    notes = [f"{options.rounds} rounds in turns; ours from {min(ours):.2f} to {max(ours):.2f} s."]
    return bench.show("help_start", [line], notes, as_json=options.json)


def processor_s(command: Sequence[str]) -> float:
    """User and system seconds of one process."""
    before = os.times()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


if __name__ == "__main__":
    sys.exit(main())
