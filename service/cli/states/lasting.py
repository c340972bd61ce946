"""`thinkeval lasting`: whether the change of an edit lasts; stored lines of states."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ...errors import UsageError
from ...formatting import number, several
from ...lasting import store, table
from ...lasting.schemas import FROM_THE_EDIT, LastingIn, LastingOut
from ...reports import formats as report_formats
from ...reports.figures.style import FORMATS
from ...reports.formats import Column, Table
from ...scoring.runtime import Runtime
from ...settings import Settings
from ..options import (
    MEASURED,
    JsonFlag,
    MeasureName,
    MeasureOption,
    OutputOption,
    request_of,
    takes,
)
from ..output import (
    emit_command,
    emit_json,
    emit_note,
    emit_rows,
    emit_table,
    write_bytes,
)
from ..progress import ProgressBars


@takes(*(name for name in MEASURED if name not in FROM_THE_EDIT), "seed", of=LastingIn)
def lasting(
    edit: Annotated[
        str | None,
        typer.Argument(
            help="A scored edit; or a stored line of states, which is shown. Default: list those."
        ),
    ] = None,
    then: Annotated[
        list[str] | None,
        typer.Option(
            help="A later change: 8bit, 4bit, edit:EDIT, adapter:FOLDER, finetune:FILE or"
            " finetune:graph, the last two with :steps=N, :lr=X, :lora=R or :full, :batch=N,"
            " :seed=N; repeatable, in order.",
        ),
    ] = None,
    measure: MeasureOption = MeasureName.likelihood,
    figure: Annotated[
        Path | None,
        typer.Option(help="Write retention and IFR over the states as a .svg, .pdf or .png file."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option("--format", "-f", help="Print the table only: markdown, latex or csv."),
    ] = None,
    delete: Annotated[
        bool,
        typer.Option("--delete", help="Delete the stored line, and fine-tunes that it alone has."),
    ] = False,
    json: JsonFlag = False,
    output: OutputOption = None,
    **options: Any,
) -> None:
    """Does the change of an edit last? Put later changes on it, one after the other, and compare.

    Each state is compared with the unedited model: what is left of the change (retention), IFR,
    Preservation, and which chain of facts leads to the old object again first.

    [bold]thinkeval lasting EDIT --then 8bit --then finetune:notes.txt:steps=200 --then
    edit:OTHER[/bold] quantises the edited model, fine-tunes it on a text file (a line, or a
    paragraph, an example; JSON lines with "text", or "prompt" and "answer"), and adds another
    saved edit. [bold]finetune:graph[/bold] learns the graph's facts that share no entity with the
    edit. All weights are trained; [bold]:lora=8[/bold] trains low-rank factors, which large models
    need. The seed is 0 if none is given: the same command gives the same numbers.

    Quantised weights cannot be changed, so that every state after a quantisation is quantised last.
    A fine-tune is saved like an edit's update, and can be named in [bold]compare[/bold] and
    [bold]edits apply[/bold]; each state is a stored comparison. With [bold]--implications[/bold],
    a second table says which conclusions of the graph's rules each state still answers.
    """
    _require_figure(figure)
    if format is not None:
        report_formats.require_known(format, printed=output is None)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        if edit is None:
            if then or delete or format or figure:
                raise UsageError(
                    "Name a scored edit, or a stored line.",
                    remedy="`thinkeval edits` lists edits, `thinkeval lasting` stored lines.",
                )
            _list(store.page(runtime.db, limit=1000), json, output)
            return
        if not then:
            found = store.find(runtime.db, edit)
            if found is None:
                raise UsageError(
                    f"{edit!r} is no stored line, and no later change of an edit is named.",
                    remedy="Give --then 8bit, --then finetune:graph, --then edit:OTHER ...;"
                    " `thinkeval lasting` lists stored lines.",
                )
            if delete:
                gone = store.delete(runtime.db, runtime.settings, edit)
                emit_note(f"Deleted {edit} and {several(len(gone), 'fine-tune')}.")
                return
        elif delete:
            raise UsageError("--delete is for a stored line, not for --then.", remedy="Give one.")
        else:
            from ...lasting.lasting import lasting as measured

            posted = request_of(LastingIn, options | {"edit": edit, "then": then})
            found = measured(runtime, posted)
        _emit(runtime, found, measure, figure, format, json, output)


def _require_figure(figure: Path | None) -> None:
    """Refuse another format before anything is computed.

    Raises:
        UsageError: the file's name ends otherwise.
    """
    if figure is not None and figure.suffix.lstrip(".").lower() not in FORMATS:
        raise UsageError(
            f"{figure} has no format of figures.", remedy="Let it end in .svg, .pdf or .png."
        )


LISTED: list[Column[LastingOut]] = [
    Column("id", lambda out: out.id, whole=True),
    Column("graph", lambda out: out.graph, optional=2),
    Column("later changes", lambda out: " → ".join(state.change for state in out.states[1:])),
    Column("retention", lambda out: out.states[-1].numbers[out.measure].retention, number),
    Column("IFR", lambda out: out.states[-1].numbers[out.measure].ifr, number),
    Column("created", lambda out: out.created_at[:16].replace("T", " "), optional=1),
]


def _list(found: list[LastingOut], json: bool, output: Path | None) -> None:
    note = f"`{store.LISTING} ID` shows one; retention and IFR are those of its last state."
    listed = Table("lines", "Lines of states", LISTED, found, note if found else "none yet")
    emit_rows(listed, json=json, output=output)


def _emit(
    runtime: Runtime,
    found: LastingOut,
    measure: MeasureName,
    figure: Path | None,
    format: str | None,
    json: bool,
    output: Path | None,
) -> None:
    """Print a line of states, as text or in a format, and write its figure."""
    chosen = table.measure_of(found, measure.key if measure.key in found.measures else None)
    if figure is not None:
        write_bytes(figure, table.figure(found, chosen, figure.suffix.lstrip(".").lower()))
    if json:
        emit_json(found.model_dump(mode="json"), output)
        return
    if format is not None:
        states = Table("states", "Line of states", table.columns(found, chosen), found.states)
        emit_rows(states, format=format, output=output)
        return
    emit_note(table.title(found), "bold")
    note = table.note(found, chosen)
    emit_table(Table("states", "Line of states", table.columns(found, chosen), found.states, note))
    if found.request.get("implications"):
        from ..render_rules import show_implied_by

        show_implied_by(runtime.db, table.edit_by_state(found), chosen)
    for text in table.sentences(found, chosen):
        emit_note(text)
    for text in found.notes:
        emit_note(text)
    emit_note(f"{found.id}{', stored earlier' if found.reused else ''}", "dim")
    emit_command(f"thinkeval chains {found.states[-1].edit}")
