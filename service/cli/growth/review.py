"""`thinkeval grow candidates|show|decide|decisions|agreement`: people decide on candidates."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import UsageError
from ...formatting import cell, pluralize
from ...reports.formats import Table, indexed
from ...scoring.runtime import Runtime
from ...settings import Settings
from ..options import FormatOption, JsonFlag, OutputOption
from ..output import TABLE, emit_json, emit_rows, emit_table, emit_values
from ..progress import ProgressBars

if TYPE_CHECKING:
    from ....cypher.rows.growth import CandidateState

RunArgument = Annotated[str, typer.Argument(help="Id of a growth run.")]


class StateName(StrEnum):
    """The candidates that are listed: all, those that wait, or those in one state."""

    waiting = "waiting"
    all = "all"
    new = "new"
    validated = "validated"
    discarded = "discarded"
    pruned = "pruned"
    duplicate = "duplicate"
    conflict = "conflict"
    review = "review"
    refused = "refused"
    unknown = "unknown"


def candidates(
    run: RunArgument,
    state: Annotated[StateName, typer.Option(help="Which are listed.")] = StateName.waiting,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Candidates at most; 50 in a table, all in a format.")
    ] = None,
    format: FormatOption = None,
    output: OutputOption = None,
    json: JsonFlag = False,
) -> None:
    """List the candidates of a run, by default those that wait for a decision.

    They are reviewed on the run's page of [bold]thinkeval serve[/bold], or as a file: the CSV has
    an empty column verb for [bold]thinkeval grow decide[/bold].

    [bold]thinkeval grow candidates RUN --format csv -o waiting.csv[/bold]
    """
    from ...growth.review import queue, record, tables

    named = {"waiting": record.WAITING, "all": None}.get(state.value, (state.value,))
    chosen: list[CandidateState] | None
    chosen = None if named is None else [queue.state_of(each) for each in named]
    plain = format in (None, TABLE) and not json
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        most = limit or (queue.PAGE if plain else queue.ALL)
        page = queue.page(runtime.db, run, chosen, limit=most)
    note = f"{pluralize(page.total, 'candidate')}"
    if page.next:
        note += f", the first {len(page.items)} are shown"
    title, columns = (
        f"Candidates of {run}: {state.value}",
        tables.CANDIDATES if plain else tables.SHEET,
    )
    found = Table("candidates", title, columns, page.items, note)
    emit_rows(found, value=page.model_dump(), json=json, format=format, output=output)


def decide(
    run: RunArgument,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.csv",
            help="Columns candidate, verb (keep, prune, correct, add); subject, relation, object"
            " of a correction or addition; question, reason, by. Rows without a verb are left out.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(
            "--as", metavar="NAME", help="Who decides; tells annotators apart. Or a column by."
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Record the decisions of a CSV file: all of them, or none where one is refused.

    A decision is never changed: a later one is another record, and a person's latest one counts.
    When the last one is decided the run continues by itself.

    [bold]thinkeval grow decide RUN waiting.csv --as ann[/bold]
    """
    from ...growth import decisions
    from ...growth.review import tables

    text = tables.decoded(_bytes(file), file.name)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        done = decisions.decide_by_file(runtime.db, runtime.settings, run, text, file.name, name)
    if json:
        emit_json(done.model_dump())
        return
    left_out = [
        f"{pluralize(n, 'row')} {why}"
        for n, why in ((done.undecided, "without a verb"), (done.judged, "of a judge"))
        if n
    ]
    typer.echo(
        f"{pluralize(done.recorded, 'decision')} recorded; {pluralize(done.waiting, 'candidate')}"
        f" {'waits' if done.waiting == 1 else 'wait'}."
        + (f" Left out: {', '.join(left_out)}." if left_out else "")
        + (" The run is queued again." if done.resumed else "")
    )


def decisions(
    run: RunArgument,
    candidate: Annotated[str | None, typer.Option(help="Only about this candidate.")] = None,
    format: FormatOption = None,
    output: OutputOption = None,
    json: JsonFlag = False,
) -> None:
    """List the decisions about a run's candidates: who, when, from what to what, and why."""
    from ...growth.review import record, tables

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = record.decisions_of(runtime.db, run, candidate)
    decided = Table("decisions", f"Decisions of {run}", tables.DECISIONS, found.items)
    emit_rows(decided, value=found.model_dump(), json=json, format=format, output=output)


def show(
    run: RunArgument,
    candidate: Annotated[str, typer.Argument(help="Id of a candidate; see `grow candidates`.")],
    json: JsonFlag = False,
) -> None:
    """Show what a candidate rests on: statements, questions and every answer."""
    from ...growth.review import queue

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = queue.detail(runtime.db, run, candidate)
    if json:
        emit_json(found.model_dump())
        return
    shown = ("subject", "relation", "object", "state", "reason", "tries", "share", "n_answers")
    emit_values(f"Candidate {found.id}", [(name, getattr(found, name)) for name in shown])
    evidence = [
        (one.role, one.attempt or "", one.question or "", one.answer or one.statement or "")
        for one in found.evidence
    ]
    columns = indexed("evidence", "try", "question", "answer")
    emit_table(Table("evidence", "Evidence", columns, evidence, pluralize(len(evidence), "answer")))


def agreement(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE.csv]", help="A table with one column an annotator and one row an item."
        ),
    ] = None,
    categories: Annotated[
        str | None, typer.Option(help="Possible ratings of the table, by commas: 'yes,no'.")
    ] = None,
    raw: Annotated[
        float | None, typer.Option(min=0, max=1, help="Check published figures: raw agreement.")
    ] = None,
    ac1: Annotated[
        float | None, typer.Option(min=-1, max=1, help="Check published figures: Gwet's AC1.")
    ] = None,
    annotators: Annotated[int, typer.Option(min=2, help="Of published figures.")] = 2,
    unanimous: Annotated[
        bool,
        typer.Option("--unanimous", help="The raw figure is the fraction on which all agree."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Agreement of a table of ratings: raw pairwise and unanimous, AC1, Krippendorff's alpha.

    AC1 is never above the raw pairwise agreement. `--raw .97 --ac1 .98` checks published figures
    and refuses what no ratings can give. The agreement of a run is in [bold]thinkeval
    growth RUN --table judge[/bold].
    """
    from ...agreement import check_figures
    from ...growth.review import ratings, tables

    if raw is not None or ac1 is not None:
        if raw is None or ac1 is None or file is not None:
            raise UsageError(
                "Published figures need both --raw and --ac1, and no ratings.",
                remedy="Give both, or a table.",
            )
        explanation = check_figures(raw, ac1, annotators, all_agree=unanimous)
        if json:
            emit_json({"possible": True, "why": explanation})
        else:
            typer.echo(explanation)
        return
    if file is None:
        raise UsageError("Agreement of what?", remedy="Name a CSV file; of a run: `growth RUN`.")
    chosen = None if categories is None else [c.strip() for c in categories.split(",")]
    found = ratings.read_csv(tables.decoded(_bytes(file), file.name), file.name, chosen)
    if json:
        emit_json(found.model_dump())
        return
    emit_values(
        f"Agreement: {file.name}",
        [
            ("items with two ratings or more", found.n),
            ("annotators", ", ".join(found.annotators)),
            ("raw, pairwise", cell(found.pairwise)),
            ("raw, unanimous", cell(found.unanimous)),
            ("Gwet's AC1", cell(found.ac1)),
            ("Krippendorff's alpha (nominal)", cell(found.alpha)),
        ],
        note="AC1 is never above the pairwise agreement.",
    )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror or error}.", remedy="Give a CSV file."
        ) from error
