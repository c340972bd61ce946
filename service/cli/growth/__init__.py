"""`thinkeval grow`: graphs grown from a model. One file a group of commands."""

from __future__ import annotations

import typer

from .files import export
from .review import agreement, candidates, decide, decisions, show
from .start import augment, from_text, start

grow = typer.Typer(
    no_args_is_help=True,
    help=(
        "A graph from a model itself, or from a text, and its files.\n\n"
        "[bold]start[/bold] grows a graph from one fact, and continues a run that was stopped;"
        " [bold]from-text[/bold] begins with documents, [bold]augment[/bold] with a stored graph;"
        " [bold]thinkeval growth[/bold] lists runs, shows, cancels and deletes one.\n\n"
        "[bold]candidates[/bold] lists what a run found, [bold]show[/bold] one with its answers;"
        " [bold]decide[/bold] records what people decided about them in a CSV file,"
        " [bold]decisions[/bold] lists who decided what; [bold]agreement[/bold] of raters.\n\n"
        "[bold]export[/bold] writes a graph in KnowGIC's layouts, or a run's audit bundle."
    ),
)

grow.command()(start)
grow.command("from-text")(from_text)
grow.command()(augment)
grow.command()(candidates)
grow.command()(show)
grow.command()(decide)
grow.command()(decisions)
grow.command()(agreement)
grow.command()(export)
