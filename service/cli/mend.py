"""`thinkeval train-mend`: train the hypernetwork that MEND edits with."""

from __future__ import annotations

from typing import Annotated

import typer

from thinkeval.service.cli.options import JsonFlag, ModelOption, emit_json, emit_table
from thinkeval.service.cli.probe_options import ProbeOptions
from thinkeval.service.cli.progress import ProgressBars
from thinkeval.service.errors import UsageError
from thinkeval.service.graphs import datasets, rewrites
from thinkeval.service.scoring import hypernetwork
from thinkeval.service.scoring.runtime import Workbench
from thinkeval.service.settings import Settings


def train_mend(
    graph: Annotated[str, typer.Argument(help="Id of a data set graph.")] = "hogwarts",
    model: ModelOption = "organism",
    hparams: Annotated[
        str | None, typer.Option(help="Hyperparameter file, or name of a shipped one.")
    ] = None,
    override: Annotated[
        list[str] | None,
        typer.Option("--set", help="One hyperparameter, as key=value; train_seed=1 for a seed."),
    ] = None,
    subject: Annotated[
        str | None, typer.Option(help="Subject of a rewrite of your own, not to be trained on.")
    ] = None,
    relation: Annotated[str | None, typer.Option(help="Its relation in the graph.")] = None,
    dtype: ProbeOptions.dtype = "float32",
    revision: ProbeOptions.revision = None,
    force: Annotated[bool, typer.Option("--force", help="Train again even if stored.")] = False,
    json: JsonFlag = False,
) -> None:
    """Train MEND's hypernetwork for a model on a graph's facts; cached by weights and settings.

    It learns from edits of the graph's facts to other objects. Facts with the subject and relation
    of a rewrite request are left out, so that no score is of an edit it was trained on.
    `thinkeval score -m mend` finds it; for a small model it trains one by itself.
    """
    if (subject is None) != (relation is None):
        raise UsageError("--subject and --relation belong together.", remedy="Give both or none.")
    from thinkeval.editing import hparams as hparams_files

    held = [] if subject is None or relation is None else [(subject, relation)]
    overrides = rewrites.read_overrides(override or [])
    with ProgressBars() as progress, Workbench(Settings(), progress) as bench:
        datasets.ensure(bench.db, graph)
        loaded = bench.model(model, graph, dtype=dtype, revision=revision)
        values = hparams_files.load("mend", hparams or loaded.source, overrides=overrides)
        made = hypernetwork.wanted(bench, graph, loaded, values, held)
        about, found = hypernetwork.train(bench, made, loaded, values, force=force)
    rows: list[tuple[str, object]] = [
        ("file", str(made.path)),
        ("from cache", found),
        ("facts trained on", len(made.facts)),
        ("forwards", about.steps),
        ("kept the network of forward", about.best_step),
        ("seconds", about.seconds),
    ]
    for name in ("loss", "edit", "locality", "efficacy"):
        rows += [
            (f"validation {name}, untrained", about.before[name]),
            (f"validation {name}, trained", about.after[name]),
        ]
    if json:
        emit_json(dict(rows))
        return
    emit_table(
        f"MEND for {loaded.name} on {graph}",
        ["what", "value"],
        rows,
        note="loss = cedit · edit (−log p of the new object) + cloc · locality (KL at other facts)",
    )
