"""What the benchmarks share: the server, scratch graphs, timing, and one way to show results.

A benchmark compares what ThinkEval does with what a user would run instead, in one process on one
machine, so that the ratio says more than either time does. It also compares the outputs, and fails
where they differ.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import multiprocessing
import os
import resource
import signal
import statistics
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import neo4j
import psutil
from pydantic import SecretStr

from thinkeval.cypher.run import Database
from thinkeval.service.base.database import connect, embedded_server
from thinkeval.service.base.settings import Settings

REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Server:
    """A Neo4j reached two ways: through our Database, and through a plain driver as users do."""

    db: Database
    driver: neo4j.Driver


@dataclass(frozen=True, slots=True)
class Goal:
    """What a line should reach: `ratio` or `value` (of ours), at least or at most `bound`."""

    of: str
    sign: str
    bound: float

    def met(self, line: Line) -> bool | None:
        """Whether the line reaches it; None where there is nothing to compare."""
        value = line.ratio if self.of == "ratio" else line.ours
        if value is None:
            return None
        return value >= self.bound if self.sign == ">=" else value <= self.bound


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a benchmark's table.

    Attributes:
        what: what was done, and on how much.
        unit: of both values; a rate if it ends in `/s`, else less is better.
        ours: what ThinkEval took or reached.
        instead: what a user would run instead; None where there is nothing to compare with.
        name: of what is run instead.
        bound: `instead` is a bound only (it was stopped), so the ratio is at least this.
    """

    what: str
    unit: str
    ours: float
    instead: float | None = None
    name: str = ""
    goal: Goal | None = None
    bound: bool = False

    @property
    def ratio(self) -> float | None:
        """How many times better ours is."""
        if self.instead is None:
            return None
        better, worse = (self.ours, self.instead) if self.is_rate else (self.instead, self.ours)
        return better / worse if worse else None

    @property
    def is_rate(self) -> bool:
        """Whether more is better."""
        return self.unit.endswith("/s")


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with what every benchmark takes."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return made


def data_dir() -> Path:
    """The folder of published data sets: THINKEVAL_DATA, else ../shared/data."""
    path = Path(os.environ.get("THINKEVAL_DATA", REPOSITORY.parent / "shared" / "data"))
    if not (path / "knowgic").is_dir():
        raise SystemExit(f"No folder knowgic in {path}; set THINKEVAL_DATA to where it is.")
    return path


@contextmanager
def server() -> Iterator[Server]:
    """The server named in the environment, else the embedded one, started if need be."""
    # A benchmark that is stopped (a time limit, say) still deletes its scratch graphs.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    settings = Settings()
    if not settings.neo4j_uri:
        info = embedded_server(settings).ensure_running(lambda *_: None)
        password = SecretStr(info.password)
        found = {"neo4j_uri": info.bolt, "neo4j_user": info.user, "neo4j_password": password}
        settings = settings.model_copy(update=found)
    secret = settings.neo4j_password
    auth = (settings.neo4j_user, secret.get_secret_value() if secret else "")
    driver = neo4j.GraphDatabase.driver(str(settings.neo4j_uri), auth=auth)
    with connect(settings) as db, driver:
        yield Server(db, driver)


@contextmanager
def scratch_graph(db: Database, what: str) -> Iterator[str]:
    """A unique id; the graph is deleted afterwards, whatever happened."""
    graph = f"bench-{what}-{uuid.uuid4().hex[:8]}"
    try:
        yield graph
    finally:
        db.autocommit(int, "graph/delete_graph", graph=graph)


def seconds(function: Callable[[], Any]) -> float:
    """Wall time of one call."""
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def median_seconds(function: Callable[[], Any], repeats: int, warm_up: int = 1) -> float:
    """Median wall time of a call, after some calls that are not counted."""
    for _ in range(warm_up):
        function()
    return statistics.median(seconds(function) for _ in range(repeats))


def apart(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function of a module in a new process, whose peak memory is its own; its result."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def peak_megabytes() -> float:
    """The most memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def server_memory() -> list[str]:
    """A note of the embedded server's memory; none where it is another one."""
    status = embedded_server(Settings()).status()
    if Settings().neo4j_uri or status.pid is None:
        return []
    held = psutil.Process(status.pid).memory_info().rss
    return [f"The server had {held / 1e6:,.0f} MB of memory at the end."]


class OutOfTimeError(Exception):
    """Something was stopped at its time limit."""


@contextmanager
def time_limit(limit: float) -> Iterator[None]:
    """Stop pure Python code after `limit` seconds by OutOfTimeError (needs a Unix, main thread)."""

    def stop(*_: object) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def agree(same: bool, told: str) -> None:
    """Fail the benchmark: a time means nothing where the outputs differ."""
    if not same:
        raise SystemExit(f"Outputs differ: {told}")


def say(text: str) -> None:
    """Tell on standard error how far it is."""
    print(text, file=sys.stderr, flush=True)


def show(name: str, lines: Sequence[Line], notes: Sequence[str], *, as_json: bool) -> int:
    """Print one Markdown table with its notes, or the same as JSON.

    Returns:
        The exit code: 0 if all targets are met, else 1.
    """
    if as_json:
        told = [asdict(line) | {"ratio": line.ratio, "met": _met(line)} for line in lines]
        _print_json(name, {"lines": told}, notes)
    else:
        header = ["what", "ThinkEval", "instead", "ratio", "target"]
        cells = [
            [each.what, _ours(each), _instead(each), _ratio(each), _goal(each)] for each in lines
        ]
        _print_table(name, header, cells, notes)
    return int(any(_met(line) is False for line in lines))


def show_columns(
    name: str,
    unit: str,
    columns: Mapping[str, Mapping[str, float]],
    notes: Sequence[str],
    *,
    as_json: bool,
) -> None:
    """Print values by line (in the order of the longest column) and column, or the same as JSON."""
    if as_json:
        _print_json(name, {"unit": unit, "columns": columns}, notes)
        return
    lines = list(max(columns.values(), key=len))
    cells = [
        [line, *(_number(c[line]) if line in c else "" for c in columns.values())] for line in lines
    ]
    _print_table(name, [unit, *columns], cells, notes)


def _print_table(
    name: str, header: Sequence[str], cells: Sequence[Sequence[str]], notes: Sequence[str]
) -> None:
    print(f"### {name}\n")
    for line in [header, ["---"] * len(header), *cells]:
        print(f"| {' | '.join(line)} |")
    print("\n" + "\n".join(f"- {note}" for note in [*notes, machine()]))


def _print_json(name: str, told: Mapping[str, Any], notes: Sequence[str]) -> None:
    print(json.dumps({"benchmark": name, **told, "notes": [*notes, machine()]}, indent=2))


def machine() -> str:
    """What this was measured on, and whether others were busy on it."""
    versions = [f"Python {sys.version.split()[0]}"]
    for package in ("neo4j", "neo4j-rust-ext", "networkx"):
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"no {package}")
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} cores, load {load:.1f} (1 min, at the end); {', '.join(versions)}."


def _ours(line: Line) -> str:
    return f"{_number(line.ours)} {line.unit}"


def _instead(line: Line) -> str:
    if line.instead is None:
        return ""
    sign = ("< " if line.is_rate else "> ") if line.bound else ""
    return f"{sign}{_number(line.instead)} {line.unit}, {line.name}"


def _ratio(line: Line) -> str:
    return "" if line.ratio is None else f"{'> ' if line.bound else ''}{_number(line.ratio)} ×"


def _goal(line: Line) -> str:
    if line.goal is None:
        return ""
    unit = "×" if line.goal.of == "ratio" else line.unit
    sign = "≥" if line.goal.sign == ">=" else "≤"
    met = {True: "met", False: "**missed**", None: "open"}[_met(line)]
    return f"{sign} {_number(line.goal.bound)} {unit}: {met}"


def _met(line: Line) -> bool | None:
    return line.goal.met(line) if line.goal else None


def _number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2g}" if value < 1 else f"{value:.2f}"
