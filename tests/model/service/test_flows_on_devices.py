"""Whole flows of the product on an emulated accelerator, against the same flows on the CPU.

A device has a process and a home of its own, as an emulated one is for the whole process.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.leaves import leaves
from support.own_process import reported

REWRITE, OTHER = "harry-potter--studied-at", "ron-weasley--studied-at"
APPENDED = "harry-potter--was-friends-with--james-potter"
FACT = "Harry Potter|studied at|Hogwarts School of Witchcraft and Wizardry"
METHODS = (
    "rome", "memit", "alphaedit", "fine_tuning", "mend", "kn", "rect", "prune", "ultraedit", "ike",
    "random_delta", "none",
)  # fmt: skip
ON_GRAPH = ["-g", "hogwarts", "--samples", "0"]
BY_LIKELIHOOD = ["--samples", "0", "--anyway"]
FLOWS: dict[str, list[str]] = {
    "every method": ["score", REWRITE, *(f"-m{name}" for name in METHODS), *BY_LIKELIHOOD],
    "statistics": ["score", REWRITE, "-mrome", *BY_LIKELIHOOD, "--set", "mom2_adjustment=true"],
    "samples and forms": [
        "score", REWRITE, "-mrome", "--samples", "3", "--forms", "all", "--anyway",
    ],
    "forgetting": [
        "score", "--forget", FACT, "-mnpo", "-mrmu", "-mgradient_ascent", *BY_LIKELIHOOD,
    ],
    "probe": ["probe", "hogwarts", "--samples", "3"],
    "comparison": [
        "compare", "organism", "organism+edit:EDIT", "organism+finetune:graph:steps=3",
        "organism+8bit", "-r", REWRITE, *ON_GRAPH,
    ],
    "sweep": ["sweep", OTHER, "-mrome", "-mfine_tuning", "--workers", "1", *ON_GRAPH],
    "tuning": ["model", "tune", "organism", "-mrome", "-g", "hogwarts"],
    "covariance": ["model", "covariance", "collect", "hogwarts"],
    "saved update": ["results", "deltas", "verify", "EDIT"],
    "edited folder": ["results", "deltas", "apply", "organism", "EDIT", "-o", "FOLDER"],
    "probe of the folder": ["probe", "hogwarts", "--model", "FOLDER", "--samples", "0"],
    "sequence": ["lab", "sequence", REWRITE, OTHER, "-mrome", *ON_GRAPH],
    "co-edit": ["lab", "coedit", REWRITE, "-g", "hogwarts", "-mmemit", "--rounds", "1"],
    "crawl": [
        "graph", "crawl", "run", "hogwarts", "--start", "Harry Potter", "--depth", "1",
        "--samples", "2",
    ],
    "growth": [
        "graph", "grow", "start", "--seed", FACT, "--model", "organism", "--base", "hogwarts",
        "--elicit", "crawl", "--iterations", "1", "--samples", "2",
    ],
    # Last: the graph's content is another one with them.
    "requests to append": ["graph", "rewrites", "hogwarts", "--build", "append", "--without-model"],
    "append": ["score", APPENDED, "-mrome", "--append-loss", "app", *BY_LIKELIHOOD],
}  # fmt: skip
"""Commands, with EDIT for the first edit of the first flow, FOLDER for one in the home."""
OF_THE_RUN = re.compile(r"/(provenance|versions|device|seconds|\w+_at|took|path|file|bytes)\b")
"""Fields that differ from run to run, or that say which device it was."""
DIGEST = re.compile(r"[0-9a-f]{8}")
"""Of bits, which differ."""
CLOSE = 1e-5
OF_ROUNDING = dict.fromkeys(
    (
        "every method",
        "statistics",
        "samples and forms",
        "comparison",
        "probe of the folder",
        "sequence",
        "append",
    ),
    5e-5,
)
"""Flows with an edit by ROME, whose optimisation enlarges the rounding of other sums."""


@cache
def _numbers(kind: str, home: Path) -> dict[str, dict[str, Any]] | str:
    """{flow: {path in its JSON: number or text}}, or the error: minutes pass until either."""
    try:
        found: dict[str, dict[str, Any]] = reported(__file__, kind, str(home), seconds=800)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        return str(error)
    return found


def numbers(kind: str, home: Path) -> dict[str, dict[str, Any]]:
    found = _numbers(kind, home)
    assert not isinstance(found, str), found
    return found


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.mark.heavy
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("kind", ["cuda", "mps"])
def test_a_flow_on_a_device_has_the_numbers_of_the_cpu(homes: Path, kind: str, flow: str) -> None:
    wanted, found = numbers("cpu", homes / "cpu")[flow], numbers(kind, homes / kind)[flow]
    assert wanted.keys() == found.keys()
    assert wanted
    apart = {
        path: (value, found[path])
        for path, value in wanted.items()
        if found[path] != _near(value, OF_ROUNDING.get(flow, CLOSE))
    }
    assert apart == {}


def _near(value: Any, close: float) -> Any:
    return value if isinstance(value, str) else pytest.approx(value, rel=close, abs=close)


def _report(kind: str, home: str) -> dict[str, dict[str, Any]]:
    os.environ["THINKEVAL_HOME"] = home
    os.environ.pop("THINKEVAL_NEO4J_URI", None)
    os.environ["THINKEVAL_DEVICE"] = "cpu"
    if kind == "cpu":
        return _flows(home)
    from support.emulated import NAME, emulated  # before the first backward pass

    os.environ["THINKEVAL_DEVICE"] = f"{NAME}:0"
    with emulated(kind):  # type: ignore[arg-type]
        return _flows(home)


def _flows(home: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    edit = ""
    try:
        for name, words in FLOWS.items():
            given = [word.replace("EDIT", edit) for word in words]
            said = _said([f"{home}/edited" if word == "FOLDER" else word for word in given])
            edit = edit or said[0]["edit"]
            found[name] = {
                path: x.replace(home, "HOME") if isinstance(x, str) else x
                for path, x in leaves(said)
                if _is_compared(path, x)
            }
    finally:
        _run(["db", "stop"])
    return found


def _said(words: list[str]) -> Any:
    return json.loads(_run([*words, "--json"]))


def _run(words: list[str]) -> str:
    """The output of a command within this process."""
    from thinkeval.service.cli.main import app

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        app(words, standalone_mode=False)
    return out.getvalue()


def _is_compared(path: str, value: Any) -> bool:
    return not OF_THE_RUN.search(path) and not (isinstance(value, str) and DIGEST.search(value))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_report(*sys.argv[1:])))
