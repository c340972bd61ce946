"""`thinkeval covariance`: collect the key statistics of a model, or import published ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from thinkeval.service.cli.options import JsonFlag, ModelOption, emit_json, emit_table
from thinkeval.service.cli.probe_options import ProbeOptions
from thinkeval.service.cli.progress import ProgressBars
from thinkeval.service.errors import UsageError
from thinkeval.service.graphs import datasets
from thinkeval.service.scoring import corpora
from thinkeval.service.scoring.runtime import Workbench
from thinkeval.service.settings import Settings

COLLECT = "collect"


class CollectByDefault(TyperGroup):
    """A group whose arguments belong to `collect` unless they name another command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command before the arguments, `--help` included."""
        named = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if named else [COLLECT, *args])


covariance = typer.Typer(
    cls=CollectByDefault,
    help="Collect the key statistics (mom2) that ROME and MEMIT need, or import published ones.",
)

GraphArgument = Annotated[str, typer.Argument(help="Id of a data set graph.")]


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
    """Collect the key statistics (mom2) that ROME and MEMIT need; cached by weights and corpus.

    A run that was killed is taken up where it was. [bold]thinkeval covariance import
    --help[/bold]: published statistics (.npz) instead.
    """
    from thinkeval.service.scoring import covariance as covariances

    options = {"config": config, "split": split, "column": column, "limit": limit}
    if (dataset and text) or (not dataset and any(options.values())):
        raise UsageError(
            "--text and --dataset exclude each other; --config, --split, --column and --limit"
            " belong to --dataset.",
            remedy="Name one source of texts.",
        )
    corpus = corpora.dataset_text(dataset, **options) if dataset else text
    with ProgressBars() as progress, Workbench(Settings(), progress) as bench:
        datasets.ensure(bench.db, graph)
        made = covariances.collect(bench, graph, model, method, corpus, dtype, hparams)
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
    """Import published key statistics (.npz), one file for each layer, for a model.

    A file does not say which model it was taken from: its statistics are stored for the weights of
    the model you name, only the size of the matrix is checked, and the record of an edit says
    "imported" with the digest of the file.
    """
    from thinkeval.service.scoring import covariance as covariances

    with ProgressBars() as progress, Workbench(Settings(), progress) as bench:
        made = covariances.import_published(bench, graph, model, file, layer, dtype)
    _show(made, json, f"Imported for {model}", "thinkeval score --covariance imported")


def _show(made: list[dict[str, object]], json: bool, title: str, used_by: str) -> None:
    if json:
        emit_json(made)
        return
    columns = ("module", "d_in", "tokens", "texts", "mean_eigenvalue", "corpus")
    emit_table(
        title,
        [name.replace("_", " ") for name in columns],
        [[row[name] for name in columns] for row in made],
        note=f"cached for weights {str(made[0]['weights_digest'])[:12]}; used by {used_by}",
    )
