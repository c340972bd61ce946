"""`thinkeval peak`: answers that an edit appends. One file a group of commands."""

from __future__ import annotations

import typer

from .build import build
from .report import report
from .sweep import sweep

peak = typer.Typer(
    no_args_is_help=True,
    help=(
        "Appended knowledge: requests, additivity, tables.\n\n"
        "An edit can append an answer instead of replacing one; these commands measure what else it"
        " moves (PEAK).\n\n"
        "[bold]build[/bold] makes requests from the facts of a stored graph;"
        " [bold]sweep[/bold] scores them by several methods, bare, with all answers as targets and"
        " with APP; [bold]report[/bold] prints and draws what is stored."
    ),
)

peak.command()(build)
peak.command()(sweep)
peak.command()(report)
