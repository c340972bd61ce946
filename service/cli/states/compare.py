"""`thinkeval compare`: two states of a model on a graph; `thinkeval comparisons`: stored ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from ...errors import UsageError
from ...formatting import several
from ...reports.formats import Column, Table
from ...schemas import Measure
from ...scoring.runtime import Runtime
from ...settings import Settings
from ...states import store, table
from ...states.schemas import ComparisonIn, ComparisonOut, DriftLine
from ...states.words import parse
from ..options import (
    MEASURED,
    JsonFlag,
    MeasureName,
    MeasureOption,
    OutputOption,
    request_of,
    takes,
)
from ..output import (
    emit_command,
    emit_json,
    emit_note,
    emit_rows,
    emit_table,
    write_bytes,
)
from ..progress import ProgressBars

FormatOption = Annotated[
    str | None,
    typer.Option("--format", "-f", help="Print the drift only: markdown, latex or csv."),
]
FigureOption = Annotated[
    Path | None, typer.Option("--figure", help="Write the drift as a .svg, .pdf or .png file.")
]


@takes("all_rewrites", *MEASURED, "seed", of=ComparisonIn)
def compare(
    before: Annotated[
        str,
        typer.Argument(
            help="First state: MODEL, FOLDER, MODEL+edit:EDIT, MODEL+adapter:FOLDER, +8bit, +4bit,"
            " or endpoint:URL#MODEL."
        ),
    ],
    after: Annotated[str, typer.Argument(help="Second state, written like the first.")],
    rewrites: Annotated[
        list[str] | None,
        typer.Option(
            "--rewrite",
            "-r",
            help="Rewrite request to score: id, its beginning, or subject; repeatable.",
        ),
    ] = None,
    forget: Annotated[
        list[str] | None,
        typer.Option(help='Fact that shall be forgotten: "SUBJECT|RELATION|OBJECT"; repeatable.'),
    ] = None,
    measure: MeasureOption = MeasureName.likelihood,
    relations: Annotated[
        int, typer.Option("--relations", min=0, help="Relations in the table of drift; 0: all.")
    ] = 8,
    format: FormatOption = None,
    figure: FigureOption = None,
    json: JsonFlag = False,
    output: OutputOption = None,
    **options: Any,
) -> None:
    """Compare two states of a model: what was kept, weakened, removed, added, and by which routes.

    A state is a model as it can be asked: as it is, with an adapter or saved edits, quantised, in
    another folder, or behind an endpoint, whatever was done to it and by whichever tool.

    [bold]thinkeval compare gpt2-xl ./my-finetune -g knowgic[/bold] watches the whole graph;
    [bold]--all[/bold] or [bold]--rewrite ID[/bold] scores rewrite requests between the states, with
    IFR, Preservation and chains; [bold]--forget "SUBJECT|RELATION|OBJECT"[/bold] asks whether a
    fact is forgotten. With [bold]--implications[/bold], also the conclusions of the graph's rules
    that these facts are premises of are asked. Each request is stored as an edit: [bold]thinkeval
    show EDIT[/bold], [bold]chains[/bold], [bold]report[/bold] and [bold]diff[/bold] read it.
    """
    from ...states.compare import compare as compared

    options |= {"rewrites": rewrites or [], "forget": forget or []}
    posted = _request(before, after, options)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = compared(runtime, posted, enter=lambda stage, done: None)
        _emit(runtime, found, measure, relations, format, json, output, figure)


def _request(before: str, after: str, options: dict[str, Any]) -> ComparisonIn:
    """The comparison that the options ask for.

    Raises:
        UsageError: a state or an option that cannot be read.
    """
    states = {"before": parse(before), "after": parse(after)}
    try:
        return request_of(ComparisonIn, options | states)
    except ValidationError as error:
        raise UsageError(str(error)) from error


def comparisons(
    id: Annotated[
        str | None, typer.Argument(help="Show this comparison; default: list them all.")
    ] = None,
    graph: Annotated[str | None, typer.Option("--graph", "-g", help="Only of this graph.")] = None,
    measure: MeasureOption = MeasureName.likelihood,
    relations: Annotated[
        int, typer.Option("--relations", min=0, help="Relations in the table of drift; 0: all.")
    ] = 8,
    format: FormatOption = None,
    figure: FigureOption = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete it, and the edits that it alone scored.")
    ] = False,
    json: JsonFlag = False,
    output: OutputOption = None,
) -> None:
    """List stored comparisons of two states, or show one: requests, drift, routes."""
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        if id is None:
            if delete or format or figure:
                raise UsageError("Name a comparison.", remedy=f"`{store.LISTING}` lists them.")
            found = store.page(runtime.db, graph=graph, limit=1000)
        elif delete:
            from ...states import control  # `--help` does not wait for it

            edits = control.delete(runtime.db, id)
            emit_note(f"Deleted {id} and {several(len(edits), 'edit')}.")
            return
        else:
            stored = store.get(runtime.db, id)
            _emit(runtime, stored, measure, relations, format, json, output, figure)
            return
    note = f"`{store.LISTING} ID` shows one."
    listed = Table("comparisons", "Comparisons", LISTED, found, note)
    emit_rows(listed, json=json, output=output)


LISTED: list[Column[ComparisonOut]] = [
    Column("id", lambda out: out.id, whole=True),
    Column("graph", lambda out: out.graph, optional=1),
    Column("before", lambda out: out.before.name, optional=2),
    Column("after", lambda out: out.after.name),
    Column("requests", lambda out: len(out.requests)),
    Column("facts", lambda out: out.n_facts),
    Column("removed", lambda out: out.drift[out.measure].total.removed),
    Column("created", lambda out: out.created_at[:16].replace("T", " "), optional=3),
]


def _emit(
    runtime: Runtime,
    found: ComparisonOut,
    measure: MeasureName,
    relations: int,
    format: str | None,
    json: bool,
    output: Path | None,
    figure: Path | None,
) -> None:
    """Print a comparison, as text or in a format, and write its figure."""
    chosen = table.measure_of(found, measure.key if measure.key in found.measures else None)
    if figure is not None:
        write_bytes(figure, table.figure(found, figure.suffix.lstrip(".").lower(), chosen))
    if json:
        emit_json(found.model_dump(mode="json"), output)
        return
    lines = table.drift_lines(found, chosen, relations or None)
    if format is not None:
        emit_rows(Table("drift", "Drift", table.DRIFT, lines), format=format, output=output)
        return
    show(found, chosen, lines)
    if found.request.get("implications"):
        _show_implied(runtime, found, chosen)


def _show_implied(runtime: Runtime, found: ComparisonOut, measure: Measure) -> None:
    """What the rules imply: each conclusion of a single request; of several, a line a kind."""
    from ...scoring.record import get_score
    from ..render_rules import show_implied, show_implied_by

    if len(found.requests) == 1:
        show_implied(runtime.db, get_score(runtime.db, found.requests[0].edit), measure)
    else:
        show_implied_by(runtime.db, table.edits_by_kind(found), measure)


def show(found: ComparisonOut, measure: Measure, lines: list[DriftLine]) -> None:
    """The verdict, a table for each kind of request, the drift, and what to look at next."""
    emit_note(table.title(found), "bold")
    emit_note(table.verdict(found, measure))
    for kind in table.kinds(found):
        note = table.request_note(found, measure)
        title = table.TITLES.get(kind, kind)
        columns = table.request_columns(kind, measure)
        shown = [request for request in found.requests if request.kind == kind]
        emit_table(Table("requests", title, columns, shown, note))
    emit_table(Table("drift", "Drift", table.DRIFT, lines, table.MEANING))
    unknown = table.forgotten_unknown(found.requests, measure)
    if unknown:
        emit_note(
            f"{several(unknown, 'fact')} to forget was not known before (p_pre < .05): forgetting"
            " is undefined."
        )
    for note in found.notes:
        emit_note(note)
    emit_note(f"{found.id}{', stored earlier' if found.reused else ''}", "dim")
    if found.requests:
        emit_command(f"thinkeval show {found.requests[0].edit}")
