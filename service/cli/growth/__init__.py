"""`thinkeval grow`: graphs grown from a model. One file a group of commands."""

from __future__ import annotations

import typer

from .files import export
from .review import agreement, candidates, decide, decisions, judge
from .runs import delete, list_, show, status
from .start import start
from .texts import augment, from_text

grow = typer.Typer(
    no_args_is_help=True,
    help=(
        "A graph from a model itself, or from a text, and its files.\n\n"
        "[bold]start[/bold] grows a graph from one fact, and continues a run that was stopped;"
        " [bold]from-text[/bold] begins with documents, [bold]augment[/bold] with a stored graph;"
        " [bold]status[/bold], [bold]list[/bold] and [bold]show[/bold] read what is stored.\n\n"
        "[bold]candidates[/bold] lists what a run found, [bold]decide[/bold] records what people"
        " decided about it in a CSV file, [bold]decisions[/bold] lists who decided what;"
        " [bold]judge[/bold] and [bold]agreement[/bold] compare who decided.\n\n"
        "[bold]export[/bold] writes a graph in KnowGIC's layouts, or a run's audit bundle."
    ),
)

grow.command()(start)
grow.command("from-text")(from_text)
grow.command()(augment)
grow.command()(status)
grow.command("list")(list_)
grow.command()(show)
grow.command()(delete)
grow.command()(candidates)
grow.command()(decide)
grow.command()(decisions)
grow.command()(judge)
grow.command()(agreement)
grow.command()(export)
