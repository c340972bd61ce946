"""`thinkeval compare`: states of a model on a graph, each compared with a base."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..scoring.runtime import Runtime
from ..settings import Settings
from ..states.kind import COMPARISON
from ..states.schemas import ComparisonIn
from ..states.spec import parse, parse_sequence
from .experiments import Printed, emit_result, prints
from .options import MEASURED, request_of, takes
from .progress import ProgressBars


@takes("all_rewrites", *MEASURED, "seed", of=ComparisonIn)
@prints
def compare(
    base: Annotated[
        str,
        typer.Argument(
            help="Base: MODEL, FOLDER, MODEL+edit:EDIT, MODEL+adapter:FOLDER,"
            " MODEL+finetune:graph, +8bit, +4bit, or endpoint:URL#MODEL."
        ),
    ],
    states: Annotated[
        list[str],
        typer.Argument(
            help="States that are compared with the base, written like it; +CHANGE is the state"
            " before with this put on."
        ),
    ],
    rewrites: Annotated[
        list[str] | None,
        typer.Option(
            "--rewrite",
            "-r",
            help="Rewrite request to score: id, its beginning, or subject; repeatable.",
        ),
    ] = None,
    forget: Annotated[
        list[str] | None,
        typer.Option(help='Fact that shall be forgotten: "SUBJECT|RELATION|OBJECT"; repeatable.'),
    ] = None,
    *,
    printed: Printed,
    **options: Any,
) -> None:
    """Compare states of a model with a base: facts kept, weakened, removed, added; open routes.

    A state is a checkpoint plus optional changes: a LoRA adapter, saved edits, fine-tunes,
    quantisation; or a remote endpoint.

    [bold]thinkeval compare gpt2-xl ./my-finetune -g knowgic[/bold] watches the whole graph;
    [bold]--all[/bold] or [bold]--rewrite ID[/bold] scores rewrite requests between the states, with
    IFR, Preservation and chains; [bold]--forget "SUBJECT|RELATION|OBJECT"[/bold] asks whether a
    fact is forgotten. With [bold]--implications[/bold], also the conclusions of the graph's rules
    that these facts are premises of are asked. Each request is stored as an edit: [bold]thinkeval
    show EDIT[/bold], [bold]chains[/bold], [bold]report[/bold] and [bold]diff[/bold] read it.

    Does a change last? [bold]thinkeval compare organism +edit:EDIT +8bit +finetune:graph:steps=200
    +edit:OTHER -r REWRITE[/bold] puts later changes on an edited model, one after the other: the
    part of the change that is left (retention), and the chains of facts that open again. A
    fine-tune is [bold]+finetune:FILE[/bold] (a line, or a paragraph, an example; JSON lines with
    "text", or "prompt" and "answer") or [bold]+finetune:graph[/bold], the graph's facts that share
    no entity with the requests; all weights are trained, or with [bold]:lora=8[/bold] low-rank
    factors. Its update is saved, and can be named as an edit.
    """
    from ..states.compare import compare as compared

    first = parse(base)
    options |= {
        "base": first, "states": parse_sequence(first, states),
        "rewrites": rewrites or [], "forget": forget or [],
    }  # fmt: skip
    posted = request_of(ComparisonIn, options)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = compared(runtime, posted)
        emit_result(runtime.db, COMPARISON, found, printed)
