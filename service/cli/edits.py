"""`thinkeval edits`: list the recorded edits; export, apply and verify the saved ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..base.errors import UsageError
from ..base.settings import Settings
from ..reports.formats import Column, Table
from ..scoring import deltas, record
from ..scoring.runtime import Runtime
from .options import JsonFlag
from .output import ProgressBars, emit_json, emit_rows, emit_values

if TYPE_CHECKING:
    from ...cypher.rows import EditRow


edits = typer.Typer()


class ExportAs(StrEnum):
    """The form in which an edit is exported."""

    delta = "delta"
    model = "model"


EditArgument = Annotated[str, typer.Argument(help="Id of a scored edit, or file of a saved one.")]
NamedModel = Annotated[
    str | None,
    typer.Option("--model", help="The model the edit was computed for, if its path has changed."),
]
GraphOption = Annotated[
    str, typer.Option("--graph", "-g", help="Graph of an organism; default: the edit's own.")
]
CheckFlag = Annotated[
    bool, typer.Option("--check/--no-check", help="Read the folder back and compare the weights.")
]
ToOption = Annotated[Path, typer.Option("--output", "-o", help="The file or new folder to write.")]


@edits.callback(invoke_without_command=True)
def listing(
    context: typer.Context,
    graph: Annotated[str | None, typer.Option("--graph", "-g", help="Only of this graph.")] = None,
    delete: Annotated[
        str | None, typer.Option(help="Remove this edit with its graph, score and saved update.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """List the edits that were scored, failed or were interrupted; or, with a command, use one.

    Every scored edit is saved as a file: [bold]export[/bold] writes it, or the complete edited
    model; [bold]apply[/bold] applies one or several to a model; [bold]verify[/bold] reverts
    one and checks that the weights are bit-identical.
    """
    if context.invoked_subcommand is not None:
        if graph or delete or json:
            raise UsageError(
                f"Options before `{context.invoked_subcommand}` belong to the list of edits.",
                remedy=f"Put them behind it: thinkeval edits {context.invoked_subcommand} --help.",
            )
        return
    settings = Settings()
    with ProgressBars() as progress, Runtime(settings, progress) as runtime:
        if delete is not None:
            removed = record.delete(runtime.db, delete)
            deltas.remove(settings, removed)
            if json:
                emit_json({"deleted": removed})
            else:
                typer.echo(f"Removed edit {removed}.")
            return
        listed = record.list_edits(runtime.db, graph)
    columns: list[Column[EditRow]] = [
        Column("edit", lambda e: e.id, whole=True),
        Column("status", lambda e: e.status),
        Column("graph", lambda e: e.dataset, whole=True, optional=3),
        Column("model", lambda e: e.model, whole=True, optional=2),
        Column("method", lambda e: e.method, optional=1),
        Column("rewrite", lambda e: e.rewrite, whole=True, optional=5),
        Column("created", lambda e: e.created_at, optional=4),
        Column("saved", lambda e: _saved(settings, e.id) is not None, optional=3),
    ]
    if any(e.error for e in listed):
        columns.append(Column("error", lambda e: e.error))
    note = "" if listed else "none yet: `thinkeval score`"
    value = [asdict(e) | {"delta": _saved(settings, e.id)} for e in listed]
    emit_rows(Table("edits", "Edits", columns, listed, note), value=value, json=json)


@edits.command()
def export(
    edit: EditArgument,
    output: ToOption,
    as_: Annotated[
        ExportAs, typer.Option("--as", help="delta: its file; model: a whole edited model.")
    ] = ExportAs.delta,
    model: NamedModel = None,
    graph: GraphOption = "",
    check: CheckFlag = True,
    json: JsonFlag = False,
) -> None:
    """Write a saved edit to a file, or its edited model to a transformers folder."""
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        if as_ is ExportAs.delta:
            exported = deltas.export_delta(runtime, edit, output)
        else:
            exported = deltas.export_model(
                runtime, [edit], output, model=model, graph=graph, check=check
            )
    _show(f"Exported {edit}", exported, json)


@edits.command()
def apply(
    model: Annotated[str, typer.Argument(help="Hub name, folder or organism, as --model takes.")],
    delta: Annotated[
        list[str], typer.Argument(help="Edits or their files, in the order of application.")
    ],
    output: ToOption,
    graph: GraphOption = "",
    check: CheckFlag = True,
    json: JsonFlag = False,
) -> None:
    """Apply saved edits to the model they were computed for, and write it to a new folder.

    An edit that was computed for other weights is refused.
    """
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        exported = deltas.export_model(
            runtime, delta, output, model=model, graph=graph, check=check
        )
    _show(f"{model} with {len(delta)} edit{'s' if len(delta) > 1 else ''}", exported, json)


@edits.command()
def verify(
    edit: EditArgument, model: NamedModel = None, graph: GraphOption = "", json: JsonFlag = False
) -> None:
    """Apply a saved edit to its model, revert it, and check that all weights are bit-identical.

    Exit code 2 if the weights differ after reverting, or when the file holds another update than
    the one that was scored.
    """
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = deltas.verify(runtime, edit, model, graph)
    _show(f"Edit {found.edit}", asdict(found) | {"undone": found.undone}, json)
    if not found.undone:
        raise typer.Exit(2)


def _saved(settings: Settings, edit: str) -> str | None:
    path = deltas.path_of(settings, edit)
    return str(path) if path.is_file() else None


def _show(title: str, exported: Mapping[str, object], json: bool) -> None:
    if json:
        emit_json(exported)
        return
    emit_values(title, {k: ", ".join(v) if isinstance(v, list) else v for k, v in exported.items()})
