"""`thinkeval results deltas`: export, apply and verify saved edits.

Every scored edit is saved as a file; `thinkeval results edits EDIT --delete` removes both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..base.settings import Settings
from ..scoring import deltas as saved
from ..scoring.runtime import Runtime
from .codes import ERROR
from .options import JsonFlag
from .output import ProgressBars, emit_json, emit_values

deltas = typer.Typer(help=__doc__)


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


@deltas.command()
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
            exported = saved.export_delta(runtime, edit, output)
        else:
            exported = saved.export_model(
                runtime, [edit], output, model=model, graph=graph, check=check
            )
    _show(f"Exported {edit}", exported, json)


@deltas.command()
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
        exported = saved.export_model(runtime, delta, output, model=model, graph=graph, check=check)
    _show(f"{model} with {len(delta)} edit{'s' if len(delta) > 1 else ''}", exported, json)


@deltas.command()
def verify(
    edit: EditArgument, model: NamedModel = None, graph: GraphOption = "", json: JsonFlag = False
) -> None:
    """Apply a saved edit to its model, revert it, and check that all weights are bit-identical.

    Exit code 2 if the weights differ after reverting, or when the file holds another update than
    the one that was scored.
    """
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = saved.verify(runtime, edit, model, graph)
    _show(f"Edit {found.edit}", asdict(found) | {"undone": found.undone}, json)
    if not found.undone:
        raise typer.Exit(ERROR)


def _show(title: str, exported: Mapping[str, object], json: bool) -> None:
    if json:
        emit_json(exported)
        return
    shown = {key: value for key, value in exported.items() if value != ""}
    emit_values(title, {k: ", ".join(v) if isinstance(v, list) else v for k, v in shown.items()})
