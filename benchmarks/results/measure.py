"""Run what a page's tables are made from, and turn the outputs into stored tables."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import made
import tables

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "results"
"""Outputs of steps, in a folder for each commit."""


@dataclass(frozen=True)
class Step:
    """A command whose standard output is kept.

    Attributes:
        command: `thinkeval …` or `python benchmarks/NAME.py …`, as a user types it.
        ends: exit codes that leave a complete output; benchmarks end with 1 when slow.
    """

    command: str
    ends: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Page:
    """How the tables of a page are measured.

    Attributes:
        minutes: about how long, on two quiet cores with nothing stored.
        steps: run in this order.
        tables: {table: function of the outputs of the steps, which gives columns and rows}.
        by: {table: places of the steps that it is made from}; default: the last.
    """

    about: str
    minutes: int
    steps: tuple[Step, ...]
    tables: Mapping[str, Callable[[Sequence[str], Mapping[str, Any]], made.Made]]
    by: Mapping[str, tuple[int, ...]]


PAGES = {
    "knowgic": Page(
        "all methods on KnowGIC's 26 rewrites",
        5,
        (Step("thinkeval sweep -g knowgic --json"),),
        {"methods": made.methods, "steps": made.steps, "subject": made.subject},
        {},
    ),
    "matched": Page(
        "the same at equal efficacy",
        8,
        (Step("thinkeval sweep -g knowgic --matched --json"),),
        {"matched": made.matched},
        {},
    ),
    "co-edit": Page(
        "co-edits of the 26 rewrites, round by round, beside random facts",
        50,
        (
            Step("thinkeval sweep --coedit -g knowgic --rounds 6 --draws 3 -m memit --json"),
            Step("thinkeval sweep --coedit -g knowgic --rounds 6 --draws 1 -m alphaedit --json"),
        ),
        {"rounds": made.rounds, "chosen": made.chosen},
        {"rounds": (0, 1), "chosen": (0, 1)},
    ),
    "appended": Page(
        "answers appended on inkwell: bare, all answers as targets, APP",
        30,
        (
            Step("thinkeval import inkwell"),
            Step("thinkeval peak build inkwell --json"),
            Step("thinkeval peak sweep -g inkwell --json"),
            Step("thinkeval peak report -g inkwell --paired -f json"),
        ),
        {"methods": made.appended, "paired": made.paired},
        {"methods": (2,)},
    ),
    "crawl": Page(
        "crawls of both organisms of hogwarts with five rules",
        4,
        (Step("python benchmarks/crawl.py"),),
        {"rules": made.crawls},
        {},
    ),
    "depedit": Page(
        "DepEdit's protocol on three knowledge sets of atlas",
        5,
        (
            Step("thinkeval depedit build atlas --init shuffled"),
            Step("thinkeval depedit run -g atlas --json"),
        ),
        {"protocol": made.protocol},
        {"protocol": (0, 1)},
    ),
    "measured": Page(
        "what ThinkEval takes beside what one would run instead",
        60,
        tuple(Step(command, (0, 1)) for command in made.BENCHMARKS),
        {"ratios": made.ratios},
        {"ratios": ()},
    ),
}


def run(names: Sequence[str], folder: Path, *, again: bool) -> None:
    """Measure some pages and store their numbers; what is done at this commit is read.

    Raises:
        tables.ResultsError: no such page, or a command failed.
    """
    for name in names:
        if name not in PAGES:
            raise tables.ResultsError(f"No page {name!r}; there are {', '.join(PAGES)}.")
    minutes = sum(PAGES[name].minutes for name in names)
    steps = sum(len(PAGES[name].steps) for name in names)
    say(f"{steps} steps, about {minutes} minutes on two quiet cores.")
    done, began = 0, time.monotonic()
    for name in names:
        page, outputs = PAGES[name], []
        for place, step in enumerate(page.steps):
            bar = "█" * (20 * done // steps)
            say(f"[{bar:<20}] {done} of {steps}, {(time.monotonic() - began) / 60:.0f} min: "
                f"{step.command}")  # fmt: skip
            outputs.append(output(step, WORK / commit() / f"{name}-{place}.txt", again=again))
            done += 1
        store(name, page, outputs, folder)
    say(f"[{'█' * 20}] {steps} of {steps}, {(time.monotonic() - began) / 60:.0f} min")


def store(name: str, page: Page, outputs: Sequence[str], folder: Path) -> None:
    """Store the tables of a page; those that no step makes stay as they are."""
    before = tables.read(name, folder)["tables"] if name in tables.pages(folder) else {}
    stored = dict(before)
    for table, make in page.tables.items():
        columns, rows = make(outputs, before)
        places = page.by.get(table, (len(page.steps) - 1,))
        by = [page.steps[place].command for place in places]
        stored[table] = {"measured": measured(by), "columns": columns, "rows": rows}
    tables.write(name, {"tables": stored}, folder)


def output(step: Step, path: Path, *, again: bool = False) -> str:
    """The standard output of a step, from its file where it is there.

    Raises:
        tables.ResultsError: the command failed; what it stored itself is used the next time.
    """
    if path.is_file() and not again:
        return path.read_text(encoding="utf-8")
    first, *rest = step.command.split()
    start = [sys.executable, "-m", "thinkeval"] if first == "thinkeval" else [sys.executable]
    done = subprocess.run([*start, *rest], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in step.ends:
        raise tables.ResultsError(f"`{step.command}` ended with {done.returncode}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(done.stdout, encoding="utf-8")
    part.replace(path)
    return done.stdout


def measured(by: Sequence[str]) -> dict[str, Any]:
    """What goes with a table: date, version, commands and machine."""
    day = datetime.now(UTC).date().isoformat()
    version = importlib.metadata.version("thinkeval")
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
