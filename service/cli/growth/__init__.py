"""`thinkeval grow`: graphs grown from a model. One file a group of commands."""

from __future__ import annotations

import typer

from thinkeval.service.cli.growth.files import replay

grow = typer.Typer(
    no_args_is_help=True,
    help=(
        "A graph from a model itself, or from a text, and its files.\n\n"
        "[bold]replay[/bold] compares published extracted triplets with the final graph after"
        " review."
    ),
)

grow.command()(replay)
