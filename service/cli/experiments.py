"""Commands of every kind of experiment: one prints, lists, cancels and deletes; results alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
import yaml
from pydantic import ValidationError

from ...loaders.reading.sources import small_text
from ...loaders.reading.yaml_bounds import require_bounded
from ..base.errors import UsageError, close_names, did_you_mean
from ..base.formatting import pluralize
from ..base.settings import Settings
from ..experiments.kind import COMMAND, Kind, RequestT
from ..reports.figure_style import figure_format
from ..reports.formats import Column, Table, joined, records
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
    from ..models.experiment import Experiment, Result


ROWS = 12
"""Rows of a table that are printed where no limit is given."""


@dataclass(frozen=True, slots=True)
class Printed:
    """The options by which a result is printed; `prints` gives them to a command.

    Raises:
        UsageError: a file of a figure with another ending, before anything is computed.
    """

    measure: Annotated[
        MeasureName | None,
        typer.Option(
            "--measure",
            metavar="MEASURE",
            help="Measure of the tables; default: likelihood where taken.",
        ),
    ] = None
    limit: Annotated[
        int, typer.Option("--limit", min=0, help="Rows of a table that are printed; 0: all.")
    ] = ROWS
    table: Annotated[
        str | None,
        typer.Option("--table", help="Print this table only, in --format; default: the first."),
    ] = None
    format: FormatOption = None
    figure: Annotated[
        Path | None,
        typer.Option("--figure", help="Write a figure to this .svg, .pdf or .png file."),
    ] = None
    join: Annotated[
        Path | None,
        typer.Option(
            "--join",
            help="CSV file whose first column names rows of the first table, such as states: its"
            " other columns are added.",
        ),
    ] = None
    drawing: Annotated[
        str | None, typer.Option("--drawing", help="The figure of --figure; default: the first.")
    ] = None
    protocol: Annotated[
        bool, typer.Option("--protocol", help="Print rules, notes, digests and provenance too.")
    ] = False
    json: JsonFlag = False
    output: OutputOption = None

    def __post_init__(self) -> None:
        if self.figure is not None:
            figure_format(self.figure)


def prints(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Printed` in place of its parameter `printed`."""
    hints = get_type_hints(Printed, include_extras=True)
    options = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=hints[each.name],
        )
        for each in fields(Printed)
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        printed = Printed(**{each.name: given.pop(each.name) for each in options})
        command(printed=printed, **given)

    signature = inspect.signature(command, eval_str=True)
    own = [
        each.replace(kind=each.KEYWORD_ONLY)
        for each in signature.parameters.values()
        if each.name != "printed" and each.kind is not each.VAR_KEYWORD
    ]
    vars(run)["__signature__"] = signature.replace(parameters=[*own, *options])
    return run


def emit_result(
    db: Database, kind: Kind[Any, Any], out: Result, printed: Printed = Printed()
) -> None:
    """Print a result as text, JSON or one table in a format, and write its figure.

    Raises:
        UsageError: an unknown table, figure or format, or a measure that was not taken.
    """
    measure = printed.measure.key if printed.measure else None
    if (figure := printed.figure) is not None:
        drawn = _chosen("figure", printed.drawing or next(iter(kind.figures), ""), kind.figures)
        write_bytes(figure, drawn(out, figure_format(figure), measure))
    if printed.json:
        emit_json(out.model_dump(mode="json"), printed.output)
        return
    tables = {each.name: each for each in _joined(kind.all_tables(db, out, measure), printed.join)}
    if printed.format is not None or printed.table is not None:
        wanted = _chosen("table", printed.table or next(iter(tables)), tables)
        format = printed.format or "markdown"
        emit_rows(wanted, value=records(wanted), format=format, output=printed.output)
        return
    emit_note(kind.title(out), "bold")
    for text in kind.sentences(out, measure):
        emit_note(text)
    for each in tables.values():
        rows = each.rows[: printed.limit or None]
        note = " ".join(filter(None, (each.note, more_below(len(each.rows), len(rows)))))
        emit_table(replace(each, rows=rows, note=note), protocol=printed.protocol)
    protocol = kind.protocol(out)
    shown = protocol or out.notes if printed.protocol else () if protocol else out.notes
    for text in shown:
        emit_note(text)
    hidden = [pluralize(len(out.notes), "note")] * bool(protocol and out.notes)
    hidden += ["the rules of the tables"] * any(each.rules for each in tables.values())
    hidden += ["digests", "provenance"] * bool(protocol)
    if hidden and not printed.protocol:
        emit_note(f"--protocol prints {', '.join(hidden)}.", "dim")
    emit_note(f"{out.id}{', stored earlier' if out.reused else ''}", "dim")
    for command in kind.next(out):
        emit_command(command)


def _joined(tables: list[Table[Any]], path: Path | None) -> list[Table[Any]]:
    """The tables with the columns of a file, where it names their rows.

    Raises:
        UsageError: it names no row of any of them.
    """
    if path is None:
        return tables
    wider = [joined(table, path) for table in tables]
    if all(new is old for new, old in zip(wider, tables, strict=True)):
        (names, _), column = tables[0].columns[0].cells(tables[0].rows), tables[0].columns[0].header
        raise UsageError(
            f"The first column of {path} names no row of a table.",
            remedy=f"Name rows as the table does, by {column}: {', '.join(names[:3])}.",
        )
    return wider


def _chosen(noun: str, name: str, found: Any) -> Any:
    if name not in found:
        raise UsageError(
            f"There is no {noun} {name!r}.", remedy=f"There is: {', '.join(found) or 'none'}."
        )
    return found[name]


def command_of(kind: Kind[Any, Any]) -> Callable[..., None]:
    """The command that lists the experiments of a kind, starts, shows, cancels or deletes one."""

    @prints
    def command(
        id: Annotated[
            str | None, typer.Argument(help="Show this one; default: list them all.")
        ] = None,
        graph: Annotated[
            str | None, typer.Option("--graph", "-g", help="Only of this graph.")
        ] = None,
        export: Annotated[
            Path | None, typer.Option(help="Write its request to this YAML file.")
        ] = None,
        start: Annotated[
            Path | None, typer.Option(help="Run the request of this YAML file, here and now.")
        ] = None,
        cancel: Annotated[
            bool, typer.Option("--cancel", help="Cancel it, if it is queued or running.")
        ] = False,
        delete: Annotated[
            bool, typer.Option("--delete", help="Delete it, with all that it alone has.")
        ] = False,
        *,
        printed: Printed,
    ) -> None:
        with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
            db = runtime.db
            if start is not None:
                emit_result(db, kind, _started(runtime, kind, start), printed)
            elif id is None:
                if delete or cancel or export or printed.format or printed.figure or printed.table:
                    raise UsageError(f"Name {kind.one}.", remedy=f"`{kind.listing}` lists them.")
                _list(kind, kind.store.listing(db, graph=graph, limit=1000), printed)
            elif export is not None:
                asked = kind.request.model_validate(kind.store.get(db, id).request)
                values = asked.model_dump(mode="json", exclude_defaults=True, exclude={"force"})
                text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
                write_bytes(export, text.encode())
            elif delete:
                edits = kind.store.delete(db, runtime.settings, id)
                also = f" and {pluralize(len(edits), 'edit')}" if kind.owns_edits else ""
                if printed.json:
                    emit_json({"deleted": id, "edits": edits}, printed.output)
                else:
                    emit_note(f"Deleted {id}{also}.")
            elif cancel:
                status = kind.store.cancel(db, id).status
                if printed.json:
                    emit_json({"id": id, "status": status}, printed.output)
                else:
                    emit_note(f"{id} is {status}.")
            else:
                emit_result(db, kind, kind.store.result(db, id), printed)

    figures = ""
    if kind.figures:
        figures = f" [bold]--figure[/bold] draws one of: {', '.join(kind.figures)}."
    command.__doc__ = (
        f"List the {kind.noun}s, or show, cancel or delete the one whose id is given.\n\n"
        f"{kind.about}{figures}"
    )
    return command


def request_of_file(kind: Kind[RequestT, Any], path: Path) -> RequestT:
    """Read the request of an experiment from a YAML file, as `--export` writes it.

    Raises:
        UsageError: no such file, no such key, or a value that the request does not have.
    """
    try:
        text = small_text(path)
        require_bounded(yaml.parse(text, Loader=yaml.SafeLoader))
        values = yaml.safe_load(text)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise UsageError(
            f"{path} cannot be read as YAML: {' '.join(str(error).split())}.",
            remedy=f"`{kind.listing} ID --export FILE` writes such a file.",
        ) from error
    known = kind.request.model_fields
    if not isinstance(values, dict):
        raise UsageError(f"{path} has no keys.", remedy=f"It may have: {', '.join(known)}.")
    for key in values:
        if key not in known:
            close = did_you_mean(close_names(str(key), known))
            raise UsageError(
                f"{path}: {kind.one} has no key {key!r}. {close}".rstrip(),
                remedy=f"It has: {', '.join(known)}.",
            )
    try:
        return kind.request.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: {key}: {first['msg']}.", remedy="Correct the value.") from error


def _started(runtime: Runtime, kind: Kind[RequestT, Any], path: Path) -> Any:
    """Run the experiment that a file asks for, in this process."""
    if kind.started_by or kind.run is None:
        raise UsageError(f"--start runs no {kind.noun}.", remedy=f"`{kind.started_by}` starts one.")
    request = request_of_file(kind, path)
    prepared = kind.prepare(runtime.db, runtime.settings, request)
    return kind.run(runtime, prepared.request, COMMAND)


def _list(kind: Kind[Any, Any], found: list[Experiment[Any]], printed: Printed) -> None:
    columns: list[Column[Experiment[Any]]] = [
        Column(each.header, _of_result(each), each.format, each.whole, each.optional)
        for each in kind.listed
    ]
    columns[:1] = [Column("id", lambda each: each.id, whole=True), *kind.described]
    ended = all(each.status == "succeeded" for each in found)
    columns.append(Column("status", lambda each: each.status, optional=6 * ended))
    columns.append(Column("created", _day, optional=3))
    title = f"{kind.noun.capitalize()}s"
    note = f"`{kind.listing} ID` shows one." if found else "none yet"
    listed = Table(kind.plural, title, columns, found, note)
    emit_rows(listed, json=printed.json, output=printed.output)


def _day(each: Experiment[Any]) -> str:
    return each.created_at[:16].replace("T", " ")


def _of_result(column: Column[Any]) -> Callable[[Experiment[Any]], Any]:
    return lambda each: None if each.result is None else column.get(each.result)
