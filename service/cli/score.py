"""`thinkeval score`: one rewrite or all of a data set, by one method or several.

The gate: does an edit stay within the limits a team has set? For use in their CI.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
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
from thinkeval.service.cli.output import emit_json, emit_text
from thinkeval.service.cli.progress import ProgressBars
from thinkeval.service.cli.render import (
    show_chains,
    show_counterfact,
    show_method_table,
    show_score,
)
from thinkeval.service.errors import UsageError, in_one_line
from thinkeval.service.formatting import several
from thinkeval.service.graphs import rewrites as selection
from thinkeval.service.schemas import Measure, Score
from thinkeval.service.scoring.request import score_request, scoring_options
from thinkeval.service.scoring.runtime import Runtime
from thinkeval.service.settings import Settings

if TYPE_CHECKING:
    from thinkeval.service.scoring.request import ScoreRequest


@dataclass(frozen=True, slots=True)
class Limits:
    """What an edit may leak at most and must preserve at least; None is no limit."""

    max_ifr: float | None = None
    min_preservation: float | None = None


def check(score: Score, limits: Limits, measure: Measure) -> list[str]:
    """One line for each limit the score breaks; empty when it holds. At the limit it holds."""
    broken = []
    ifr, preservation = score.get("ifr", measure), score.get("preservation", measure)
    if limits.max_ifr is not None and ifr is not None and ifr.value > limits.max_ifr:
        broken.append(
            f"gate: {score.edit}: IFR {ifr.value:.4f} > {limits.max_ifr} over"
            f" {several(ifr.n, 'chain')}; see `thinkeval chains {score.edit} --surviving`"
        )
    if (
        limits.min_preservation is not None
        and preservation is not None
        and preservation.value < limits.min_preservation
    ):
        broken.append(
            f"gate: {score.edit}: Preservation {preservation.value:.4f} <"
            f" {limits.min_preservation} over {several(preservation.n, 'fact')}"
        )
    return broken


def score(
    rewrite: Annotated[
        list[str] | None,
        typer.Argument(
            help="Rewrite id, its beginning, or subject (see `thinkeval rewrites GRAPH`)."
        ),
    ] = None,
    graph: Annotated[str, typer.Option("--graph", "-g", help="Data set graph.")] = "hogwarts",
    model: ModelOption = "organism",
    method: Annotated[
        list[str] | None, typer.Option("--method", "-m", help="Editing method; repeatable.")
    ] = None,
    all_rewrites: Annotated[
        bool, typer.Option("--all", help="Every rewrite of the graph.")
    ] = False,
    subject: Annotated[str | None, typer.Option(help="Subject of a rewrite of your own.")] = None,
    relation: Annotated[str | None, typer.Option(help="Its relation in the graph.")] = None,
    prompt: Annotated[str | None, typer.Option(help="Its cloze, with {} for the subject.")] = None,
    target_true: Annotated[str | None, typer.Option(help="The object to edit out.")] = None,
    target_new: Annotated[str | None, typer.Option(help="The object to edit in.")] = None,
    hparams: Annotated[
        str | None, typer.Option(help="Hyperparameter file, or name of a shipped one.")
    ] = None,
    override: Annotated[
        list[str] | None, typer.Option("--set", help="One hyperparameter, as key=value.")
    ] = None,
    covariance: Annotated[
        str | None,
        typer.Option(
            help="Key statistics from: a text file, datasets:NAME?limit=.., .npz files (one, or a"
            " folder), or `imported`; default: the graph's own sentences."
        ),
    ] = None,
    measure: MeasureOption = MeasureName.likelihood,
    samples: ProbeOptions.samples = 5,
    ask: ProbeOptions.ask = "cloze",
    paraphrases: ProbeOptions.paraphrases = False,
    chat: ProbeOptions.chat = "auto",
    dtype: ProbeOptions.dtype = "float32",
    revision: ProbeOptions.revision = None,
    seed: ProbeOptions.seed = 0,
    max_steps: Annotated[int, typer.Option(min=1, max=5, help="Longest chain.")] = 5,
    bare: Annotated[
        str, typer.Option(help="Edited fact as a 1-step chain: listed, include or exclude.")
    ] = "listed",
    unit: Annotated[str, typer.Option(help="Preservation over rewrite or record.")] = "rewrite",
    threshold: Annotated[
        float | None,
        typer.Option(min=0, help="A chain survives if R' > threshold · R; default .01, sampled 0."),
    ] = None,
    strength: Annotated[
        float, typer.Option(min=0, help="Factor on the update; 1: as the method made it.")
    ] = 1.0,
    max_ifr: Annotated[
        float | None, typer.Option(help="Gate: exit 1 when IFR is above this.")
    ] = None,
    min_preservation: Annotated[
        float | None, typer.Option(help="Gate: exit 1 when Preservation is below this.")
    ] = None,
    generate: Annotated[
        bool,
        typer.Option(
            "--generate",
            help="Let both models write freely: fluency and consistency. Takes longer.",
        ),
    ] = False,
    implications: Annotated[
        bool,
        typer.Option(
            "--implications",
            help="Ask for what the graph's rules say should change too (`thinkeval rules`).",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Score again even if stored.")] = False,
    json: JsonFlag = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print one CSV row an edit.")] = False,
    output: OutputOption = None,
) -> None:
    """Score an edit: probe, edit, probe again, and read IFR and Preservation off the graph.

    [bold]thinkeval score harry-potter--studied-at -m rome[/bold] scores a rewrite of the graph that
    ships with ThinkEval; [bold]thinkeval score -g knowgic --all -m rome -m memit[/bold] fills a
    table. With --subject, --prompt (or --relation), --target-true and --target-new the rewrite is
    your own.
    """
    if output is not None and not (json or csv):
        raise UsageError("-o writes --json or --csv, and neither is given.", remedy="Add one.")
    options = scoring_options(max_steps, bare, unit, threshold)
    probe = probe_settings(samples, ask, paraphrases, chat, seed)
    require_taken(measure.key, probe, samples)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        own = selection.OwnRewrite(subject, relation, prompt, target_true, target_new)
        rewrites = selection.rewrites(runtime.db, graph, rewrite or [], own, all_rewrites)
        requests = [
            score_request(
                graph, chosen, model, name, probe, options,
                hparams=hparams, overrides=override or [], covariance=covariance,
                dtype=dtype, revision=revision, seed=seed, force=force, generate=generate,
                strength=strength, implications=implications,
            )
            for name in (method or ["rome"])
            for chosen in rewrites
        ]  # fmt: skip
        scores, failed = score_all(runtime, requests)
        _emit(runtime, scores, measure, json, csv, output, implications)
    for request, reason in failed:
        typer.echo(f"failed: {request.method} on {request.rewrite.id}: {reason}", err=True)
    limits = Limits(max_ifr, min_preservation)
    verdicts = [check(s, limits, measure.key) for s in scores]
    for line in (line for verdict in verdicts for line in verdict):
        typer.echo(line, err=True)
    if failed:
        raise typer.Exit(2)
    if any(verdicts):
        raise typer.Exit(1)


def score_all(
    runtime: Runtime, requests: list[ScoreRequest]
) -> tuple[list[Score], list[tuple[ScoreRequest, str]]]:
    """Score each request; with several, one that fails does not stop the others."""
    from thinkeval.editing.errors import EditingError
    from thinkeval.service.scoring.score import score_edit

    scores: list[Score] = []
    failed: list[tuple[ScoreRequest, str]] = []
    for done, request in enumerate(requests):
        if len(requests) > 1:
            runtime.progress(done, len(requests), "edits")
        try:
            scores.append(score_edit(runtime, request))
        except EditingError as error:
            if len(requests) == 1:
                raise
            failed.append((request, in_one_line(error)))
    return scores, failed


def _emit(
    runtime: Runtime,
    scores: list[Score],
    measure: MeasureName,
    json: bool,
    csv: bool,
    output: Path | None,
    implied: bool,
) -> None:
    if json:
        emit_json([s.model_dump() for s in scores], output)
    elif csv:
        from thinkeval.service.reports.formats import render
        from thinkeval.service.reports.table import scores_frame

        emit_text(render(scores_frame(scores, measure.key), "csv"), output)
    elif len(scores) == 1:
        show_score(scores[0])
        show_counterfact(scores[0])
        show_chains(runtime.db, scores[0], measure.key, limit=5)
        if implied:
            from thinkeval.service.cli.render_rules import show_implied

            show_implied(runtime.db, scores[0], measure.key)
    elif scores:
        show_method_table(scores, measure.key)
