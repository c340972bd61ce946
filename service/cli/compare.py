"""`compare`, `results audit`: states of a model against a base."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from ..base.settings import Settings
from ..scoring.runtime import Runtime
from ..states.kind import COMPARISON
from ..states.schemas import ComparisonIn
from ..states.spec import listed, parse, parse_sequence
from .experiments import Printed, emit_result, prints
from .options import (
    MEASURED,
    EngineOption,
    JsonFlag,
    RayAddressOption,
    given,
    request_of,
    takes,
)
from .output import (
    ProgressBars,
    emit_command,
    emit_json,
    emit_note,
)


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
            " before with this put on; a folder of checkpoints is each of them, @FILE one a line."
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
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes, or actors of Ray, that compare one state each. Without it this"
            " process compares all, or a Ray cluster with all its room.",
        ),
    ] = None,
    engine: EngineOption = None,
    ray_address: RayAddressOption = None,
    *,
    printed: Printed,
    **options: Any,
) -> None:
    """Compare states of a model with a base state.

    The result: each fact that changed, with both probabilities, and the routes that opened or
    closed; then how many facts were kept, weakened, replaced, lost or are new. A state is a
    checkpoint plus optional changes: a LoRA adapter, saved edits, fine-tunes, quantisation; or a
    remote endpoint.

    [bold]thinkeval compare gpt2-xl ./my-finetune -g knowgic[/bold] watches the whole graph;
    [bold]--all[/bold] or [bold]--rewrite ID[/bold] scores rewrite requests between the states, with
    IFR, Preservation and chains; [bold]--forget "SUBJECT|RELATION|OBJECT"[/bold] asks whether a
    fact is forgotten. With [bold]--implications[/bold], also the conclusions of the graph's rules
    that these facts are premises of are asked. Each request is stored as an edit: [bold]show
    EDIT[/bold], [bold]report EDIT[/bold] and [bold]results chains EDIT[/bold] read it.

    Does a change last? [bold]thinkeval compare organism +edit:EDIT +8bit +finetune:graph:steps=200
    +edit:OTHER -r REWRITE[/bold] puts later changes on an edited model, one after the other: the
    part of the change that is left (retention), and the chains of facts that open again. A
    fine-tune is [bold]+finetune:FILE[/bold] (a line, or a paragraph, an example; JSON lines with
    "text", or "prompt" and "answer") or [bold]+finetune:graph[/bold], the graph's facts that share
    no entity with the requests; all weights are trained, or with [bold]:lora=8[/bold] low-rank
    factors. Its update is saved, and can be named as an edit.

    Many checkpoints: [bold]thinkeval compare ./base ./checkpoints --forget "S|R|O" --table states
    -f csv --join depth.csv[/bold] has a row for each, in the order of their numbers, with the
    columns of a file of your own beside ours. Interrupted, it resumes with the next checkpoint.
    """
    from ..engines import comparing
    from ..states.compare import compare as compared

    first = parse(base)
    options |= {
        "base": first, "states": parse_sequence(first, listed(states)),
        "rewrites": rewrites or [], "forget": forget or [],
    }  # fmt: skip
    posted = request_of(ComparisonIn, options)
    settings = Settings(**given(engine=engine, ray_address=ray_address))
    with ProgressBars(lines=True) as progress, Runtime(settings, progress) as runtime:
        found = compared(runtime, comparing.ahead(runtime, posted, workers))
        emit_result(runtime.db, COMPARISON, found, printed)


def audit(
    comparison: Annotated[
        str, typer.Argument(help="Id of a comparison: `thinkeval results comparisons` lists them.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write; a new one.")],
    force: Annotated[bool, typer.Option(help="Replace an audit in the folder.")] = False,
    json: JsonFlag = False,
) -> None:
    """Write what a comparison found about a forgotten fact as a folder that opens without a server.

    [bold]audit.html[/bold] has the verdict, the routes that are open, every fact and query;
    [bold]audit.json[/bold] the same for programs; [bold]SHA256SUMS[/bold] the digests of both,
    which [bold]sha256sum -c SHA256SUMS[/bold] checks.
    """
    from ..states.audit_page import PAGE, SUMS, export

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        verdict = export(runtime.db, comparison, output, force=force)["verdict"]
    if json:
        emit_json({"folder": str(output), "verdict": verdict})
        return
    emit_note(verdict["headline"], "bold")
    for each in verdict["requests"]:
        emit_note(each["chains"])
        emit_note(each["rules"])
    emit_note(verdict["rest"])
    emit_note(str(output / PAGE))
    emit_command(f"(cd {quote(str(output))} && sha256sum -c {SUMS})")
