"""`thinkeval audit-knowledge`: a model's knowledge of a graph before any edit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import UsageError
from ...formatting import cell
from ...graphs import datasets
from ...reports.formats import Column, Table, indexed
from ...scoring.runtime import Runtime
from ...settings import Settings
from ..options import JsonFlag, OutputOption, edit_options, takes
from ..output import (
    emit_json,
    emit_table,
    emit_values,
    more_below,
    require_json,
)
from ..progress import ProgressBars

if TYPE_CHECKING:
    from ...growth.knowledge.audit import FailureOut, KnowledgeOut

SHOWN = 20
"""Failures that are printed; --json has all."""

FAILURES: list[Column[FailureOut]] = [
    Column("fact", lambda each: f"{each.subject}, {each.relation}, {each.object}"),
    Column("verdict", lambda each: each.verdict, whole=True),
    Column("object", lambda each: each.object_share),
    Column("relation", lambda each: each.relation_share),
    Column("yes", lambda each: each.yes_share),
    Column("no", lambda each: each.no_share),
]


@takes("model", "samples", "chat", "dtype", "revision", "seed")
def audit_knowledge(
    graph: Annotated[str, typer.Argument(help="Id of a graph: a data set.")],
    pass_share: Annotated[
        float | None,
        typer.Option("--pass", help="Least fraction of right answers; default 1/samples."),
    ] = None,
    json: JsonFlag = False,
    output: OutputOption = None,
    **options: Any,
) -> None:
    """Find which questions of a graph a model answers before any edit, and how it fails on others.

    Every fact is asked for its object. Each failure is asked in two further directions: for the
    relation between subject and object, and whether the whole fact is true. [bold]known[/bold]: the
    object is named; [bold]inconsistent[/bold]: it is not, and the model says yes to the whole;
    [bold]unknown[/bold]: it says no; [bold]undecided[/bold]: neither. A model that says yes to
    everything shows in the last direction, where the object is wrong.

    An organism cannot say yes or no: its failures are undecided.

    [bold]thinkeval audit-knowledge knowgic --model Qwen/Qwen2.5-7B-Instruct[/bold]
    """
    from ...growth.knowledge.audit import measure
    from ...scoring.request import probe_settings

    require_json(output, json)
    asked = edit_options({"graph": graph} | options)
    if asked.samples < 1:
        raise UsageError("An audit needs answers.", remedy="Give --samples 1 or more.")
    if pass_share is not None and not 0 < pass_share <= 1:
        raise UsageError(f"--pass {pass_share} is no fraction.", remedy="Give one in (0, 1].")
    settings = replace(probe_settings(asked, asked.seed), ask="question", measures=("p",))
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        dataset = datasets.get_or_import(runtime.db, graph)
        model = runtime.model_of(asked, dataset)
        found = measure(runtime, dataset, model, settings, pass_share)
    if json:
        emit_json(found.model_dump(), output)
    else:
        _show(found)


def _show(found: KnowledgeOut) -> None:
    share = cell(found.answered_share)
    emit_values(
        f"{found.model} on {found.graph}",
        [
            ("questions", found.questions),
            ("answered", f"{found.answered} ({share})"),
            ("facts", found.n),
            *((kind, count) for kind, count in found.counts.items()),
        ],
        note=" ".join(text for text in (found.way, found.note) if text),
    )
    rows = [
        (each.direction, each.right, each.n, each.share, each.mean) for each in found.directions
    ]
    title = "By direction: all facts are asked for the object, failures in the others"
    columns = indexed("asked for", "right", "n", "fraction", "mean of answers")
    emit_table(Table("directions", title, columns, rows))
    note = more_below(len(found.failures), SHOWN)
    emit_table(Table("failures", "Failures", FAILURES, found.failures[:SHOWN], note))
