"""`thinkeval peak`: answers that an edit appends. One file a group of commands."""

from __future__ import annotations

import typer

from thinkeval.service.cli.append.build import build

peak = typer.Typer(
    no_args_is_help=True,
    help=(
        "Appended knowledge: requests, additivity, tables.\n\n"
        "An edit can append an answer instead of replacing one; these commands measure what else it"
        " moves (PEAK).\n\n"
        "[bold]build[/bold] makes requests from the facts of a stored graph."
    ),
)

peak.command()(build)
