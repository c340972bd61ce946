"""`thinkeval audit`: a comparison as a folder that opens without a server."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from .options import JsonFlag
from .output import emit_command, emit_json, emit_note
from .progress import ProgressBars


def audit(
    comparison: Annotated[
        str, typer.Argument(help="Id of a comparison: `thinkeval comparisons` lists them.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write; a new one.")],
    force: Annotated[bool, typer.Option(help="Replace an audit in the folder.")] = False,
    json: JsonFlag = False,
) -> None:
    """Write what a comparison found about a forgotten fact as a folder that opens without a server.

    [bold]audit.html[/bold] has the verdict, the routes that are open, every fact and query;
    [bold]audit.json[/bold] the same for programs; [bold]SHA256SUMS[/bold] the digests of both,
    which [bold]sha256sum -c SHA256SUMS[/bold] checks.
    """
    from ..audit.bundle import export
    from ..audit.page import PAGE, SUMS
    from ..scoring.runtime import Runtime
    from ..settings import Settings

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        verdict = export(runtime.db, comparison, output, force=force)["verdict"]
    if json:
        emit_json({"folder": str(output), "verdict": verdict})
        return
    emit_note(verdict["headline"], "bold")
    for each in verdict["requests"]:
        emit_note(each["chains"])
        emit_note(each["rules"])
    emit_note(verdict["rest"])
    emit_note(str(output / PAGE))
    emit_command(f"(cd {quote(str(output))} && sha256sum -c {SUMS})")
