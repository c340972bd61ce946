"""`thinkeval probe`, `organism`: what a model knows, and models of our own."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from thinkeval.service.cli.options import (
    JsonFlag,
    MeasureName,
    MeasureOption,
    ModelOption,
    emit_json,
    emit_table,
)
from thinkeval.service.cli.probe_options import ProbeOptions, probe_settings
from thinkeval.service.cli.progress import ProgressBars
from thinkeval.service.graphs import datasets
from thinkeval.service.scoring import model_graph
from thinkeval.service.scoring.runtime import Workbench
from thinkeval.service.settings import Settings

organism = typer.Typer(
    no_args_is_help=True,
    help="Small models trained on a graph's own facts: a stand-in where no weights are at hand.",
)

GraphArgument = Annotated[str, typer.Argument(help="Id of a data set graph.")]


def probe(
    graph: GraphArgument = "hogwarts",
    model: ModelOption = "organism",
    measure: MeasureOption = MeasureName.likelihood,
    samples: ProbeOptions.samples = 5,
    ask: ProbeOptions.ask = "cloze",
    paraphrases: ProbeOptions.paraphrases = False,
    chat: ProbeOptions.chat = "auto",
    dtype: ProbeOptions.dtype = "float32",
    revision: ProbeOptions.revision = None,
    seed: ProbeOptions.seed = 0,
    json: JsonFlag = False,
) -> None:
    """Ask a model for every fact of a graph; the answers are stored as the model's own graph."""
    settings = probe_settings(samples, ask, paraphrases, chat, seed)
    with ProgressBars() as progress, Workbench(Settings(), progress) as bench:
        datasets.ensure(bench.db, graph)
        loaded = bench.model(model, graph, dtype=dtype, revision=revision)
        summary = model_graph.probe_graph(bench, graph, loaded, settings, measure.key)
    if json:
        emit_json(asdict(summary))
        return
    emit_table(
        f"{summary.model} on {graph}",
        ["what", "value"],
        [
            ("graph stored as", summary.graph),
            ("facts asked", summary.n_facts),
            (f"facts with {measure.value} > .5", summary.n_known),
            ("facts whose prompt's objects together have > .5", summary.n_recalled),
            (f"mean {measure.value}", summary.mean),
        ],
    )
    emit_table(
        "Least known facts",
        ["subject", "relation", "object", measure.value],
        summary.weakest,
    )


@organism.command("train")
def train(
    graph: GraphArgument,
    architecture: Annotated[str, typer.Option(help="gpt2 or llama.")] = "gpt2",
    seed: Annotated[int, typer.Option(help="Seed of weights and sentences.")] = 0,
    steps: Annotated[int | None, typer.Option(help="Training steps; default by size.")] = None,
    json: JsonFlag = False,
) -> None:
    """Train a small GPT-2 or Llama on a stored graph; the result is cached by content."""
    text = f"organism:{architecture}:seed={seed}" + (f",steps={steps}" if steps else "")
    with ProgressBars() as progress, Workbench(Settings(), progress) as bench:
        datasets.ensure(bench.db, graph)
        made = bench.train(text, graph)
    recall = made.recall
    if json:
        emit_json({"path": str(made.path), "from_cache": made.from_cache, **asdict(recall)})
        return
    emit_table(
        f"Organism of {graph}",
        ["what", "value"],
        [("folder", str(made.path)), ("from cache", made.from_cache)]
        + [(k, v) for k, v in asdict(recall).items() if isinstance(v, int | float)],
        note="A model this small recalls facts only because it was trained on them; README says"
        " what that means for the numbers.",
    )
