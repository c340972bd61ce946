"""`thinkeval db fleet`: the nodes, executors and queue of a database, and a check of each node."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...cypher import rows
from ..base.formatting import pluralize
from ..base.settings import Settings
from ..reports.formats import Column, Table
from ..scoring.runtime import Runtime
from .catalog import Finding, examine
from .codes import ERROR
from .options import EngineOption, JsonFlag, RayAddressOption, given
from .output import ProgressBars, emit_json, emit_note, emit_table

if TYPE_CHECKING:
    from ..engines.ray import Node

MINUTES = 10
"""The pace of the queue is that of so many minutes."""

NODES: list[Column[Node]] = [
    Column("host", lambda node: node.host),
    Column("address", lambda node: node.address),
    Column("CPUs", lambda node: f"{node.cpus:g}"),
    Column("GPUs", lambda node: f"{node.gpus:g}"),
    Column("memory GB", lambda node: f"{node.memory_gb:.1f}"),
    Column("room for", lambda node: node.free),
]
EXECUTORS: list[Column[rows.WorkerRow]] = [
    Column("host", lambda row: row.host),
    Column("pid", lambda row: row.pid),
    Column("device", lambda row: row.device),
    Column("job", lambda row: row.job or "idle"),
    Column("model", lambda row: row.model or ""),
    Column("stage", lambda row: row.stage or ""),
]


@dataclass(frozen=True, slots=True)
class Checked:
    """A finding on a node."""

    host: str
    finding: Finding


CHECKS: list[Column[Checked]] = [
    Column("host", lambda row: row.host),
    Column("check", lambda row: row.finding.check),
    Column("ok", lambda row: "yes" if row.finding.ok else "no"),
    Column("found", lambda row: row.finding.found),
    Column("remedy", lambda row: row.finding.remedy),
]


def fleet(
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Run `thinkeval doctor` on each node; exit code 2 if it fails."
        ),
    ] = False,
    engine: EngineOption = None,
    ray_address: RayAddressOption = None,
    json: JsonFlag = False,
) -> None:
    """Show the nodes, the executors with their jobs, and the queue; change nothing.

    Nodes are those of the Ray cluster, with --engine ray; else there is this machine alone.
    """
    settings = Settings(**given(engine=engine, ray_address=ray_address))
    with ProgressBars() as progress:
        nodes, checked = _nodes(settings, check)
        with Runtime(settings, progress) as runtime:
            executors = runtime.db.read(rows.WorkerRow, "jobs/workers")
            since = datetime.now(UTC) - timedelta(minutes=MINUTES)
            (pace,) = runtime.db.read(
                rows.PaceRow, "jobs/pace", since=since.isoformat(timespec="milliseconds")
            )
    if json:
        emit_json(_as_json(nodes, checked, executors, pace))
    else:
        if nodes:
            emit_table(Table("nodes", f"Ray cluster {settings.ray_address}", NODES, nodes))
        if executors:
            emit_table(Table("executors", "Executors", EXECUTORS, executors))
        else:
            emit_note("No executor runs: start `thinkeval serve`, or `thinkeval db worker`.")
        emit_note(_in_words(pace))
        if checked:
            emit_table(Table("checks", "Checks of each node", CHECKS, checked))
    if not all(each.finding.ok for each in checked):
        raise typer.Exit(ERROR)


def _nodes(settings: Settings, check: bool) -> tuple[list[Node], list[Checked]]:
    """Return the nodes of the cluster, and what `examine` finds on each."""
    if settings.engine != "ray":
        return [], [Checked("this machine", each) for each in examine()] if check else []
    from ..engines import ray

    nodes = ray.nodes(settings.ray_address, examine if check else None)
    checked = [Checked(node.host, each) for node in nodes for each in _found(node) if check]
    if check and not ray.has_token():
        why = "none is asked for: a program that reaches a port of Ray runs code on every node"
        remedy = "Set RAY_AUTH_MODE=token on the head, on each node, and here."
        checked.append(Checked("cluster", Finding("token", False, why, remedy)))
    return nodes, checked


def _found(node: Node) -> list[Finding]:
    if isinstance(node.found, list):
        return node.found
    remedy = "Install the same release of ThinkEval there: pip install 'thinkeval[ray]'."
    return [Finding("answers", False, str(node.found), remedy)]


def _in_words(pace: rows.PaceRow) -> str:
    """Return the state of the queue as a sentence, with the time that it takes at this pace."""
    found = f"{pluralize(pace.queued, 'job')} queued, {pace.running} running, {pace.ended} done in"
    found += f" the last {MINUTES} minutes"
    if not pace.queued + pace.running:
        return f"{found}."
    minutes = _minutes_left(pace)
    if minutes is None:
        return f"{found}: the time that is left is not known yet."
    return f"{found}: about {minutes:.0f} minutes are left at this pace."


def _minutes_left(pace: rows.PaceRow) -> float | None:
    """Return the minutes that the queue takes at its pace; None while nothing is done."""
    left = pace.queued + pace.running
    if not left:
        return 0.0
    return left * MINUTES / pace.ended if pace.ended else None


def _as_json(
    nodes: list[Node],
    checked: list[Checked],
    executors: list[rows.WorkerRow],
    pace: rows.PaceRow,
) -> dict[str, Any]:
    return {
        "nodes": [
            {name: value for name, value in asdict(node).items() if name != "found"}
            for node in nodes
        ],
        "checks": [{"host": each.host, **asdict(each.finding)} for each in checked],
        "executors": [asdict(each) for each in executors],
        "queued": pace.queued,
        "running": pace.running,
        "per_minute": pace.ended / MINUTES,
        "minutes_left": _minutes_left(pace),
    }
