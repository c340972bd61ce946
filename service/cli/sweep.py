"""`thinkeval sweep`: all methods on all rewrites, one report; run again, it goes on.

`thinkeval sequence`: edits one after the other, scored after each and again at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from thinkeval.service.cli.options import (
    JsonFlag,
    MeasureName,
    MeasureOption,
    ModelOption,
    OutputOption,
    ProbeOptions,
    probe_settings,
    require_taken,
)
from thinkeval.service.cli.output import emit_json, emit_table, require_json
from thinkeval.service.cli.progress import ProgressBars
from thinkeval.service.cli.render import show_sweep
from thinkeval.service.formatting import cell
from thinkeval.service.graphs import rewrites
from thinkeval.service.schemas import MEASURE_NAMES, Measure
from thinkeval.service.scoring.request import method_override, score_request, scoring_options
from thinkeval.service.scoring.runtime import Runtime
from thinkeval.service.scoring.sweep_pool import run as run_sweep
from thinkeval.service.settings import Settings

if TYPE_CHECKING:
    from thinkeval.service.rules.summary import SummaryOut
    from thinkeval.service.scoring.sequence import SequenceScore
    from thinkeval.service.scoring.sweep import Sweep

MATCHING = (0.25, 0.5, 0.75, 1.0)
"""Strengths that --matched scores each edit at."""


def sweep(
    rewrite: Annotated[
        list[str] | None, typer.Argument(help="Rewrite ids or subjects; default: all of the graph.")
    ] = None,
    graph: Annotated[str, typer.Option("--graph", "-g", help="Data set graph.")] = "hogwarts",
    model: Annotated[
        list[str] | None,
        typer.Option("--model", help="As `score` takes it; repeatable; default: organism."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", help="Editing method; repeatable; default: all."),
    ] = None,
    seed: Annotated[
        list[int] | None,
        typer.Option("--seed", help="Seed of organism, editing and sampling; repeatable."),
    ] = None,
    matched: Annotated[
        bool,
        typer.Option(
            "--matched",
            help="Also score each update at 1/4, 1/2 and 3/4 of its strength and compare methods"
            " at equal efficacy.",
        ),
    ] = False,
    override: Annotated[
        list[str] | None,
        typer.Option("--set", help="One hyperparameter of one method, as METHOD.key=value."),
    ] = None,
    covariance: Annotated[
        str | None, typer.Option(help="Key statistics, as in `thinkeval score`.")
    ] = None,
    measure: MeasureOption = MeasureName.likelihood,
    samples: Annotated[
        int, typer.Option(min=0, help="Sampled answers a prompt; 0 takes exact likelihoods only.")
    ] = 0,
    ask: ProbeOptions.ask = "cloze",
    chat: ProbeOptions.chat = "auto",
    dtype: ProbeOptions.dtype = "float32",
    max_steps: Annotated[int, typer.Option(min=1, max=5, help="Longest chain.")] = 5,
    bare: Annotated[
        str, typer.Option(help="Edited fact as a 1-step chain: listed, include or exclude.")
    ] = "listed",
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes; default: one a core for small models on the CPU."),
    ] = None,
    implications: Annotated[
        bool,
        typer.Option(
            "--implications",
            help="Ask for what the graph's rules imply too, and sum it up by method.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Score again even if stored.")] = False,
    json: JsonFlag = False,
    output: OutputOption = None,
) -> None:
    """Score all methods on all rewrites, and print one report.

    [bold]thinkeval sweep -g knowgic[/bold] runs every method on KnowGIC's 26 rewrites. What is
    stored already is not done again, so an interrupted sweep goes on where it stopped; a cell that
    fails is listed with its reason and the rest goes on. [bold]--matched[/bold] compares methods at
    equal efficacy, [bold]--seed 0 --seed 1[/bold] shows which differences exceed the spread over
    seeds. The table is made again any time by [bold]thinkeval report[/bold].
    """
    require_json(output, json)
    probe = probe_settings(samples, ask, False, chat, 0)
    require_taken(measure.key, probe, samples)
    from thinkeval.editing import registry
    from thinkeval.service.cli.render_rules import show_summaries
    from thinkeval.service.reports import sweep as sweep_report
    from thinkeval.service.rules import groundings, summary
    from thinkeval.service.scoring import sweep as sweeps

    options = scoring_options(max_steps, bare, "rewrite")
    overrides: dict[str, dict[str, object]] = {}
    for text in override or []:
        name, key, value = method_override(text)
        overrides.setdefault(name, {})[key] = value
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        chosen = rewrites.rewrites(
            runtime.db, graph, rewrite or [], rewrites.OwnRewrite(), not rewrite
        )
        asked: Sweep = sweeps.Sweep(
            graph=graph,
            rewrites=tuple(chosen),
            methods=tuple(dict.fromkeys(method or registry.names())),
            probe=probe,
            models=tuple(model or ["organism"]),
            seeds=tuple(dict.fromkeys(seed or [0])),
            strengths=MATCHING if matched else (1.0,),
            options=options,
            overrides=overrides,
            covariance=covariance,
            dtype=dtype,
            force=force,
            implications=implications,
        )
        if implications:
            groundings.rules_for(runtime.db, graph)  # refused now, not by every cell
        found = sweep_report.report(run_sweep(runtime, asked, workers), measure.key)
        implied = summary.by_method(runtime.db, found.scores, measure.key) if implications else []
    if json:
        told = {"implications": [each.model_dump() for each in implied]} if implications else {}
        emit_json(found.as_dict() | told, output)
    else:
        show_sweep(found, measure.key)
        several_models = len({each.model for each in implied}) > 1
        show_summaries({
            f"{each.method} on {each.model}" if several_models else each.method: each
            for each in implied
        })  # fmt: skip
    if found.failed:
        raise typer.Exit(2)


def sequence(
    rewrite: Annotated[
        list[str] | None,
        typer.Argument(help="Rewrite ids or subjects, in order; default: all of the graph."),
    ] = None,
    graph: Annotated[str, typer.Option("--graph", "-g", help="Data set graph.")] = "hogwarts",
    model: ModelOption = "organism",
    method: Annotated[str, typer.Option("--method", "-m", help="Editing method.")] = "alphaedit",
    batch: Annotated[int, typer.Option(min=1, help="Rewrites that are edited together.")] = 1,
    override: Annotated[
        list[str] | None, typer.Option("--set", help="One hyperparameter, as key=value.")
    ] = None,
    measure: MeasureOption = MeasureName.likelihood,
    samples: Annotated[
        int, typer.Option(min=0, help="Sampled answers a prompt; 0 takes exact likelihoods only.")
    ] = 0,
    dtype: ProbeOptions.dtype = "float32",
    seed: ProbeOptions.seed = 0,
    implications: Annotated[
        bool,
        typer.Option(
            "--implications",
            help="Ask for what the graph's rules imply too, and sum it up after and at the end.",
        ),
    ] = False,
    json: JsonFlag = False,
    output: OutputOption = None,
) -> None:
    """Edit rewrites one after the other, and score each after its edit and again at the end.

    What later edits do to an earlier one is the difference between the two. A --batch of all
    rewrites edits them at once. Each score is stored like any other (`thinkeval chains EDIT`).
    With --implications, --json gives an object: `edits`, and `implications` after and at the end.
    """
    require_json(output, json)
    probe = probe_settings(samples, "cloze", False, "auto", seed)
    require_taken(measure.key, probe, samples)
    from thinkeval.service.cli.render_rules import show_summaries
    from thinkeval.service.rules import groundings
    from thinkeval.service.scoring import sequence as sequences

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        chosen = rewrites.rewrites(
            runtime.db, graph, rewrite or [], rewrites.OwnRewrite(), not rewrite
        )
        options = scoring_options(5, "listed", "rewrite")
        request = score_request(
            graph, chosen[0], model, method, probe, options,
            overrides=override or [], dtype=dtype, seed=seed, implications=implications,
        )  # fmt: skip
        if implications:
            groundings.rules_for(runtime.db, graph)  # refused before anything is edited
        found = sequences.score_sequence(runtime, request, chosen, batch)
        implied = _implied(runtime, found, measure.key) if implications else {}
    if json:
        pairs = [{"after": s.after.model_dump(), "end": s.end.model_dump()} for s in found]
        told = {when: each.model_dump() for when, each in implied.items()}
        emit_json({"edits": pairs, "implications": told} if implications else pairs, output)
    else:
        _show(found, measure.key, method, batch)
        show_summaries(implied)


def _implied(
    runtime: Runtime, found: list[SequenceScore], measure: Measure
) -> dict[str, SummaryOut]:
    """What the rules say of all edits, each after its own batch, and at the end."""
    from thinkeval.service.rules import summary

    return {
        when: each
        for when in ("after", "end")
        for each in summary.by_method(runtime.db, [getattr(s, when) for s in found], measure)
    }


def _show(found: list[SequenceScore], measure: Measure, method: str, batch: int) -> None:
    from thinkeval.service.reports.pooling import POOLED, pooled, terms

    rows = []
    for number, one in enumerate(found, 1):
        pairs = [
            (one.after.get(metric, measure), one.end.get(metric, measure)) for metric in POOLED
        ]
        rows.append(
            [number, one.after.rewrite[:48]]
            + [cell(v.value if v and v.n else None) for pair in pairs for v in pair]
        )
    after, end = (
        pooled(terms([getattr(one, when) for one in found], measure)) for when in ("after", "end")
    )
    means = [cell(v) for pair in zip(after, end, strict=True) for v in pair]
    rows.append(["", f"all {len(found)}", *means])
    names = {"efficacy": "effic.", "ifr": "IFR", "preservation": "Pres."}
    emit_table(
        f"{method} in sequence, {batch} at a time: {MEASURE_NAMES[measure]}",
        ["", "rewrite", *(f"{names[m]} {when}" for m in POOLED for when in ("after", "end"))],
        rows,
        note="`after`: on the model with this and all earlier edits; `end`: with all of them. The"
        " last row pools: IFR over all chains, means of the others.",
    )
