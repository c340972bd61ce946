"""Commands of every kind of experiment: one prints, lists, cancels and deletes; results alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..base.errors import UsageError
from ..base.formatting import pluralize
from ..base.settings import Settings
from ..experiments.kind import Kind
from ..reports.figure_style import FORMATS
from ..reports.formats import Column, Table, records
from ..scoring.runtime import Runtime
from .options import FormatOption, JsonFlag, MeasureName, OutputOption
from .output import (
    ProgressBars,
    emit_command,
    emit_json,
    emit_note,
    emit_rows,
    emit_table,
    more_below,
    write_bytes,
)

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..models.edit import Measure
    from ..models.experiment import Experiment, Result


TableOption = Annotated[
    str | None,
    typer.Option("--table", help="Print this table only, in --format; default: the first."),
]
FigureOption = Annotated[
    Path | None, typer.Option("--figure", help="Write a figure to this .svg, .pdf or .png file.")
]
FigureNameOption = Annotated[
    str | None, typer.Option("--drawing", help="The figure of --figure; default: the first.")
]
MeasureChoice = Annotated[
    MeasureName | None,
    typer.Option("--measure", help="Measure of the tables; default: likelihood where taken."),
]
LimitOption = Annotated[
    int, typer.Option("--limit", min=0, help="Rows of a table that are printed; 0: all.")
]
ROWS = 12
"""Rows of a table that are printed where no limit is given."""


def emit_result(
    db: Database,
    kind: Kind[Any, Any],
    out: Result,
    *,
    measure: Measure | None = None,
    limit: int = ROWS,
    table: str | None = None,
    format: str | None = None,
    figure: Path | None = None,
    drawing: str | None = None,
    json: bool = False,
    output: Path | None = None,
) -> None:
    """Print a result as text, JSON or one table in a format, and write its figure.

    Raises:
        UsageError: an unknown table, figure or format, or a measure that was not taken.
    """
    if figure is not None:
        name = drawing or next(iter(kind.figures))
        drawn = _chosen("figure", name, kind.figures)
        write_bytes(figure, drawn(out, figure.suffix.lstrip(".").lower(), measure))
    if json:
        emit_json(out.model_dump(mode="json"), output)
        return
    tables = {each.name: each for each in kind.tables(out, measure)}
    if format is not None or table is not None:
        wanted = _chosen("table", table or next(iter(tables)), tables)
        emit_rows(wanted, value=records(wanted), format=format or "markdown", output=output)
        return
    emit_note(kind.title(out), "bold")
    for text in kind.sentences(out, measure):
        emit_note(text)
    for each in (*tables.values(), *kind.further(db, out, measure)):
        rows = each.rows[: limit or None]
        note = " ".join(filter(None, (each.note, more_below(len(each.rows), len(rows)))))
        emit_table(replace(each, rows=rows, note=note))
    for text in out.notes:
        emit_note(text)
    emit_note(f"{out.id}{', stored earlier' if out.reused else ''}", "dim")
    for command in kind.next(out):
        emit_command(command)


def require_figure(figure: Path | None) -> None:
    """Refuse another format before anything is computed.

    Raises:
        UsageError: the name of the file ends otherwise.
    """
    if figure is not None and figure.suffix.lstrip(".").lower() not in FORMATS:
        raise UsageError(
            f"{figure} has no format of figures.", remedy="Let it end in .svg, .pdf or .png."
        )


def _chosen(noun: str, name: str, found: Any) -> Any:
    if name not in found:
        raise UsageError(
            f"There is no {noun} {name!r}.", remedy=f"There is: {', '.join(found) or 'none'}."
        )
    return found[name]


def command_of(kind: Kind[Any, Any]) -> Callable[..., None]:
    """The command that lists the experiments of a kind, or shows, cancels or deletes one."""

    def command(
        id: Annotated[
            str | None, typer.Argument(help="Show this one; default: list them all.")
        ] = None,
        graph: Annotated[
            str | None, typer.Option("--graph", "-g", help="Only of this graph.")
        ] = None,
        measure: MeasureChoice = None,
        limit: LimitOption = ROWS,
        table: TableOption = None,
        format: FormatOption = None,
        figure: FigureOption = None,
        drawing: FigureNameOption = None,
        cancel: Annotated[
            bool, typer.Option("--cancel", help="Cancel it, if it is queued or running.")
        ] = False,
        delete: Annotated[
            bool, typer.Option("--delete", help="Delete it, with all that it alone has.")
        ] = False,
        json: JsonFlag = False,
        output: OutputOption = None,
    ) -> None:
        with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
            db = runtime.db
            if id is None:
                if delete or cancel or format or figure or table:
                    raise UsageError(f"Name a {kind.noun}.", remedy=f"`{kind.listing}` lists them.")
                _list(kind, kind.store.listing(db, graph=graph, limit=1000), json, output)
            elif delete:
                edits = kind.store.delete(db, runtime.settings, id)
                also = f" and {pluralize(len(edits), 'edit')}" if kind.owns_edits else ""
                emit_note(f"Deleted {id}{also}.")
            elif cancel:
                emit_note(f"{id} is {kind.store.cancel(db, id).status}.")
            else:
                emit_result(
                    db, kind, kind.store.result(db, id),
                    measure=measure.key if measure else None, limit=limit, table=table,
                    format=format, figure=figure, drawing=drawing, json=json, output=output,
                )  # fmt: skip

    command.__doc__ = (
        f"List {kind.noun}s, or show one: the {kind.noun} is a stored result, found by its id.\n\n"
        f"{kind.about} [bold]--figure[/bold] draws one of: {', '.join(kind.figures) or 'none'}."
    )
    return command


def _list(
    kind: Kind[Any, Any],
    found: list[Experiment[Any]],
    json: bool,
    output: Path | None,
) -> None:
    columns: list[Column[Experiment[Any]]] = [
        Column(each.header, _of_result(each), each.format, each.whole, each.optional)
        for each in kind.listed
    ]
    columns[0] = Column("id", lambda each: each.id, whole=True)
    columns.append(Column("status", lambda each: each.status))
    columns.append(Column("created", _day, optional=3))
    title = f"{kind.noun.capitalize()}s"
    note = f"`{kind.listing} ID` shows one." if found else "none yet"
    emit_rows(Table(kind.plural, title, columns, found, note), json=json, output=output)


def _day(each: Experiment[Any]) -> str:
    return each.created_at[:16].replace("T", " ")


def _of_result(column: Column[Any]) -> Callable[[Experiment[Any]], Any]:
    return lambda each: None if each.result is None else column.get(each.result)
