"""`thinkeval hparams suggest`: starting hyperparameters for a model without published ones."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from .options import JsonFlag
from .output import emit_json, emit_text

hparams = typer.Typer(help="Hyperparameters for models without published ones.")


@hparams.callback()
def _group() -> None:
    """Hyperparameters for models without published ones."""


@hparams.command()
def suggest(
    model: Annotated[str, typer.Argument(help="Hub name or local path; only its config is read.")],
    method: Annotated[str, typer.Option("--method", "-m", help="Editing method.")] = "memit",
    revision: Annotated[
        str | None, typer.Option(help="Branch, tag or commit of a hub model.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the YAML file here.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Print starting hyperparameters as YAML, with a comment on where each value comes from.

    Values of the nearest published model, its layers at the same depth. A starting point, not tuned
    for the model: score a few rewrites with [bold]--hparams FILE.yaml[/bold] and adjust.
    """
    from ..scoring.suggestion import for_model

    found = for_model(model, method, revision)
    if json:
        emit_json({"model": model, "notes": found.notes, **asdict(found.suggestion)}, output)
    else:
        emit_text(found.as_yaml(), output)
