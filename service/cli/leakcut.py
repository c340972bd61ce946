"""`thinkeval lab leakcut` and `lab coedit`: further facts to edit, and rounds that edit them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..base.errors import UsageError
from ..base.formatting import number, pluralize
from ..base.settings import Settings
from ..graphs import datasets
from ..graphs import requests as selection
from ..leakcut.coedit_kind import COEDIT
from ..models.edit import Score
from ..models.leakcut import BudgetOut, BudgetPoint, CoEditIn, CutIn, CutOut, OpenPath, RuleCutOut
from ..reports.formats import Column, Table, indexed
from ..scoring import record
from ..scoring.request import read_overrides
from ..scoring.runtime import Runtime
from .codes import NEGATIVE
from .experiments import Printed, emit_result, prints
from .options import JsonFlag, MeasureName, OutputOption, request_of, takes
from .output import (
    ProgressBars,
    emit_command,
    emit_error,
    emit_json,
    emit_note,
    emit_table,
    require_json,
)

MOST_OPEN = 10
"""Open chains that are listed; --json has all."""

CURVE: list[Column[BudgetPoint]] = [
    Column("facts", lambda p: p.m),
    Column("IFR, greedy", lambda p: p.ifr),
    Column("no lower than", lambda p: p.bound, optional=1),
    Column("exact", lambda p: p.exact),
    Column("random, mean", lambda p: p.random),
    Column("least", lambda p: p.random_low, optional=2),
    Column("greatest", lambda p: p.random_high, optional=2),
    Column("largest share", lambda p: p.share),
]


@takes(..., of=CutIn)
def leakcut(
    name: Annotated[
        str,
        typer.Argument(
            metavar="EDIT|REWRITE",
            help="Id of a scored edit; with -g, id or subject of a rewrite of that graph.",
        ),
    ],
    graph: Annotated[
        str | None,
        typer.Option("--graph", "-g", help="Cut a rewrite of this graph, before any edit of it."),
    ] = None,
    measure: Annotated[
        MeasureName | None,
        typer.Option(help="The measure, of an edit; default: the first that it has."),
    ] = None,
    json: JsonFlag = False,
    output: OutputOption = None,
    **options: Any,
) -> None:
    """Find the fewest further facts whose change closes every chain that still leaks.

    [bold]thinkeval lab leakcut EDIT[/bold] reads a scored edit: a chain leaks if its retention
    R'/R is above --leak. [bold]thinkeval lab leakcut REWRITE -g GRAPH[/bold] cuts all chains of a
    rewrite before any edit. The cut is a minimum hitting set over chains of at most --max-steps
    facts, proved by an exact solver. Methods that write at the subject's last token cannot edit
    two facts of one subject together (--keys).

    [bold]--budget 4[/bold] adds the curve of expected IFR over 1 to 4 edited facts.
    """
    from ..leakcut.request import cut_of

    require_json(output, json)
    if graph is not None and measure is not None:
        raise UsageError(
            "--measure reads an edit; a rewrite of a graph has no probabilities.",
            remedy="Leave out --measure, or name an edit without -g.",
        )
    asked = request_of(CutIn, options)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        by = measure.key if measure else None
        found = cut_of(runtime.db, name, asked, graph=graph, measure=by)
        score = record.get_score(runtime.db, found.edit) if found.edit else None
    if json:
        emit_json(found.model_dump(mode="json"), output)
    else:
        show_cut(found, score)


def show_cut(cut: CutOut, score: Score | None = None) -> None:
    """The headline, the facts, other cuts, chains that stay, the curve and the rules."""
    from ..leakcut import words

    emit_note(words.headline(cut), "bold")
    if not cut.leaking and not cut.facts:
        _show_beyond(cut)
        return
    if cut.facts:
        emit_note(words.limits(cut))
        emit_table(words.facts_table(cut.facts))
    _show_open(cut)
    _show_others(cut)
    _show_beyond(cut)
    if cut.facts:
        said, command = words.next_step(cut, score)
        emit_note(said)
        emit_command(command)


def _show_open(cut: CutOut) -> None:
    """The chains that stay, each with its facts and why none of them can be edited."""
    if not cut.open:
        return
    columns: list[Column[OpenPath]] = [
        Column("chain", lambda path: " → ".join(path.entities) or "proof by rules"),
        Column("why none of its facts can be edited", lambda path: path.why),
    ]
    more = len(cut.open) - MOST_OPEN
    note = f"and {more} more (--json has all)" if more > 0 else ""
    title = f"{pluralize(len(cut.open), 'chain')} stay{'s' * (len(cut.open) == 1)} open"
    emit_table(Table("open", title, columns, cut.open[:MOST_OPEN], note))


def _show_others(cut: CutOut) -> None:
    from ..leakcut import words

    found = words.others(cut)
    if not found:
        return
    title = f"{pluralize(len(found), 'other cut')} of the same cost"
    title = f"{title}, and there may be more" if cut.more else title
    emit_table(Table("others", title, indexed("instead of", "edit"), found))


def _show_beyond(cut: CutOut) -> None:
    if cut.rules is not None:
        _show_rules(cut, cut.rules)
    if cut.budget is not None:
        _show_budget(cut.budget)


def _show_rules(cut: CutOut, rules: RuleCutOut) -> None:
    from ..leakcut import words

    if rules.why:
        text = f"Rules: {rules.why}"
    else:
        further = "; ".join(words.fact_text(cut, fact) for fact in rules.facts)
        text = (
            f"Rules: {pluralize(rules.rules, 'rule')}, {pluralize(rules.atoms, 'atom')},"
            f" {pluralize(rules.groundings, 'grounding')}; not needed for chains:"
            f" {further or 'none of the facts'}."
        )
    emit_note(text)


def _show_budget(budget: BudgetOut) -> None:
    note = (
        f"random: {pluralize(budget.draws, 'draw')} under the same limits; largest share: the facts"
        f" through which most of IFR passes. {budget.note or ''}"
    )
    title = f"Expected IFR by number of further facts edited, after {number(budget.ifr)}"
    emit_table(Table("curve", title, CURVE, budget.points, note.strip()))


# `thinkeval lab coedit`: further facts edited with a rewrite, round by round.

CUT = ("leak", "lock", "only_subject", "not_subject", "keys", "collateral", "efficacy")
"""Options of the cut that a co-edit takes; chains have the length of the score."""


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
@prints
def coedit(
    rewrite: Annotated[
        str,
        typer.Argument(help="Rewrite id, its beginning, or subject (`thinkeval graph rewrites`)."),
    ],
    *,
    printed: Printed,
    **options: Any,
) -> None:
    """Edit a rewrite together with further facts, until little of the old fact is left.

    [bold]thinkeval lab coedit harry-potter--studied-at -m memit[/bold] scores the edit alone, then
    adds one fact a round: of the facts that [bold]thinkeval lab leakcut EDIT[/bold] lists, that
    which lowers IFR most, with a new object that leads nowhere. All requests
    of a round are edited at once from the unedited model. Each round is a stored edit
    (`thinkeval results chains EDIT`); run again, a co-edit resumes.

    With --objective "ifr<=.1,preservation>=.95" the first round that meets it is chosen, and the
    exit code is 1 where none does.
    """
    from ..leakcut.coedit import co_edit

    posted = _request(rewrite, options)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        datasets.get_or_import(runtime.db, posted.graph)
        own = selection.OwnRewrite()
        (found,) = selection.rewrites(runtime.db, posted.graph, [rewrite], own, False)
        done = co_edit(runtime, posted.model_copy(update={"rewrite": found.id}), found)
        emit_result(runtime.db, COEDIT, done, printed)
    if done.met is False:
        row = done.rounds[done.chosen]
        emit_error(
            f"objective: no round meets {posted.objective}; the best is round {row.number}"
            f" (IFR {number(row.ifr)}, Preservation {number(row.preservation)},"
            f" efficacy {number(row.efficacy)})"
        )
        raise typer.Exit(NEGATIVE)


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
            remedy="`thinkeval lab leakcut EDIT --json` lists the facts with their ids.",
        )
    return fact, object_
