"""`thinkeval lab plan`: rewrites and samples that a run needs; no model is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..base.errors import NothingStoredError, UsageError
from ..base.settings import Settings
from ..graphs import datasets
from ..scoring import record
from ..scoring.runtime import Runtime
from .options import JsonFlag, MeasureName, MeasureOption
from .output import ProgressBars, emit_json, emit_table

if TYPE_CHECKING:
    from ..models.edit import Score


def plan(
    graph: Annotated[str, typer.Option("--graph", "-g", help="Graph: a data set.")] = "hogwarts",
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            help="Method whose stored scores give the spread; two: of their paired difference.",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="Only of this model.")] = None,
    difference: Annotated[float, typer.Option(help="Difference that shall be found.")] = 0.1,
    width: Annotated[
        float, typer.Option(help="Width of the 95 % interval, from end to end: .1 is ± .05.")
    ] = 0.1,
    measure: MeasureOption = MeasureName.likelihood,
    json: JsonFlag = False,
) -> None:
    """Say how many rewrites, or samples a probe, a run needs.

    With two methods that have stored scores of 12 rewrites or more, the spread is that of their
    paired difference, with its upper 80 % limit; without, it is assumed. The difference that the
    rewrites of the graph can show is beside it: below that, a run of them finds nothing.

    [bold]thinkeval lab plan -g knowgic -m rome -m memit --difference .05[/bold]
    """
    from ..reports.comparison import compare
    from ..reports.sample_size import sample_size, table

    methods = list(dict.fromkeys(method or ()))
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        datasets.get_or_import(runtime.db, graph)
        scores = _stored(runtime, graph, methods, model) if methods else []
        found = sample_size(
            compare(runtime.db, scores, measure.key) if scores else None,
            graph,
            sum(each.kind == "replace" for each in datasets.list_rewrites(runtime.db, graph)),
            methods,
            measure.key,
            difference,
            width,
        )
    if json:
        emit_json(found.model_dump())
    else:
        emit_table(table(found))


def _stored(runtime: Runtime, graph: str, methods: list[str], model: str | None) -> list[Score]:
    """The stored scores of the methods; of one model."""
    try:
        scores = record.scores(runtime.db, [], graph=graph, model=model)
    except NothingStoredError:
        return []
    scores = [score for score in scores if score.method in methods]
    models = sorted({score.model for score in scores})
    if len(models) > 1:
        raise UsageError(
            f"There are scores of several models: {', '.join(models)}.",
            remedy="Name one with --model; spreads of different models are never pooled.",
        )
    return scores
