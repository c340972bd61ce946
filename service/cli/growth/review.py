"""`thinkeval grow review|log|verify|judge|agreement`: people decide about what a run found."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import UsageError
from ...formatting import several
from ...scoring.runtime import Runtime
from ...settings import Settings
from ..options import JsonFlag
from ..output import emit_json, emit_table
from ..progress import ProgressBars
from .render_review import (
    CANDIDATES,
    DECISIONS,
    show_agreement,
    show_judge,
)

if TYPE_CHECKING:
    from ....cypher.rows.growth import CandidateState
    from ...growth.review.decision_files import Given

RunArgument = Annotated[str, typer.Argument(help="Id of a growth run.")]
NameOption = Annotated[
    str | None, typer.Option("--as", metavar="NAME", help="Who decides; tells annotators apart.")
]


class StateName(StrEnum):
    """Which candidates are listed: all, those that wait, or those in one state."""

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


def review(
    run: RunArgument,
    name: NameOption = None,
    decide: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CANDIDATE=VERB",
            help="keep, prune, or 'correct:SUBJECT|RELATION|OBJECT'; repeatable.",
        ),
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option(metavar="'SUBJECT|RELATION|OBJECT'", help="Add a triplet; repeatable."),
    ] = None,
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="CSV with columns candidate, verb; subject, relation, object of a correction or"
            " an addition; reason. Every row is checked before the first is recorded.",
        ),
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Recorded with --decide and --add.")] = None,
    state: Annotated[StateName, typer.Option(help="Which are listed.")] = StateName.waiting,
    limit: Annotated[int, typer.Option(min=1, max=5000, help="Candidates of the list.")] = 50,
    list_: Annotated[bool, typer.Option("--list", help="List them; ask nothing.")] = False,
    json: JsonFlag = False,
) -> None:
    """Decide about the triplets that a run found, one by one.

    At a terminal, with --as NAME, each candidate is shown with its statement and answers:
    k keep, p prune, c correct, a add a triplet, s skip, q quit. Otherwise those that wait are
    listed. A decision is never changed: a later one is another record, and a person's latest
    one counts. When the last one is decided the run continues by itself.

    [bold]thinkeval grow review RUN --as ann --decide 3f2a=keep --decide 77c0=prune[/bold]
    """
    from ...growth.review import decision_files, log, queue
    from ...growth.review.schemas import CandidatePage
    from .review_keys import ask

    given = decision_files.given(decide or [], add or [], from_, reason)
    if given and name is None:
        raise UsageError("A decision needs a name.", remedy="Add --as NAME.")
    settings = Settings()
    with ProgressBars() as progress, Runtime(settings, progress) as runtime:
        db = runtime.db
        log.run_of(db, run)
        _record(runtime, run, name or "", given)
        if name and not (given or json or list_) and sys.stdin.isatty():
            progress.__exit__(None, None, None)
            ask(db, settings, run, name)
        named = {"waiting": log.WAITING, "all": None}.get(state.value, (state.value,))
        chosen: list[CandidateState] | None
        chosen = None if named is None else [queue.state_of(each) for each in named]
        page: CandidatePage = queue.page(db, run, chosen, limit=limit)
    if json:
        emit_json(page.model_dump())
        return
    note = f"{several(page.total, 'candidate')}"
    if page.next:
        note += f", the first {limit} are shown"
    emit_table(f"Candidates of {run}: {state.value}", CANDIDATES, page.items, note=note)


def _record(runtime: Runtime, run: str, name: str, given: list[Given]) -> None:
    """Record given decisions in order; nothing of them where one names no candidate."""
    from ....cypher import rows
    from ...errors import NotFoundError
    from ...growth import decisions

    known = {row.id for row in runtime.db.read(rows.CandidateRow, run=run)} if given else set()
    for each in given:
        if each.candidate is not None and each.candidate not in known:
            listing = f"thinkeval grow review {run} --list"
            raise NotFoundError("candidate", each.candidate, known, listing=listing)
    for each in given:
        if each.candidate is None and each.after is not None:
            done = decisions.add(
                runtime.db, runtime.settings, run, each.after, name, reason=each.reason
            )
        else:
            done = decisions.decide(
                runtime.db, runtime.settings, run, each.candidate or "", each.verb, name,
                after=each.after, reason=each.reason,
            )  # fmt: skip
        if done.resumed:
            typer.echo("Nothing waits any more: the run is queued again.", err=True)


def log(
    run: RunArgument,
    candidate: Annotated[str | None, typer.Option(help="Only about this candidate.")] = None,
    json: JsonFlag = False,
) -> None:
    """Print the log of decisions: who, when, from what to what, and why."""
    from ...growth.review.log import log_of

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = log_of(runtime.db, run, candidate)
    if json:
        emit_json(found.model_dump())
        return
    note = f"{several(found.total, 'record')}. `thinkeval grow verify {run}` checks their digests."
    emit_table(f"Decisions of {run}", DECISIONS, found.items, note=note if found.total else "")


def verify(run: RunArgument, json: JsonFlag = False) -> None:
    """Check that the log is whole: no record altered, removed or inserted.

    Exits with 1 and names the first broken record otherwise.
    """
    from ...growth.review.log import verify as verified

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = verified(runtime.db, run)
    if json:
        emit_json(found.model_dump())
    elif found.ok:
        typer.echo(f"The log of {run} is whole: {several(found.records, 'record')}.")
    else:
        typer.echo(f"The log of {run} is broken at record {found.broken}: {found.why}.")
    if not found.ok:
        raise typer.Exit(1)


def judge(
    run: Annotated[str | None, typer.Argument(help="Id of a growth run.")] = None,
    csv: Annotated[
        Path | None,
        typer.Option(help="Given counts instead: columns iteration, tp, fp, fn; tn, triplets."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Compare the model judge with people: precision, recall and F1 by iteration and in sum.

    Over the triplets that both decided; positive is what a person keeps or corrects. Also how
    many triplets people decided about, with and without a judge.
    """
    from ...growth.review import decision_files, judge_report

    if (run is None) == (csv is None):
        raise UsageError("Which decisions?", remedy="Name a run, or give --csv FILE.")
    if csv is not None:
        found = judge_report.read_csv(decision_files.text_of(csv), csv.name)
    else:
        with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
            found = judge_report.stored(runtime.db, run or "")
    if json:
        emit_json(found.model_dump())
    else:
        show_judge(found, run or (csv.name if csv else ""))


def agreement(
    of: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN|FILE.csv]",
            help="A growth run, or a table with one column an annotator and one row an item.",
        ),
    ] = None,
    categories: Annotated[
        str | None, typer.Option(help="Possible ratings of a table, by commas: 'yes,no'.")
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
    """Agreement of annotators: raw pairwise, raw unanimous, Gwet's AC1, Krippendorff's alpha.

    AC1 is never above the raw pairwise agreement. `--raw .97 --ac1 .98` checks published figures
    and refuses what no ratings can give.
    """
    from ...agreement import check_figures
    from ...growth.review import decision_files, people

    if raw is not None or ac1 is not None:
        if raw is None or ac1 is None or of is not None:
            raise UsageError(
                "Published figures need both --raw and --ac1, and no ratings.",
                remedy="Give both, or a run or a table.",
            )
        explanation = check_figures(raw, ac1, annotators, all_agree=unanimous)
        if json:
            emit_json({"possible": True, "why": explanation})
        else:
            typer.echo(explanation)
        return
    if of is None:
        raise UsageError("Agreement of what?", remedy="Name a run or a CSV file.")
    if of.endswith(".csv"):
        chosen = None if categories is None else [c.strip() for c in categories.split(",")]
        found = people.read_csv(decision_files.text_of(Path(of)), Path(of).name, chosen)
    else:
        with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
            found = people.stored(runtime.db, of)
    if json:
        emit_json(found.model_dump())
    else:
        show_agreement(found, of)
