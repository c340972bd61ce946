"""`thinkeval coedit`: further facts edited with a rewrite; `thinkeval coedits`: the stored ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ...errors import UsageError
from ...formatting import number, several
from ...graphs import datasets
from ...graphs import rewrites as selection
from ...leakcut.coedit import frontier_table, store
from ...leakcut.schemas import CoEditIn, CoEditOut, CutIn
from ...reports.formats import Column, Table
from ...scoring.request import read_overrides
from ...scoring.runtime import Runtime
from ...settings import Settings
from ..options import JsonFlag, OutputOption, request_of, takes
from ..output import (
    chosen_format,
    emit_command,
    emit_json,
    emit_note,
    emit_rows,
    emit_table,
    emit_text,
    write_bytes,
)
from ..progress import ProgressBars

CUT = ("leak", "lock", "only_subject", "not_subject", "keys", "collateral", "efficacy")
"""Options of the cut that a co-edit takes; chains have the length of the score."""

FORMATS = ("markdown", "latex", "csv", "json")

FigureOption = Annotated[
    Path | None,
    typer.Option("--figure", help="Write the frontier as a .svg, .pdf or .png file."),
]


@takes(*CUT, of=CutIn)
@takes(
    "graph", "model", "method", "choose", "per_round", "rounds", "new", "anchors", "objective",
    "draw", "seed", "chat", "bare", "max_steps", "revision", "hparams", "overrides", "dtype",
    "force", "anyway",
    of=CoEditIn,
    help={
        "new": "New object of a fact, as FACT=OBJECT with the fact's id; repeatable; default: one"
        " that leads nowhere.",
    },
)  # fmt: skip
def coedit(
    rewrite: Annotated[
        str, typer.Argument(help="Rewrite id, its beginning, or subject (`thinkeval rewrites`).")
    ],
    figure: FigureOption = None,
    format: Annotated[
        str | None,
        typer.Option("--format", "-f", help="Print only the frontier: markdown, latex or csv."),
    ] = None,
    json: JsonFlag = False,
    output: OutputOption = None,
    **options: Any,
) -> None:
    """Edit a rewrite together with further facts, until little of the old fact is left.

    [bold]thinkeval coedit harry-potter--studied-at -m memit[/bold] scores the edit alone, then adds
    one fact a round: of the facts that [bold]thinkeval leakcut EDIT[/bold] lists, that which lowers
    IFR most, with a new object that leads nowhere. All requests
    of a round are edited at once from the unedited model. Each round is a stored edit
    (`thinkeval chains EDIT`); run again, a co-edit resumes.

    With --objective "ifr<=.1,preservation>=.95" the first round that meets it is chosen, and the
    exit code is 1 where none does.
    """
    from ...leakcut.coedit.run import co_edit

    shape = chosen_format(format, json) if format else ("json" if json else None)
    posted = _request(rewrite, options)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        datasets.ensure(runtime.db, posted.graph)
        own = selection.OwnRewrite()
        (found,) = selection.rewrites(runtime.db, posted.graph, [rewrite], own, False)
        done = co_edit(runtime, posted.model_copy(update={"rewrite": found.id}), found)
    _emit(done, shape, figure, output)
    if done.met is False:
        row = done.rounds[done.chosen]
        typer.echo(
            f"objective: no round meets {posted.objective}; the best is round {row.number}"
            f" (IFR {number(row.ifr)}, Preservation {number(row.preservation)},"
            f" efficacy {number(row.efficacy)})",
            err=True,
        )
        raise typer.Exit(1)


def _request(rewrite: str, options: dict[str, Any]) -> CoEditIn:
    """The co-edit that the options ask for.

    Raises:
        UsageError: a value that the request does not have.
    """
    cut = request_of(CutIn, {name: options.pop(name) for name in CUT} | _steps(options))
    options["overrides"] = read_overrides(options["overrides"] or [])
    options["new"] = dict(_given(text) for text in options["new"] or [])
    return request_of(CoEditIn, options | {"rewrite": rewrite, "cut": cut})


def _steps(options: dict[str, Any]) -> dict[str, int]:
    return {"max_steps": options["max_steps"]}


def _given(text: str) -> tuple[str, str]:
    fact, sign, object_ = text.partition("=")
    if not (fact and sign and object_):
        raise UsageError(
            f"--new {text!r} is not FACT=OBJECT.",
            remedy="`thinkeval leakcut EDIT --json` lists the facts with their ids.",
        )
    return fact, object_


def coedits(
    id: Annotated[
        str | None, typer.Argument(help="Show this co-edit; default: list them all.")
    ] = None,
    graph: Annotated[str | None, typer.Option("--graph", "-g", help="Only of this graph.")] = None,
    figure: FigureOption = None,
    format: Annotated[
        str | None, typer.Option("--format", "-f", help="Print only markdown, latex or csv.")
    ] = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete it; its rounds' edits stay.")
    ] = False,
    json: JsonFlag = False,
    output: OutputOption = None,
) -> None:
    """List stored co-edits, or show one: its frontier, its further facts, its chosen round."""
    shape = chosen_format(format, json) if format else ("json" if json else None)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        if id is None:
            if figure or delete or (format and shape != "json"):
                raise UsageError("Name a co-edit.", remedy="`thinkeval coedits` lists them.")
            found = store.page(runtime.db, graph=graph, limit=1000)
        elif delete:
            from ...leakcut.coedit import control  # `--help` does not wait for it

            control.delete(runtime.db, id)
            emit_note(f"Deleted {id}; its rounds' edits stay.")
            return
        else:
            _emit(store.get(runtime.db, id), shape, figure, output)
            return
    listed = Table("co-edits", "Co-edits", LISTED, found, "`thinkeval coedits ID` shows one.")
    emit_rows(listed, json=json, output=output)


LISTED: list[Column[CoEditOut]] = [
    Column("id", lambda out: out.id, whole=True),
    Column("graph", lambda out: out.graph, optional=1),
    Column("model", lambda out: out.model, optional=4),
    Column("rounds", lambda out: len(out.rounds) - 1, optional=2),
    Column("IFR alone", lambda out: out.rounds[0].ifr, number),
    Column("chosen", lambda out: out.chosen),
    Column("its IFR", lambda out: out.rounds[out.chosen].ifr, number),
    Column("created", lambda out: out.created_at[:16].replace("T", " "), optional=3),
]


def _emit(done: CoEditOut, shape: str | None, figure: Path | None, output: Path | None) -> None:
    """Print a co-edit, as text or in a format, and write its figure."""
    if figure is not None:
        write_bytes(figure, frontier_table.figure(done, figure.suffix.lstrip(".").lower()))
    if shape == "json":
        emit_json(done.model_dump(mode="json"), output)
    elif shape is not None:
        emit_text(frontier_table.text(done, shape), output)
    else:
        show(done)


def show(done: CoEditOut) -> None:
    """The frontier, the facts that were edited too, and what was chosen."""
    note = frontier_table.caption(done)
    title = frontier_table.title(done)
    emit_table(Table("frontier", title, frontier_table.columns(done), done.rounds, note))
    added = frontier_table.facts(done)
    if added:
        emit_table(Table("facts", "Facts edited too", frontier_table.FACTS, added))
    row, alone = done.rounds[done.chosen], done.rounds[0]
    kept = several(row.facts - 1, "further fact")
    emit_note(
        f"Chosen: round {row.number} with {kept}, IFR {number(row.ifr)} after {number(alone.ifr)}."
        f" Stopped: {done.stopped}."
    )
    if done.sequential and len(done.rounds) > 1:
        emit_note(f"{done.method} edits one fact after the other.")
    for note in done.notes:
        emit_note(note)
    emit_note("Next:")
    emit_command(f"thinkeval show {row.edit}")
    emit_command(f"thinkeval coedits {done.id} -f latex")
