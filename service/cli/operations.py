"""The commands of operations (`service.operations`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel
from rich.text import Text
from rich.tree import Tree

from ..base.settings import Settings
from ..operations.operation import Call, Operation
from ..reports.formats import Table
from ..reports.outline import Outline, Shown
from ..scoring.runtime import Runtime
from .options import FormatOption, JsonFlag, OutputOption, request_of, takes
from .output import ProgressBars, console, emit_json, emit_note, emit_rows, emit_table


def command_of(operation: Operation) -> Callable[..., None]:
    """Return the command of an operation: its request as arguments and options."""
    fields = operation.request.model_fields
    places = operation.arguments or operation.places

    def command(
        json: JsonFlag = False, format: FormatOption = None, output: OutputOption = None,
        **given: Any,
    ) -> None:  # fmt: skip
        request = request_of(operation.request, given)
        with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
            answer = operation.run(Call(runtime.db, runtime.settings, progress), request)
        emit(operation.show(answer, request), answer, json=json, format=format, output=output)

    command.__doc__ = f"{operation.summary}.\n\n{operation.about}".strip()
    keyword = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.signature(command, eval_str=True)
    arguments = [
        inspect.Parameter(
            name, keyword,
            annotation=Annotated[
                Path if fields[name].annotation is Path else str,
                typer.Argument(help=fields[name].description),
            ],
        )
        for name in places
    ]  # fmt: skip
    vars(command)["__signature__"] = signature.replace(
        parameters=[
            *arguments,
            *(each.replace(kind=keyword) for each in list(signature.parameters.values())[:-1]),
        ]
    )
    return takes(*(name for name in fields if name not in places), of=operation.request)(command)


def emit(
    shown: Iterable[Shown],
    answer: Any = None,
    *,
    json: bool = False,
    format: str | None = None,
    output: Path | None = None,
) -> None:
    """Print an answer: tables, trees and sentences; as JSON; or its first table in a format."""
    if json:
        emit_json(_plain(answer), output)
        return
    for each in shown:
        if isinstance(each, Table):
            if format is not None or output is not None:
                emit_rows(each, format=format, output=output)
                return
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


def _plain(answer: Any) -> Any:
    if isinstance(answer, BaseModel):
        return answer.model_dump(mode="json")
    return [_plain(each) for each in answer] if isinstance(answer, list) else answer
