"""`thinkeval sweep`: all methods on all rewrites, one report; run again, it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from thinkeval.service.cli.options import (
    JsonFlag,
    MeasureName,
    MeasureOption,
    OutputOption,
    emit_json,
    require_json,
)
from thinkeval.service.cli.probe_options import ProbeOptions, probe_settings, require_taken
from thinkeval.service.cli.progress import ProgressBars
from thinkeval.service.cli.show_sweep import show_sweep
from thinkeval.service.graphs import rewrites
from thinkeval.service.scoring.runtime import Workbench
from thinkeval.service.settings import Settings

if TYPE_CHECKING:
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
    from thinkeval.editing import methods
    from thinkeval.service.cli.show_summary import show_summaries
    from thinkeval.service.reports import sweep as sweep_report
    from thinkeval.service.rules import groundings, summary
    from thinkeval.service.scoring import sweep as sweeps

    options = rewrites.scoring_options(max_steps, bare, "rewrite")
    overrides: dict[str, dict[str, object]] = {}
    for text in override or []:
        name, key, value = rewrites.method_override(text)
        overrides.setdefault(name, {})[key] = value
    with ProgressBars() as progress, Workbench(Settings(), progress) as bench:
        chosen = rewrites.rewrites(
            bench.db, graph, rewrite or [], rewrites.OwnRewrite(), not rewrite
        )
        asked: Sweep = sweeps.Sweep(
            graph=graph,
            rewrites=tuple(chosen),
            methods=tuple(dict.fromkeys(method or methods.names())),
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
            groundings.rules_for(bench.db, graph)  # refused now, not by every cell
        found = sweep_report.report(sweeps.run(bench, asked, workers), measure.key)
        implied = summary.by_method(bench.db, found.scores, measure.key) if implications else []
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
