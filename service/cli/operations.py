"""The commands of operations (`service.operations`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text
from rich.tree import Tree

from ..base.errors import UsageError
from ..base.settings import Settings
from ..operations.operation import Call, Operation
from ..reports.formats import Table
from ..reports.outline import Outline, Shown
from ..scoring.runtime import Runtime
from .options import FormatOption, JsonFlag, OutputOption, request_of, takes
from .output import (
    JSON,
    TABLE,
    ProgressBars,
    chosen_format,
    console,
    emit_json,
    emit_note,
    emit_rows,
    emit_table,
    plain,
)


def command_of(operation: Operation) -> Callable[..., None]:
    """Return the command of an operation: its request as arguments and options."""
    fields = operation.request.model_fields
    places = operation.arguments or operation.places

    def command(
        json: JsonFlag = False, format: FormatOption = None, output: OutputOption = None,
        **given: Any,
    ) -> None:  # fmt: skip
        chosen = chosen_format(format, json, output)
        request = request_of(operation.request, given)
        with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
            answer = operation.run(Call(runtime.db, runtime.settings, progress), request)
        emit(operation.show(answer, request), answer, chosen, output)

    command.__doc__ = f"{operation.summary}.\n\n{operation.about}".strip()
    signature = inspect.signature(command, eval_str=True)
    arguments = [
        inspect.Parameter(
            name, inspect.Parameter.POSITIONAL_OR_KEYWORD,
            annotation=Annotated[
                Path if fields[name].annotation is Path else str,
                typer.Argument(help=fields[name].description),
            ],
        )
        for name in places
    ]  # fmt: skip
    vars(command)["__signature__"] = signature.replace(
        parameters=[*arguments, *signature.parameters.values()]
    )
    return takes(*(name for name in fields if name not in places), of=operation.request)(command)


def emit(
    shown: Iterable[Shown], answer: Any = None, format: str = TABLE, output: Path | None = None
) -> None:
    """Print an answer: tables, trees and sentences; as JSON; or its first table in a format.

    Raises:
        UsageError: the format is one of tables, and the answer has none.
    """
    if format == JSON:
        value = [plain(each) for each in answer] if isinstance(answer, list) else plain(answer)
        emit_json(value, output)
        return
    if format != TABLE:
        tables = [each for each in shown if isinstance(each, Table)]
        if not tables:
            raise UsageError(f"There is no table to write as {format}.", remedy="Use --json.")
        emit_rows(tables[0], format=format, output=output)
        return
    for each in shown:
        if isinstance(each, Table):
            emit_table(each)
        elif isinstance(each, Outline):
            console().print(_tree(each), highlight=False)
        else:
            emit_note(each)


def _tree(outline: Outline) -> Tree:
    tree = Tree(Text.assemble(*outline.phrases), guide_style="dim")
    for each in outline.below:
        tree.children.append(_tree(each))
    return tree
