"""`thinkeval peak sweep`: methods and variants on requests to append; run again, it resumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import UsageError
from ...graphs import datasets, rewrites
from ...reports.formats import Table, indexed
from ...scoring.runtime import Runtime
from ...settings import Settings
from ..options import JsonFlag, OutputOption, edit_options, takes
from ..output import emit_json, emit_table, require_json
from ..progress import ProgressBars
from .report import show

if TYPE_CHECKING:
    from ....loaders.records import RewriteRequest

METHODS = ("rome", "memit", "alphaedit", "fine_tuning")
"""The methods of a sweep where none is named."""


@takes(
    "graph", "model", "method", "seed", "covariance", "chat", "dtype", "app_lists",
    "allow_known", "force",
    many=("model", "method", "seed"),
    help={
        "model": "As `score` takes it; repeatable; default: organism.",
        "method": f"Editing method; repeatable; default: {', '.join(METHODS)}.",
        "seed": "Seed of organism and editing; repeatable.",
    },
)  # fmt: skip
def sweep(
    request: Annotated[
        list[str] | None,
        typer.Argument(help="Requests to append, by id or subject; default: all of the graph."),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            help="bare, + (all answers are targets) or app; repeatable. Default: all three."
        ),
    ] = None,
    neighbours: Annotated[
        list[str] | None,
        typer.Option(help="Also APP with k answers of each kind: 0, 1, 3, … or all; repeatable."),
    ] = None,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Also APP without each of its three losses.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only so many requests, from the first.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes; default: one a core for small models on the CPU."),
    ] = None,
    json: JsonFlag = False,
    output: OutputOption = None,
    **options: Any,
) -> None:
    """Append answers by several methods, bare, "+" and with APP, and print PEAK's table.

    [bold]thinkeval peak sweep -g GRAPH -m rome -m memit[/bold] scores every request to append of
    the graph. What is stored already is not done again, so that an interrupted sweep resumes where
    it stopped; what fails is listed with its reason and the others are scored.
    [bold]--neighbours 0 --neighbours 1 --neighbours 3 --neighbours 5[/bold] and
    [bold]--ablate[/bold] add the rows of the paper's further figures; [bold]thinkeval peak
    report[/bold] prints the table again and draws them.
    """
    require_json(output, json)
    from ...reports.append.table import as_dict, table
    from ...scoring import sweep as sweeps
    from ...scoring import sweep_pool
    from ...scoring.append.variants import chosen

    models, methods, seeds = (options.pop(name) for name in ("model", "method", "seed"))
    variants = tuple(chosen(variant or [], numbers=neighbours or [], ablate=ablate))
    edit = edit_options(options | {"samples": 0})
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        swept = sweeps.Sweep(
            options=edit,
            rewrites=tuple(_requests(runtime, edit.graph, request or [])[:limit]),
            methods=tuple(dict.fromkeys(methods or METHODS)),
            models=tuple(models or ["organism"]),
            seeds=tuple(dict.fromkeys(seeds or [0])),
            variants=variants,
        )
        outcomes = sweep_pool.run(runtime, swept, workers)
    failed = [[each.cell.name, each.error] for each in outcomes if each.score is None]
    scores = [each.score for each in outcomes if each.score is not None]
    if json:
        found = as_dict(table(scores)) if scores else {"rows": []}
        emit_json(found | {"edits": [s.edit for s in scores], "failed": failed}, output)
    elif scores:
        show(table(scores))
    if failed and not json:
        emit_table(Table("not-scored", "Not scored", indexed("cell", "reason"), failed))
    if failed:
        raise typer.Exit(2)


def _requests(runtime: Runtime, graph: str, names: Sequence[str]) -> list[RewriteRequest]:
    """The requests to append that are named; all of the graph where none is.

    Raises:
        UsageError: one of them replaces an object, or the graph has none.
    """
    datasets.get_or_import(runtime.db, graph)
    found = rewrites.rewrites(runtime.db, graph, names, rewrites.OwnRewrite(), not names, "append")
    others = [each.id for each in found if each.kind != "append"]
    if others:
        raise UsageError(
            f"{others[0]!r} replaces an object; it appends no answer.",
            remedy=f"`thinkeval rewrites {graph}` lists the requests with their kind.",
        )
    if not found:
        raise UsageError(
            f"Graph {graph!r} has no request to append.",
            remedy=f"Make some: thinkeval peak build {graph}.",
        )
    return found
