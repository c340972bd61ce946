"""Draws the pictures of README and site: the leakage map of the demo's edit by MEMIT.

    python docs/generate/pictures.py

Scores the edit if it is not stored, in the user's own database, and draws it by
`thinkeval report EDIT --figures`. Another processor edits SmolLM2 to slightly other numbers, so the
picture is made by hand and is not compared by a test.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURES = Path(__file__).resolve().parents[1] / "pictures"
GRAPH, REWRITE = "world", "shanghai--is-a-city-on--europe"
EDITED = ("--model", "smollm2", "-m", "memit")


def thinkeval(*arguments: str) -> str:
    """Standard output of a command of the installed program."""
    program = Path(sys.executable).with_name("thinkeval")
    done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def main() -> None:
    """Score, draw, and copy the picture under its name."""
    thinkeval("import", GRAPH)
    (score,) = json.loads(
        thinkeval("score", REWRITE, "-g", GRAPH, *EDITED, "--samples", "0", "--json")
    )
    with tempfile.TemporaryDirectory() as folder:
        edit = score["edit"]
        thinkeval("report", edit, "--figures", folder, "--figure-format", "svg")
        PICTURES.mkdir(exist_ok=True)
        shutil.copyfile(Path(folder, f"leakage-{edit}.svg"), PICTURES / "leakage-map.svg")
    print(f"Wrote {PICTURES / 'leakage-map.svg'}")  # noqa: T201


if __name__ == "__main__":
    main()
