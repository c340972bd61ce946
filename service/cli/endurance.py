"""`thinkeval lab endurance`: thousands of edits of one model, its health, an alarm; it resumes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..base.settings import Settings
from ..graphs import datasets
from ..graphs import requests as selection
from ..reports import gate
from ..reports.figure_style import encode, figure_format
from ..reports.formats import Column, Table
from ..scoring.runtime import Runtime
from .codes import NEGATIVE
from .options import FormatOption, JsonFlag, OutputOption, edit_options, takes
from .output import ProgressBars, chosen_format, emit_error, emit_rows, write_bytes

if TYPE_CHECKING:
    from ..experiments.endurance import Endurance, Point

NOTE = (
    "`efficacy`: mean p(new) of a fixed sample of edited pairs, by the newest edit of each;"
    " `newest`: of the last batch; `IFR` (over chains) and `Preservation` (over rewrites): of the"
    " followed rewrites, which were edited first; `kept`: known facts that are never edited and"
    " keep half of their probability. Beside each value the number it is over."
)
COLUMNS: list[Column[Point]] = [
    Column("edits", lambda row: row.edits),
    Column("efficacy", lambda row: row.efficacy),
    Column("n efficacy", lambda row: row.n_efficacy),
    Column("newest", lambda row: row.newest),
    Column("n newest", lambda row: row.n_newest),
    Column("IFR", lambda row: row.ifr),
    Column("n IFR", lambda row: row.n_ifr),
    Column("Preservation", lambda row: row.preservation),
    Column("n Preservation", lambda row: row.n_preservation),
    Column("kept", lambda row: row.kept),
    Column("n kept", lambda row: row.n_kept),
]


@takes(
    "graph", "model", "method", "hparams", "overrides", "dtype", "seed", "max_steps", "force",
    defaults={"method": "ultraedit"},
)  # fmt: skip
def endurance(
    rewrite: Annotated[
        list[str] | None,
        typer.Argument(help="Rewrites to follow, ids or subjects; default: the graph's first two."),
    ] = None,
    edits: Annotated[int, typer.Option(min=1, help="Edits in all.")] = 1000,
    batch: Annotated[int, typer.Option(min=1, help="Edits that are made together.")] = 10,
    every: Annotated[int, typer.Option(min=1, help="Edits between two looks.")] = 100,
    sample: Annotated[
        int, typer.Option(min=1, help="Edited pairs that are asked at each look, at most.")
    ] = 50,
    save_every: Annotated[
        int, typer.Option(min=1, help="Edits between two writes of the progress.")
    ] = 100,
    gates: Annotated[
        list[str] | None,
        typer.Option(
            "--gate",
            help='A limit, as "efficacy>=.5" or "ifr<=1"; the first look that misses it ends the'
            " sequence, with exit code 1; repeatable.",
        ),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Write the curves to this .svg, .pdf or .png file.")
    ] = None,
    json: JsonFlag = False,
    format: FormatOption = None,
    output: OutputOption = None,
    **options: Any,
) -> None:
    """Edit one model thousands of times, and look at its health at intervals.

    The rewrites that are named are edited first and followed: their IFR and Preservation. All later
    requests are generated: round by round, each subject and relation of the graph that is not on
    their chains is edited once, to another object than before. Killed or interrupted, the same
    command resumes, and finds the same numbers.

    [bold]thinkeval lab endurance -m ultraedit --edits 10000 --every 1000 --gate
    "efficacy>=.5"[/bold]
    """
    from ...editing import registry
    from ..experiments import endurance as sequences

    chosen_format(format, json, output)  # a wrong one is refused before anything is edited
    if figure is not None:
        figure_format(figure)  # as above
    limits = [gate.parse(text, sequences.METRICS) for text in gates or ()]
    edit = edit_options(options).model_copy(update={"samples": 0})  # all is by likelihood
    registry.info(edit.method)  # unknown: refused before a model is loaded
    with ProgressBars(lines=True) as progress, Runtime(Settings(), progress) as runtime:
        datasets.get_or_import(runtime.db, edit.graph)
        found = selection.rewrites(
            runtime.db, edit.graph, rewrite or [], selection.OwnRewrite(), not rewrite, "replace"
        )
        wanted = sequences.Plan(
            edit, tuple(found if rewrite else found[:2]), edits, batch, every, sample, save_every
        )
        done = sequences.run(runtime, wanted, limits, force=edit.force)
    table = Table("endurance", _title(done, batch), COLUMNS, done.points, NOTE)
    emit_rows(table, value=asdict(done), json=json, format=format, output=output)
    if figure is not None:
        _draw(done, batch, figure)
    for alarm in done.alarms:
        emit_error(f"alarm: {alarm}")
    if done.alarms:
        raise typer.Exit(NEGATIVE)


def _title(done: Endurance, batch: int) -> str:
    return (
        f"{done.method} on {done.model}: {done.edits:,} edits, {batch} at a time, of"
        f" {done.pairs} subject-relation pairs"
    )


def _draw(done: Endurance, batch: int, path: Path) -> None:
    from ..reports.series_figures import draw_endurance

    curves = {
        "efficacy of old edits": [point.efficacy for point in done.points],
        "IFR": [point.ifr for point in done.points],
        "Preservation": [point.preservation for point in done.points],
        "facts kept": [point.kept for point in done.points],
    }
    edits, title = [point.edits for point in done.points], _title(done, batch)
    body = encode(lambda: draw_endurance(edits, curves, title, NOTE), figure_format(path), title)
    write_bytes(path, body)
