"""Run what a page's tables are made from, and turn the outputs into stored tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tables
from pages import PAGES, Page, Step

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "results"
"""Outputs of steps, in a folder for each commit."""


def run(names: Sequence[str], folder: Path, *, again: bool, only: str = "") -> None:
    """Measure some pages and store their numbers; what is done at this commit is read.

    Args:
        only: the steps with this in their command alone; tables of other steps stay as they are.

    Raises:
        tables.ResultsError: no such page or step, or a command failed.
    """
    for name in names:
        if name not in PAGES:
            raise tables.ResultsError(f"No page {name!r}; there are {', '.join(PAGES)}.")
    minutes = sum(PAGES[name].minutes for name in names)
    steps = sum(only in step.command for name in names for step in PAGES[name].steps)
    if not steps:
        raise tables.ResultsError(f"No step of {', '.join(names)} has {only!r} in its command.")
    within = " at most" if only else ""
    say(f"{steps} steps, about {minutes} minutes{within} on two quiet cores.")
    done, began = 0, time.monotonic()
    for name in names:
        page, outputs = PAGES[name], list[str]()
        for place, step in enumerate(page.steps):
            if only not in step.command:
                outputs.append("")
                continue
            bar = "█" * (20 * done // steps)
            say(f"[{bar:<20}] {done} of {steps}, {(time.monotonic() - began) / 60:.0f} min: "
                f"{step.command}")  # fmt: skip
            path = WORK / commit() / f"{name}-{place}.txt"
            outputs.append(output(step, path, before=outputs[-1:], again=again))
            done += 1
        store(name, page, outputs, folder)
    say(f"[{'█' * 20}] {steps} of {steps}, {(time.monotonic() - began) / 60:.0f} min")


def store(name: str, page: Page, outputs: Sequence[str], folder: Path) -> None:
    """Store the tables of a page; those of steps that were not run (no output) stay as they are."""
    before = tables.read(name, folder)["tables"] if name in tables.pages(folder) else {}
    stored = dict(before)
    for name_of, table in page.tables.items():
        ran = [bool(outputs[place]) for place in table.steps]
        if not (all(ran) if table.named else any(ran)):
            continue
        columns, rows = table.make([outputs[place] for place in table.steps], before)
        by = [page.steps[place].command for place in table.steps if table.named]
        made_by = measured(by)
        if not table.named and "note" in before.get(name_of, {}).get("measured", {}):
            made_by["note"] = before[name_of]["measured"]["note"]  # of the rows that stayed
        stored[name_of] = {"measured": made_by, "columns": columns, "rows": rows}
    tables.write(name, {"tables": stored}, folder)


def output(step: Step, path: Path, *, before: Sequence[str] = (), again: bool = False) -> str:
    """The standard output of a step, from its file where it is there.

    Args:
        before: the output of the step before.

    Raises:
        tables.ResultsError: the command failed; what it stored itself is used the next time.
    """
    if path.is_file() and not again:
        return path.read_text(encoding="utf-8")
    first, *rest = words(step.command, before)
    start = [sys.executable, "-m", "thinkeval"] if first == "thinkeval" else [sys.executable]
    done = subprocess.run([*start, *rest], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    if done.returncode not in step.ends:
        failed = path.with_suffix(".failed")  # a sweep names the cells that failed
        failed.write_text(done.stdout, encoding="utf-8")
        raise tables.ResultsError(
            f"`{step.command}` ended with {done.returncode}; its output is in {failed}."
        )
    part = path.with_suffix(".part")
    part.write_text(done.stdout, encoding="utf-8")
    part.replace(path)
    return done.stdout


def words(command: str, before: Sequence[str]) -> list[str]:
    """The words of a command, with folders and the ids of the step before it filled in.

    Raises:
        tables.ResultsError: ids of a step that was not run, or a model's folder that is not set.
    """
    data = os.environ.get("THINKEVAL_DATA", str(ROOT.parent / "shared" / "data"))
    found: list[str] = []
    for word in command.split():
        if word in ("SETS", "EDITS"):
            if not any(before):
                raise tables.ResultsError(f"`{command}` needs the step before it.")
            printed = json.loads(before[0])
            found += printed["edits"] if word == "EDITS" else [e["id"] for e in printed["sets"]]
        elif word == "$GEMMA":
            if word[1:] not in os.environ:
                raise tables.ResultsError("Set GEMMA to the folder of Gemma 3 270M in float32.")
            found.append(os.environ["GEMMA"])
        else:
            found.append(word.replace("$THINKEVAL_DATA", data))
    return found


def measured(by: Sequence[str]) -> dict[str, Any]:
    """What goes with a table: date, version, commands and machine."""
    day = datetime.now(UTC).date().isoformat()
    # Of this clone; what is installed in development mode has the version of its installation.
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "version"
    ]
    return {
        "on": day, "thinkeval": version, "commit": commit(), "by": list(by), "machine": machine(),
    }  # fmt: skip


def commit() -> str:
    """The short id of the checked-out commit; `unknown` outside a clone."""
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    return done.stdout.strip() or "unknown"


def machine() -> str:
    """Cores, whether a GPU was used, and what changes the last digits of a model's sums."""
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU only"
    flags: set[str] = set()
    if Path("/proc/cpuinfo").is_file():
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("flags"):
                flags = set(line.split())
                break
    lacks = [name for flag, name in _FLAGS.items() if flag not in flags]
    without = f", without {' and '.join(lacks)}" if flags and lacks else ""
    versions = f"Python {sys.version.split()[0]}, torch {torch.__version__.split('+')[0]}"
    return f"{os.cpu_count()} cores, {gpu}{without}; {versions}"


_FLAGS = {"avx512f": "AVX-512", "avx512_bf16": "bfloat16"}


def say(text: str) -> None:
    """Report progress on standard error."""
    print(text, file=sys.stderr, flush=True)
