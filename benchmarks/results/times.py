"""The table of times and ratios: what measures a row, and how it is written."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from columns import Made, Stored
from tables import ResultsError


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        what: its name.
        lines: patterns of `what; name` of the lines of the benchmark that it shows side by side.
    """

    what: str
    lines: tuple[str, ...]


PROCESSOR = "processor time"
"""Begins the names of rows that do not depend on what else runs."""

BENCHMARKS: dict[str, tuple[Row, ...]] = {
    "python benchmarks/graph/chains_vs_networkx.py --json": (
        Row("chains of ≤ 5 facts, 100,000-fact graph, median pair", ("median pair",)),
        Row(
            "chains of KnowGIC's 26 rewrites (1,406, same ones), one query",
            ("counted in one query",),
        ),
    ),
    "python benchmarks/graph/ifr_one_query.py --json": (
        Row("IFR of 26 rewrites, one query, warm", ("pull the facts",)),
    ),
    "python benchmarks/editing/probe_batching.py --json": (
        Row(
            "probing 72 prompts × 5 samples, one batch",
            ("one prompt at a time", "one sample at a time"),
        ),
    ),
    "python benchmarks/editing/probe_states.py --json": (
        Row(
            "processor time of probing 26 ROME-edited states together, 345 facts / 15 facts",
            (r"^rome: .* x 345 facts", r"^rome: .* x 15 facts"),
        ),
        Row(
            "processor time of the same with MEMIT's edits",
            (r"^memit: .* x 345 facts", r"^memit: .* x 15 facts"),
        ),
    ),
    "python benchmarks/editing/z_batch.py --json": (
        Row("target vectors (z) of 32 requests, 38 updates each", ("(?i)^memit's target",)),
    ),
    "python benchmarks/editing/sweep_shared_targets.py --graph knowgic --json": (
        Row(
            "MEMIT, RECT, PRUNE, AlphaEdit on 26 rewrites, targets shared",
            ("methods x 26 rewrites",),
        ),
    ),
    "python benchmarks/editing/solves.py --json": (
        Row(
            "a further MEMIT batch at d_in = 4096, C factored before",
            ("(?i)memit further.*4096",),
        ),
        Row(
            "a further AlphaEdit batch at d_in = 2048, projector made before",
            ("(?i)alphaedit further.*2048",),
        ),
    ),
    "python benchmarks/service/commands.py --json": (
        Row(
            "processor time of training KnowGIC's organism (345 facts) / the demo's (108)",
            ("^training, knowgic", "^training, hogwarts"),
        ),
        Row(
            "processor time of `thinkeval sweep -g knowgic`: 11 methods × 26 rewrites, organism"
            " trained before",
            ("^sweep;",),
        ),
        Row(
            "processor time of the same with `--matched` after it, 702 further edits",
            ("^sweep --matched",),
        ),
    ),
    "python benchmarks/service/compare_states.py --json": (
        Row(
            "two states compared, all 26 rewrites of KnowGIC scored between them",
            ("scored one by one",),
        ),
        Row("peak memory of asking two models for a comparison", ("^peak memory",)),
    ),
    "python benchmarks/service/demo_wall_time.py --cold --json": (
        Row("`thinkeval demo`, nothing cached / again", ("^all, nothing cached", "^all, again")),
    ),
    "python benchmarks/graph/write_back.py --json": (
        Row("creating a graph of 100,000 facts", ("^create a graph",)),
        Row("writing two new probabilities into each of 100,000 facts", ("^write probabilities",)),
    ),
    "python benchmarks/graph/chains_joined.py --json": (
        Row("IFR of a pair among 100,000 facts with hubs, one query a pair: median", ("median",)),
        Row("the same: p95", ("p95",)),
    ),
    "python benchmarks/graph/chains_joined.py --facts 1000000 --json": (
        Row("IFR of a pair among 1,000,000 facts: median", ("median",)),
        Row("the same, 1,000,000 facts: p95", ("p95",)),
    ),
    "python benchmarks/graph/rules_mining.py --json": (
        Row("rules with support ≥ 3 of 106,400 facts, 200 relations", ("rules of",)),
        Row("the same with the premises of each counted", ("premises counted",)),
        Row("2,442 groundings of one rule listed", ("groundings of a rule",)),
    ),
    "python benchmarks/graph/closure.py --json": (
        Row(
            "all that follows in KnowGIC by 247 mined rules: 444 conclusions, 7,088 groundings"
            " stored",
            ("KnowGIC: the same; join",),
        ),
    ),
    "python benchmarks/editing/depedit_set.py --json": (
        Row(
            "one knowledge set established, updated three times, scored: finetune, memit, with"
            " chaining",
            tuple(f"^{name}," for name in (
                "finetune", "memit", r"finetune\+forwchain", r"memit\+forwchain",
            )),
        ),
    ),
    "python benchmarks/service/service_reads.py --json": (
        Row(
            "p99 of status, score and chains (206 of them), 16 clients at once, while edits are"
            " scored",
            ("^p99",),
        ),
        Row("`thinkeval serve` until `/ready`, Neo4j running", ("^start until",)),
        Row("1,000 edits submitted one by one by 16 clients, none lost", ("edits submitted",)),
    ),
    "python benchmarks/service/help_start.py --json": (
        Row("processor time of `thinkeval --help`", ("--help",)),
    ),
    "python benchmarks/service/page_interactive.py --json": (
        Row(
            "an edit with 206 chains opened in Chromium until its map is drawn / from then until"
            " its controls answer",
            ("^loaded", "^interactive"),
        ),
    ),
}  # fmt: skip
"""The rows that each command measures, in the order of the table."""


def ratios(outputs: Sequence[str], before: Stored) -> Made:
    """The stored rows, those of a command that was run replaced; each has its own day and command.

    A row that was measured on a busy machine replaces none, as waiting would be in its times; it is
    shown on standard error. Processor time replaces always.

    Args:
        outputs: of the commands in their order; empty where one was not run.
    """
    stored = {row[0]: row for row in before["ratios"]["rows"]}
    day, rows = datetime.now(UTC).date().isoformat(), []
    for (command, wanted), text in zip(BENCHMARKS.items(), outputs, strict=True):
        shown = json.loads(text) if text else None
        for row in wanted:
            if shown is None:
                rows += [stored[row.what]] if row.what in stored else []
                continue
            cores, load = busy(shown["notes"])
            typed = f"`{command.removesuffix(' --json')}`"
            new = [row.what, *cells(row, lines_of(shown)), f"{day}, load {load:.1f}", typed]
            if load > cores and row.what in stored and not row.what.startswith(PROCESSOR):
                print(f"kept, as the machine was busy: {stored[row.what]}, not {new}",
                      file=sys.stderr)  # fmt: skip
                new = stored[row.what]
            rows.append(new)
    titles = ("what", "ThinkEval", "instead", "ratio", "measured on", "command")
    return [{"title": title} for title in titles], rows


def busy(notes: Sequence[str]) -> tuple[int, float]:
    """Cores and load at the end of a benchmark, by its last note; both 0 where it names none."""
    found = re.search(r"(\d+) cores, load ([\d.]+)", notes[-1])
    return (int(found[1]), float(found[2])) if found else (0, 0.0)


def lines_of(shown: Stored) -> list[dict[str, Any]]:
    """The lines of a benchmark; a value in columns is a line `its line, its column`."""
    if "lines" in shown:
        return shown["lines"]
    return [
        {"what": f"{what}, {column}", "name": "", "unit": shown["unit"], "ours": value,
         "instead": None, "ratio": None, "bound": False}
        for column, values in shown["columns"].items()
        for what, value in values.items()
    ]  # fmt: skip


def cells(row: Row, lines: Sequence[Stored]) -> list[str | None]:
    """Ours, instead and ratio in words; what is equal in all lines of the row is there once.

    Raises:
        ResultsError: the benchmark printed no such line.
    """
    found = []
    for pattern in row.lines:
        fits = (each for each in lines if re.search(pattern, f"{each['what']}; {each['name']}"))
        line = next(fits, None)
        if line is None:
            raise ResultsError(f"{row.what!r}: the benchmark has no line {pattern!r}.")
        found.append(line)
    compared = [line for line in found if line["instead"] is not None]
    return [
        _joined(" / ", (f"{_short(line['ours'])} {line['unit']}" for line in found)),
        _joined("; ", map(_instead, compared)),
        _joined("; ", (_bound(line, f"{_short(line['ratio'])} ×") for line in compared)),
    ]


def _instead(line: Stored) -> str:
    return f"{_bound(line, _short(line['instead']))} {line['unit']}, {line['name']}"


def _bound(line: Mapping[str, Any], text: str) -> str:
    """With a sign where what is run instead was stopped at its time limit."""
    return f"> {text}" if line["bound"] else text


def _joined(sign: str, texts: Iterable[str]) -> str | None:
    return sign.join(dict.fromkeys(texts)) or None


def _short(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2g}"
