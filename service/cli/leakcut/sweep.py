"""`thinkeval sweep --coedit`: the frontier of many rewrites beside random controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ...errors import UsageError
from ...formatting import cell, pluralize
from ...graphs import datasets
from ...graphs import rewrites as selection
from ...leakcut.schemas import CoEditIn
from ...reports.formats import Column, Table
from ...scoring.runtime import Runtime
from ...settings import Settings
from ..options import edit_options
from ..output import console, emit_json, emit_table
from ..progress import ProgressBars

if TYPE_CHECKING:
    from ...leakcut.coedit.sweep import ChosenSummary, CoEditSweep, FrontierRow

METHODS = ("memit", "alphaedit")

FRONTIER: list[Column[FrontierRow]] = [
    Column("method", lambda r: r.method),
    Column("m", lambda r: r.m),
    Column("n", lambda r: r.n),
    Column("IFR", lambda r: r.ifr, cell),
    Column("of alone", lambda r: r.ratio, cell),
    Column("clean", lambda r: r.clean),
    Column("effic.", lambda r: r.efficacy, cell),
    Column("co-edits", lambda r: r.coedit_efficacy, cell, optional=3),
    Column("Pres., rest", lambda r: r.preservation_unedited, cell),
    Column("Pres.", lambda r: r.preservation, cell, optional=4),
    Column("subj.", lambda r: r.subject_retention, cell, optional=2),
    Column("co-subj.", lambda r: r.coedited_retention, cell, optional=2),
    Column("IFR random", lambda r: r.random_ifr, cell),
    Column("lower", lambda r: f"{r.lower} of {r.lower + r.higher}"),
    Column("p", lambda r: r.p, cell, optional=1),
]

NOTE = (
    "Medians over rewrites after m further facts. `of alone`: IFR relative to the edit alone;"
    " `clean`: rewrites with no chain above the leak; `Pres., rest`: over facts not edited;"
    " `co-subj.`: other facts about co-edited subjects; `lower`: rewrites whose IFR is below the"
    " mean of as many random facts, with a sign test."
)


def sweep_coedits(
    names: Sequence[str],
    options: dict[str, Any],
    further: bool,
    rounds: int,
    draws: int,
    anchors: bool | None,
    json: bool,
    output: Path | None,
) -> None:
    """Co-edit the rewrites by each method, and print the frontier.

    Raises:
        UsageError: options that a co-edit does not have.
    """
    from ...leakcut.coedit import sweep as sweeps

    models, methods, seeds = (options.pop(name) for name in ("model", "method", "seed"))
    if further or options.pop("overrides") or len(models or ()) > 1 or len(seeds or ()) > 1:
        raise UsageError(
            "--coedit takes one model and one seed, and no --matched, --axis, --kind or --set.",
            remedy="Run it once for each model or seed.",
        )
    edit = edit_options(options)
    chosen = _request(options, models, seeds, rounds, anchors)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        datasets.get_or_import(runtime.db, edit.graph)
        found = selection.rewrites(
            runtime.db, edit.graph, names, selection.OwnRewrite(), not names, "replace"
        )
        plan = sweeps.Plan(chosen, tuple(found), tuple(dict.fromkeys(methods or METHODS)), draws)
        done = sweeps.run(runtime, plan)
    if json:
        emit_json(done.model_dump(mode="json"), output)
    else:
        show(done)
    if any(each.error for each in done.cells):
        raise typer.Exit(2)


def _request(
    options: Mapping[str, Any],
    models: Sequence[str] | None,
    seeds: Sequence[int] | None,
    rounds: int,
    anchors: bool | None,
) -> CoEditIn:
    """Build the options that all co-edits of the sweep share.

    As the random controls may edit any fact on the chains, so may the chosen ones.
    """
    values = {name: value for name, value in options.items() if value is not None}
    values |= {"rounds": rounds, "anchors": anchors, "rewrite": "all", "choose": "budget"}
    if models:
        values["model"] = models[0]
    if seeds:
        values["seed"] = seeds[0]
    return CoEditIn.model_validate(values)


def show(done: CoEditSweep) -> None:
    """Print the frontier, and the results of the chosen rounds."""
    title = (
        f"Co-edits of {pluralize(done.rewrites, 'rewrite')} of {done.graph}, beside"
        f" {pluralize(done.draws, 'random draw')}"
    )
    emit_table(Table("frontier", title, FRONTIER, done.rows, NOTE))
    out = console()
    for each in done.chosen:
        out.print(_line(each), highlight=False, markup=False)
        for rewrite, why in each.missed.items():
            out.print(f"  {rewrite}: {why}", highlight=False, markup=False)
    for cell_ in done.cells:
        if cell_.error:
            typer.echo(f"failed: {cell_.method} on {cell_.rewrite}: {cell_.error}", err=True)


def _line(each: ChosenSummary) -> str:
    """Return the results of a method's chosen rounds in words."""
    reduction = "undefined" if each.reduction is None else f"{100 * each.reduction:.0f} %"
    clean = (
        "no rewrite got there"
        if each.facts_to_clean is None
        else f"{each.facts_to_clean:g} in the median of {each.n_clean}"
    )
    return (
        f"{each.method}: the chosen rounds lower IFR by {reduction} in the median of"
        f" {each.n_reduction}; {each.alone} of {each.n} leak nothing after the edit alone, for"
        f" {each.kept} further facts are edited, for {len(each.missed)} none is worth its cost."
        f" Further facts until no chain leaks: {clean}."
    )
