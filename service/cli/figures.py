"""How `thinkeval report --figures` writes its figures, and files that are no text."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from thinkeval.service.errors import UsageError
from thinkeval.service.schemas import Measure, Score

if TYPE_CHECKING:
    from thinkeval.service.scoring.runtime import Workbench


class FigureFormat(StrEnum):
    """What a figure is written as."""

    png = "png"
    svg = "svg"
    pdf = "pdf"


def write_figures(
    bench: Workbench,
    scores: Sequence[Score],
    named: Sequence[str],
    measure: Measure,
    folder: Path,
    formats: Sequence[str],
) -> list[Path]:
    """Draw the methods (of one named edit alone there is nothing to compare), and each named edit.

    Says on standard error which files were written.
    """
    from thinkeval.service.reports import figures

    methods = figures.METHODS_KINDS if len(scores) > 1 or not named else ()
    edits = [(score, kind) for score in scores if named for kind in figures.EDIT_KINDS]
    whole, done = (len(methods) + len(edits)) * len(formats), 0
    written = []
    for fmt in dict.fromkeys(formats):
        for kind in methods:
            bench.progress(done, whole, "figures")
            body = figures.draw_methods(scores, kind, measure, fmt)
            written.append(write_bytes(folder / f"{kind}.{fmt}", body))
            done += 1
        for score, kind in edits:
            bench.progress(done, whole, "figures")
            body = figures.draw_edit(bench.db, score, kind, measure, fmt)
            written.append(write_bytes(folder / f"{kind}-{score.edit}.{fmt}", body))
            done += 1
    return written


def write_bytes(path: Path, body: bytes) -> Path:
    """Write a file, making its folder; says so on standard error.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror or error}.",
            remedy="Name a place that is there and yours to write.",
        ) from error
    typer.echo(f"Wrote {path}", err=True)
    return path
