"""`--dry-run`: what edits cost, printed before they are scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..reports.formats import Column, Table
from .output import emit_json, emit_note, emit_table, emit_values

if TYPE_CHECKING:
    from ..scoring.estimate import Estimate, Memory, Work
    from ..scoring.request import ScoreRequest
    from ..scoring.runtime import Runtime

DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Print tokens, time, memory and number of the edits; score nothing."
    ),
]

STEPS = ((1e15, " P"), (1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k"))


def _scaled(value: float, unit: str = "") -> str:
    """A number in three digits: `8.03 G`."""
    for step, prefix in STEPS:
        if value >= step:
            return f"{value / step:.3g}{prefix}{unit}"
    return f"{value:.3g} {unit}".strip()


def _bytes(value: float) -> str:
    return _scaled(value, "B")


def _time(seconds: float) -> str:
    """A duration in two digits: `4.2 s`, `12 min`, `3.5 h`."""
    for step, unit in ((3600, "h"), (60, "min")):
        if seconds >= 1.5 * step:
            return f"{seconds / step:.2g} {unit}"
    return f"{seconds:.2g} s"


def _by_type(flops: Mapping[str, float]) -> str:
    """Operations by number type: `1.2 T float32, 3 G float64`."""
    return ", ".join(f"{_scaled(count)} {kind}" for kind, count in flops.items())


def _largest(parts: Mapping[str, int]) -> str:
    """The three largest parts: `key_value/values 1.2 GB`."""
    order = sorted(parts.items(), key=lambda part: -part[1])[:3]
    return ", ".join(f"{name} {_bytes(size)}" for name, size in order)


WORK: list[Column[Work]] = [
    Column("work", lambda each: each.what),
    Column("times", lambda each: each.times),
    Column("tokens", lambda each: each.tokens, _scaled),
    Column("FLOPs", lambda each: each.flops, _by_type),
    Column("operations", lambda each: each.kernels, _scaled),
    Column("copied", lambda each: each.copied, _bytes),
    Column("about", lambda each: each.seconds, _time),
]
MEMORY: list[Column[Memory]] = [
    Column("memory", lambda each: each.what),
    Column("where", lambda each: each.place),
    Column("about", lambda each: each.bytes, _bytes),
    Column("needed", lambda each: "always" if each.stays else "at times"),
    Column("of it", lambda each: _largest(each.parts)),
]


def dry_run(
    runtime: Runtime,
    requests: Sequence[ScoreRequest],
    *,
    json: bool = False,
    output: Path | None = None,
) -> None:
    """Print the estimate of each model of some requests."""
    from ..scoring.estimate import estimates

    found = estimates(runtime, requests)
    if json:
        emit_json([each.as_dict() for each in found], output)
        return
    for each in found:
        _show(each, requests[0].graph)


def _show(found: Estimate, graph: str) -> None:
    """The sums, the work and the memory of one model."""
    title = f"{found.model} on {graph}"
    edits = f"{found.edits} ({found.stored} of them stored, and skipped)"
    if found.reason is not None:
        emit_values(title, [("edits", edits)], note=f"Nothing else is known: {found.reason}.")
        return
    peaks = [f"{_bytes(size)} on {place}" for place, size in found.peaks.items()]
    emit_values(
        title,
        [
            ("edits", edits),
            ("parameters", f"{_scaled(found.parameters)} ({found.dtype}, on {found.device})"),
            ("weights", _bytes(found.weights)),
            ("tokens", _scaled(found.tokens)),
            ("FLOPs", _scaled(found.flops)),
            ("time", f"about {_time(found.seconds)}"),
            ("peak memory", f"about {', '.join(peaks) or _bytes(0)}"),
        ],
    )
    if found.work:
        speed = found.speed
        emit_table(
            Table(
                "work",
                "Work",
                WORK,
                found.work,
                f"Measured now on {found.device}: {_scaled(speed['flops'], 'FLOP/s')} in products"
                f" of the model's shapes, {_bytes(speed['reading'])}/s of weights read,"
                f" {_scaled(speed['wide'], 'FLOP/s')} in float64.",
            )
        )
        emit_table(Table("memory", "Memory", MEMORY, found.memory))
    for note in found.notes:
        emit_note(note, "dim")
