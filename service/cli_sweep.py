"""`thinkeval sweep`: all methods on all rewrites, one report; run again, it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from service import selection
from service.cli_options import (
    JsonFlag,
    MeasureName,
    MeasureOption,
    OutputOption,
    emit_json,
    require_json,
)
from service.cli_probe_options import ProbeOptions, probe_settings, require_taken
from service.cli_show_sweep import show_sweep
from service.progress import ProgressBars
from service.settings import Settings
from service.workbench import Workbench

if TYPE_CHECKING:
    from service.sweeps import Sweep

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
    from editing import methods
    from service import sweep_report, sweeps
    from service.cli_show_summary import show_summaries
    from service.closure import summary
    from service.rules import instances

    options = selection.scoring_options(max_steps, bare, "rewrite")
    overrides: dict[str, dict[str, object]] = {}
    for text in override or []:
        name, key, value = selection.method_override(text)
        overrides.setdefault(name, {})[key] = value
    with ProgressBars() as progress, Workbench(Settings(), progress) as bench:
        chosen = selection.rewrites(
            bench.db, graph, rewrite or [], selection.OwnRewrite(), not rewrite
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
            instances.rules_for(bench.db, graph)  # refused now, not by every cell
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
