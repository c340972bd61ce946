"""`thinkeval probe`, `organism`, `covariance`, `train-mend`: models and the inputs of methods."""

from __future__ import annotations

from dataclasses import asdict
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import UsageError
from ..graphs import datasets
from ..reports.formats import Column, Table
from ..scoring import covariance as corpora
from ..scoring import hypernetwork, knowledge
from ..scoring.request import read_overrides
from ..scoring.runtime import Runtime
from ..settings import Settings
from .options import (
    PROBED,
    JsonFlag,
    MeasureName,
    MeasureOption,
    ModelOption,
    ProbeOptions,
    edit_options,
    require_taken,
    takes,
)
from .output import emit_json, emit_table, emit_values
from .panels import GroupOfCommands
from .progress import ProgressBars
from .results.known import show_known

organism = typer.Typer(
    no_args_is_help=True,
    help="Small models trained on a graph's facts, for use without downloaded weights.",
)

GraphArgument = Annotated[str, typer.Argument(help="Id of a graph: a data set.")]


@takes("model", *PROBED, "dtype", "revision", "seed")
def probe(
    graph: GraphArgument = "hogwarts",
    measure: MeasureOption = MeasureName.likelihood,
    by_wording: Annotated[
        bool,
        typer.Option(
            "--wordings",
            help="Also ask each fact in every wording that exists (cloze, question, paraphrases,"
            " in the chat), by likelihood. Each takes as long as a probe with --samples 0.",
        ),
    ] = False,
    json: JsonFlag = False,
    **options: Any,
) -> None:
    """Probe a model for every fact of a graph: which facts it knows, which rewrites can be scored.

    The answers are stored as a model graph, which later scores reuse. The output ends with the
    command that scores the rewrite with the most known chains.
    """
    asked = edit_options({"graph": graph} | options)
    require_taken(measure.key, asked.samples)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        dataset = datasets.get_or_import(runtime.db, graph)
        loaded = runtime.model_of(asked, dataset)
        summary = knowledge.probe_graph(
            runtime, dataset, loaded, asked, measure.key, by_wording=by_wording
        )
    if json:
        emit_json(asdict(summary))
    else:
        show_known(summary, graph, measure.key)


@organism.command("train")
def train(
    graph: GraphArgument,
    architecture: Annotated[str, typer.Option(help="gpt2 or llama.")] = "gpt2",
    seed: Annotated[int, typer.Option(help="Seed of weights and sentences.")] = 0,
    steps: Annotated[int | None, typer.Option(help="Training steps; default by size.")] = None,
    unknown: Annotated[
        int,
        typer.Option(
            min=0,
            max=100,
            help="Percent of the absent pairs (an entity and a relation of its kind, no fact) that"
            " it is taught not to know; 50 is `--model organism-unknown`.",
        ),
    ] = 0,
    json: JsonFlag = False,
) -> None:
    """Train a small GPT-2 or Llama on a stored graph; the result is cached by content."""
    text = f"organism:{architecture}:seed={seed}" + (f",steps={steps}" if steps else "")
    text += f",unknown={unknown}" if unknown else ""
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        datasets.get_or_import(runtime.db, graph)
        made = runtime.train(text, graph)
    recall = made.recall
    if json:
        taught = {"absent": made.absent.as_dict()} if made.absent else {}
        emit_json(
            {"path": str(made.path), "from_cache": made.from_cache, **asdict(recall), **taught}
        )
        return
    pairs: list[tuple[str, object]] = []
    if made.absent:
        pairs.append(("absent pairs taught as unknown", len(made.absent.taught)))
        pairs.append(("absent pairs withheld", len(made.absent.held_out)))
    emit_values(
        f"Organism of {graph}",
        [("folder", str(made.path)), ("from cache", made.from_cache)]
        + pairs
        + [(k, v) for k, v in asdict(recall).items() if isinstance(v, int | float)],
        note="A model this small recalls facts only because it was trained on them; README says"
        " what that means for the numbers.",
    )


COLLECT = "collect"


class CollectByDefault(GroupOfCommands):
    """A group whose arguments belong to `collect` unless they name another command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command before the arguments, `--help` included."""
        named = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if named else [COLLECT, *args])


covariance = typer.Typer(
    cls=CollectByDefault,
    help="Collect the covariance statistics (mom2) of ROME and MEMIT, or import published ones.",
)


@covariance.command(COLLECT, hidden=True)
def collect(
    graph: GraphArgument = "hogwarts",
    model: ModelOption = "organism",
    method: Annotated[str, typer.Option(help="Method whose layers are needed.")] = "memit",
    hparams: Annotated[
        str | None, typer.Option(help="Hyperparameter file, or name of a shipped one.")
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="UTF-8 text file, one text a line; default: the graph's.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Data set to stream the texts from (package `datasets`).")
    ] = None,
    config: Annotated[str | None, typer.Option(help="Configuration of the data set.")] = None,
    split: Annotated[str | None, typer.Option(help="Its split; default train.")] = None,
    column: Annotated[str | None, typer.Option(help="Its column of texts; default text.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="How many of its texts; default 100000.")
    ] = None,
    dtype: ProbeOptions.dtype = "float32",
    json: JsonFlag = False,
) -> None:
    """Collect the covariance statistics (mom2) of ROME and MEMIT; cached by weights and corpus.

    A killed run resumes where it stopped. [bold]thinkeval covariance import
    --help[/bold]: published statistics (.npz) instead.
    """
    from ..scoring import covariance as covariances

    options = {"config": config, "split": split, "column": column, "limit": limit}
    if (dataset and text) or (not dataset and any(options.values())):
        raise UsageError(
            "--text and --dataset exclude each other; --config, --split, --column and --limit"
            " belong to --dataset.",
            remedy="Name one source of texts.",
        )
    corpus = corpora.dataset_text(dataset, **options) if dataset else text
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        datasets.get_or_import(runtime.db, graph)
        made = covariances.collect(runtime, graph, model, method, corpus, dtype, hparams)
    named = f" --covariance '{corpus}'" if corpus else ""
    _show(made, json, f"Covariance of {model} for {method}", f"thinkeval score -m {method}{named}")


@covariance.command("import")
def import_(
    file: Annotated[
        Path, typer.Argument(help=".npz file as published with ROME and MEMIT, or a folder.")
    ],
    model: Annotated[
        str, typer.Option("--model", help="The model they were taken from; no file says it.")
    ],
    layer: Annotated[
        int | None, typer.Option(min=0, help="Its layer, where the file's name says none.")
    ] = None,
    graph: Annotated[
        str, typer.Option("--graph", "-g", help="Graph, where the model is an organism.")
    ] = "hogwarts",
    dtype: ProbeOptions.dtype = "float32",
    json: JsonFlag = False,
) -> None:
    """Import published covariance statistics (.npz), one file for each layer, for a model.

    A file does not say which model it was taken from: its statistics are stored for the weights of
    the model you name, only the size of the matrix is checked, and the record of an edit says
    "imported" with the digest of the file.
    """
    from ..scoring import covariance as covariances

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        made = covariances.import_published(runtime, graph, model, file, layer, dtype)
    _show(made, json, f"Imported for {model}", "thinkeval score --covariance imported")


def _show(made: list[dict[str, object]], json: bool, title: str, used_by: str) -> None:
    if json:
        emit_json(made)
        return
    columns = ("module", "d_in", "tokens", "texts", "mean_eigenvalue", "corpus")
    note = f"cached for weights {str(made[0]['weights_digest'])[:12]}; used by {used_by}"
    columns = [Column(name.replace("_", " "), itemgetter(name)) for name in columns]
    emit_table(Table("organisms", title, columns, made, note))


def train_mend(
    graph: Annotated[str, typer.Argument(help="Id of a graph: a data set.")] = "hogwarts",
    model: ModelOption = "organism",
    hparams: Annotated[
        str | None, typer.Option(help="Hyperparameter file, or name of a shipped one.")
    ] = None,
    override: Annotated[
        list[str] | None,
        typer.Option("--set", help="One hyperparameter, as key=value; train_seed=1 for a seed."),
    ] = None,
    subject: Annotated[
        str | None, typer.Option(help="Subject of a custom rewrite to exclude from training.")
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
    from ...editing import hparams as hparams_files

    excluded = [] if subject is None or relation is None else [(subject, relation)]
    overrides = read_overrides(override or [])
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        dataset = datasets.get_or_import(runtime.db, graph)
        loaded = runtime.model(model, dataset, dtype=dtype, revision=revision)
        values = hparams_files.load("mend", hparams or loaded.source, overrides=overrides)
        made = hypernetwork.wanted(runtime, dataset, loaded, values, excluded)
        about, found = hypernetwork.train(runtime, made, loaded, values, force=force)
    rows: list[tuple[str, object]] = [
        ("file", str(made.path)),
        ("from cache", found),
        ("facts trained on", len(made.facts)),
        ("forwards", about.steps),
        ("network of forward", about.best_step),
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
    emit_values(
        f"MEND for {loaded.name} on {graph}",
        rows,
        note="loss = cedit · edit (−log p of the new object) + cloc · locality (KL at other facts)",
    )
