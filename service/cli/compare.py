"""`compare`, `results audit`, `results diff`: states against a base, and two stored edits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from ..base.formatting import cell, objects, pluralize, signed, signed_interval, with_interval
from ..base.settings import Settings
from ..graphs.edges import became
from ..models.diff import ChainDelta, ChainsDiff, Diff, FactDelta, FactsDiff, LoneFact, MetricDelta
from ..models.edit import MEASURE_NAMES
from ..reports.formats import Column, Table
from ..scoring.runtime import Runtime
from ..states.kind import COMPARISON
from ..states.schemas import ComparisonIn
from ..states.spec import listed, parse, parse_sequence
from .experiments import Printed, emit_result, prints
from .options import (
    MEASURED,
    EngineOption,
    JsonFlag,
    MeasureName,
    OutputOption,
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
    emit_table,
    require_json,
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


# `thinkeval results diff`: two stored edits side by side; no model is loaded.

METRICS: list[Column[MetricDelta]] = [
    Column("metric", lambda m: m.metric if m.step is None else f"{m.metric}, {m.step}-step"),
    Column("A", lambda m: with_interval(m.a, m.low_a, m.high_a)),
    Column("B", lambda m: with_interval(m.b, m.low_b, m.high_b)),
    Column("B − A", lambda m: signed_interval(m.delta, m.delta_low, m.delta_high)),
    Column("n in A", lambda m: m.n_a, optional=1),
    Column("n in B", lambda m: m.n_b, optional=1),
]
CHAINS: list[Column[ChainDelta]] = [
    Column("chain", lambda c: " → ".join(c.entities)),
    Column("R' in A", lambda c: c.r_post_a),
    Column("R' in B", lambda c: c.r_post_b),
]
FLIPPED: list[Column[FactDelta]] = [
    Column("subject", lambda f: f.subject),
    Column("relation", lambda f: f.relation),
    Column("object", lambda f: f.object),
    Column("A", lambda f: f"{cell(f.pre_a)} → {cell(f.post_a)}", optional=1),
    Column("", lambda f: became(f.change_a, f.says_post_a)),
    Column("B", lambda f: f"{cell(f.pre_b)} → {cell(f.post_b)}", optional=1),
    Column("", lambda f: became(f.change_b, f.says_post_b)),
    Column("B − A", lambda f: f.delta, signed),
]
LONE: list[Column[LoneFact]] = [
    Column("subject", lambda f: f.subject),
    Column("relation", lambda f: f.relation),
    Column("object", lambda f: f.object),
    Column("role", lambda f: f.role, optional=1),
    Column("before", lambda f: f.pre),
    Column("after", lambda f: f.post),
    Column("", lambda f: became(f.change, f.says_post), optional=1),
]


def diff(
    edit_a: Annotated[
        str, typer.Argument(help="Id of a scored edit (see `thinkeval results edits`).")
    ],
    edit_b: Annotated[str, typer.Argument(help="Id of the edit to compare it with.")],
    measure: Annotated[
        MeasureName | None,
        typer.Option(
            "--measure",
            help="The measure; default: the first that both edits have, usually likelihood.",
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="Rows a table at most; 0 shows all.")] = 20,
    json: JsonFlag = False,
    output: OutputOption = None,
) -> None:
    """Compare edit B with edit A: metrics, chains, facts.

    A delta is always B − A, so for IFR a negative delta means that B leaks less. A chain is
    [bold]opened[/bold] if it is cut after A and survives after B, and [bold]closed[/bold] the other
    way round. A fact is [bold]flipped[/bold] if the edits leave it in another state: kept,
    weakened, replaced, lost or added; or on two sides of 0.5.

    Compare two methods on one rewrite, or one method with other hyperparameters. Swapping the
    edits turns every sign; an edit compared with itself differs in nothing. Edits of different
    rewrites of one data set are compared on the facts they share; differences in setup are
    listed first. With --json everything is printed, in all measures, and -o writes it to a file.
    """
    from ..reports import diff as diffs

    require_json(output, json)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = diffs.diff(runtime.db, edit_a, edit_b, measure.key if measure else None)
    if json:
        emit_json(found.model_dump(mode="json"), output)
    else:
        show_diff(found, limit)


def show_diff(found: Diff, limit: int = 0) -> None:
    """The diff as tables; 0 shows every row."""
    for name, edit in (("A", found.a), ("B", found.b)):
        emit_note(
            f"{name} {edit.edit}: {edit.method} on {edit.model},"
            f" {edit.subject}: {objects(edit.target_true, edit.target_new)}"
        )
    for note in found.notes:
        emit_note(f"Not alike: {note}", "yellow")
    if found.empty:
        emit_note("The edits do not differ in any metric, fact or chain.")
    _show_metrics(found)
    if found.chains is not None:
        _show_chains(found.chains, limit)
    _show_facts(found.facts, limit)


def _show_metrics(found: Diff) -> None:
    # By steps only IFR: counts by steps are in the chains below, and everything is in --json.
    shown = [
        m
        for m in found.metrics
        if m.measure == found.measure
        and (m.n_a or m.n_b)
        and (m.step is None or m.metric == "ifr_by_steps")
    ]
    note = _other_measures(found)
    emit_table(Table("metrics", f"Metrics ({MEASURE_NAMES[found.measure]})", METRICS, shown, note))


def _other_measures(found: Diff) -> str:
    """Other measures by which the edits differ, which the table does not show."""

    def differs(m: MetricDelta) -> bool:
        return m.measure != found.measure and m.delta != 0

    others = sorted({m.measure for m in found.metrics if differs(m)})
    named = [MEASURE_NAMES.get(name, name) for name in others]
    return f"They differ by {', '.join(named)} too; --json has it all." if named else ""


def _show_chains(chains: ChainsDiff, limit: int) -> None:
    for title, moved in (
        ("Chains opened: cut in A, surviving in B", chains.opened),
        ("Chains closed: surviving in A, cut in B", chains.closed),
    ):
        emit_table(Table("chains", title, CHAINS, _first(moved, limit), _rest(moved, limit)))
    summary = (
        f"{pluralize(chains.surviving_a, 'chain')} survive{'s' * (chains.surviving_a == 1)} A,"
        f" {chains.surviving_b} B;"
        f" {chains.shared} are chains of both"
    )
    if chains.only_a or chains.only_b:
        summary += (
            f", {chains.only_a} of A alone ({chains.surviving_only_a} survive),"
            f" {chains.only_b} of B alone ({chains.surviving_only_b} survive)"
        )
    emit_note(f"{summary}.", "dim")


def _show_facts(facts: FactsDiff, limit: int) -> None:
    note = _rest(facts.flipped, limit)
    title = "Facts flipped (p before → after)"
    emit_table(Table("flipped", title, FLIPPED, _first(facts.flipped, limit), note))
    for name, alone in (("A", facts.only_a), ("B", facts.only_b)):
        if alone:
            title = f"Facts in the graph of {name} alone"
            emit_table(Table("alone", title, LONE, _first(alone, limit), _rest(alone, limit)))
    both = f"{len(facts.flipped)} of the {facts.shared} facts that both hold are flipped."
    emit_note(both, "dim")


def _first(rows: Sequence, limit: int) -> Sequence:
    return rows[:limit] if limit else rows


def _rest(rows: Sequence, limit: int) -> str:
    return f"showing {limit} of {len(rows)}" if limit and len(rows) > limit else ""
