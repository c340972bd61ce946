"""`thinkeval peak report`: PEAK's table, paired tests and figures of stored scores."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import UsageError
from ...scoring.runtime import Runtime
from ...settings import Settings
from ..options import JsonFlag, OutputOption
from ..output import emit_json, emit_table, emit_text, write_bytes
from ..progress import ProgressBars

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ...reports.append.table import AppendTable
    from ...schemas import Score


class Over(StrEnum):
    """The correct answers that success is taken over."""

    kept = "kept"
    all = "all"


class Known(StrEnum):
    """The prompts that locality is taken over."""

    known = "known"
    all = "all"


def report(
    graph: Annotated[str | None, typer.Option("--graph", "-g", help="Only of this graph.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Only of this model.")] = None,
    format: Annotated[
        str,
        typer.Option(
            "--format", "-f", help="table, markdown, csv, json, or latex (rows to paste)."
        ),
    ] = "table",
    paired: Annotated[
        bool,
        typer.Option(
            "--paired", help="Instead, each variant against its bare method: paired differences."
        ),
    ] = False,
    all_requests: Annotated[
        bool,
        typer.Option(
            "--all-requests",
            help="Each row over its own requests, not over those that all rows have.",
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Leave names that are correct and hard at once out of both."),
    ] = False,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Leave out requests whose last paraphrase is dropped, as the authors' code does.",
        ),
    ] = False,
    es_over: Annotated[
        Over, typer.Option(help="ES, GS: over the kept correct answers, or all of them.")
    ] = Over.kept,
    ls_over: Annotated[
        Known, typer.Option(help="LS: over prompts that the unedited model prefers right, or all.")
    ] = Known.known,
    output: OutputOption = None,
    figures: Annotated[
        Path | None,
        typer.Option(help="Draw the paper's three figures into this folder, as SVG."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Print ES, GS, LS, AFF and ANF by method and variant, in the layout of PEAK's Table 3.

    AFF and ANF say how far the correct answers fell and the false ones rose when an answer was
    added: 0 is undisturbed, lower is better. Percent, with the 95 % interval over requests.
    [bold]--paired[/bold] tests each variant against its bare method on the same requests.
    """
    from ...reports.append.paired import columns as paired_columns
    from ...reports.append.paired import differences
    from ...reports.append.stored import stored
    from ...reports.append.table import as_dict, columns, table
    from ...reports.formats import Table, render, require_known
    from ...scoring.append.additivity import measured_again

    format = "json" if json else format
    if format != "table":
        require_known(format, printed=True)
    elif output is not None:
        raise UsageError("A table for the terminal is not written to a file.", remedy="Give -f.")
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        chosen = {"strict": strict, "published": published}
        chosen |= {"es_over": es_over.value, "ls_over": ls_over.value}
        scores = measured_again(runtime.db, stored(runtime.db, graph, model), **chosen)
        found = table(scores, all_requests=all_requests)
        if figures is not None:
            draw(runtime.db, scores, found, figures)
    if format == "table":
        if paired:
            title = "Against the bare method"
            emit_table(Table("paired", title, paired_columns("markdown"), differences(found)))
        else:
            show(found)
        return
    if format == "json" and not paired:
        emit_json(as_dict(found), output)
        return
    shown: Table[Any] = Table("appended", "", columns(format), found.rows, found.caption)
    if paired:
        shown = replace(shown, columns=paired_columns(format), rows=differences(found))
    emit_text(render(shown, format), output)


def show(found: AppendTable) -> None:
    """The table in the terminal, its caption below."""
    from ...reports.append.table import columns
    from ...reports.formats import Table

    models = {row.model for row in found.rows}
    shown = columns("markdown")[len(models) == 1 :]
    title = f"Appended answers ({', '.join(sorted(models))})"
    emit_table(Table("appended", title, shown, found.rows, found.caption))


def draw(db: Database, scores: list[Score], found: AppendTable, folder: Path) -> list[Path]:
    """Draw the three figures; reports the written files on standard error."""
    from ...reports.append.probabilities import by_row
    from ...reports.figures import append
    from ...reports.figures.style import encode

    caption = append.counted(found.rows, found.caption)
    drawn: dict[str, Any] = {
        "probabilities": partial(append.probabilities, by_row(db, scores, found), caption),
        "ablation": partial(append.ablation, found.rows, caption),
        "neighbours": partial(append.neighbours, found.rows, caption),
    }
    return [
        write_bytes(folder / f"append-{name}.svg", encode(make, "svg", name), parents=True)
        for name, make in drawn.items()
    ]
