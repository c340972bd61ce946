"""`thinkeval sweep`: all methods on all rewrites, one report; run again, it resumes.

`thinkeval sequence`: edits one after the other, scored after each and again at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..formatting import cell
from ..graphs import datasets, rewrites
from ..leakcut.schemas import CoEditIn
from ..reports.formats import Table, indexed
from ..schemas import MEASURE_NAMES, Measure
from ..scoring.request import method_override
from ..scoring.runtime import Runtime
from ..settings import Settings
from .leakcut.sweep import sweep_coedits
from .options import (
    MEASURED,
    JsonFlag,
    Kind,
    MeasureName,
    MeasureOption,
    OutputOption,
    edit_options,
    require_taken,
    takes,
)
from .output import emit_json, emit_table, require_json
from .progress import ProgressBars
from .results.sweep import show_sweep

if TYPE_CHECKING:
    from pathlib import Path

    from ...loaders.records import RewriteRequest
    from ..reports.sweep import SweepReport
    from ..rules.summary import SummaryOut
    from ..scoring.sequence import SequenceScore
    from ..scoring.sweep import Sweep

MATCHING = (0.25, 0.5, 0.75, 1.0)
"""Strengths that --matched scores each edit at."""


@takes(
    *MEASURED, "model", "method", "seed", "overrides", "covariance", "anyway",
    many=("model", "method", "seed"),
    defaults={"samples": 0},
    help={
        "model": "As `score` takes it; repeatable; default: organism.",
        "method": "Editing method; repeatable; default: all.",
        "seed": "Seed of organism, editing and sampling; repeatable.",
        "overrides": "One hyperparameter of one method, as METHOD.key=value.",
    },
)  # fmt: skip
def sweep(
    rewrite: Annotated[
        list[str] | None, typer.Argument(help="Rewrite ids or subjects; default: all of the graph.")
    ] = None,
    matched: Annotated[
        bool,
        typer.Option(
            "--matched",
            help="Also score each update at 1/4, 1/2 and 3/4 of its strength and compare methods"
            " at equal efficacy.",
        ),
    ] = False,
    measure: MeasureOption = MeasureName.likelihood,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes; default: one a core for small models on the CPU."),
    ] = None,
    coedit: Annotated[
        bool,
        typer.Option(
            "--coedit",
            help="Co-edit each rewrite round by round, beside random facts; default methods: memit"
            " and alphaedit.",
        ),
    ] = False,
    rounds: Annotated[
        int, typer.Option(min=1, max=20, help="Rounds of each co-edit at most.")
    ] = CoEditIn.model_fields["rounds"].default,
    draws: Annotated[int, typer.Option(min=0, help="Random controls of each co-edit.")] = 3,
    anchors: Annotated[
        bool | None,
        typer.Option("--anchors/--no-anchors", help=CoEditIn.model_fields["anchors"].description),
    ] = None,
    axis: Annotated[
        list[str] | None,
        typer.Option(
            help="Values that a method is scored with, each with each: an option of the request as"
            " NAME=VALUE,VALUE, or a hyperparameter as METHOD.key=VALUE,VALUE; repeatable."
        ),
    ] = None,
    kind: Annotated[
        Kind | None,
        typer.Option(help="Kind of the graph's requests; default: replace where it has some."),
    ] = None,
    json: JsonFlag = False,
    output: OutputOption = None,
    **options: Any,
) -> None:
    """Score all methods on all rewrites, and print one report.

    [bold]thinkeval sweep -g knowgic[/bold] runs every method on KnowGIC's 26 rewrites. What is
    stored already is not done again, so an interrupted sweep resumes where it stopped; a cell that
    fails is listed with its reason and the others are scored. [bold]--matched[/bold] compares
    methods at equal efficacy, [bold]--seed 0 --seed 1[/bold] shows which differences exceed the
    spread over seeds. [bold]thinkeval report[/bold] prints the table again. [bold]--coedit[/bold]
    shows how many further facts have to be edited until little of the old ones is left.
    [bold]--axis rome.v_lr=0.1,0.5[/bold] has a row for each value;
    [bold]--axis append_loss=none,app,all-answers[/bold] compares how appended answers keep others.
    """
    require_json(output, json)
    if coedit:
        further = matched or bool(axis) or kind not in (None, Kind.replaced)
        sweep_coedits(rewrite or [], options, further, rounds, draws, anchors, json, output)
        return
    from ...editing import registry
    from ..scoring import axes
    from ..scoring import sweep as sweeps
    from ..scoring.forget.refusal import methods_for

    models, methods, seeds = (options.pop(name) for name in ("model", "method", "seed"))
    overrides = _overrides(options.pop("overrides") or [])
    edit = edit_options(options)
    require_taken(measure.key, edit.samples)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        rewrites = tuple(_rewrites(runtime, edit.graph, rewrite or [], kind))
        every = methods_for(rewrites, registry.names())
        swept = sweeps.Sweep(
            options=edit,
            rewrites=rewrites,
            methods=tuple(dict.fromkeys(methods or every)),
            models=tuple(models or ["organism"]),
            seeds=tuple(dict.fromkeys(seeds or [0])),
            strengths=MATCHING if matched else (1.0,),
            overrides=overrides,
            axes=axes.read(axis or []),
        )
        found, implied = _run(runtime, swept, workers, measure.key)
    _print_sweep(found, implied, measure.key, json=json, output=output)
    if found.failed:
        raise typer.Exit(2)


def _run(
    runtime: Runtime, swept: Sweep, workers: int | None, measure: Measure
) -> tuple[SweepReport, list[SummaryOut] | None]:
    """The report of a sweep and, where they are requested, its implications by method."""
    from ..reports import sweep as sweep_report
    from ..reports.families import families
    from ..rules import groundings, summary
    from ..scoring import sweep_pool

    options = swept.options
    if options.implications:
        groundings.rules_for(runtime.db, options.graph)  # refused now, not by every cell
    outcomes = sweep_pool.run(runtime, swept, workers)
    scores = [each.score for each in outcomes if each.score is not None]
    found = sweep_report.report(outcomes, measure, families(runtime.db, scores))
    if not options.implications:
        return found, None
    return found, summary.by_method(runtime.db, found.scores, measure)


def _overrides(texts: Sequence[str]) -> dict[str, dict[str, object]]:
    """Hyperparameters by method, of `METHOD.key=value` texts."""
    overrides: dict[str, dict[str, object]] = {}
    for text in texts:
        name, key, value = method_override(text)
        overrides.setdefault(name, {})[key] = value
    return overrides


def _rewrites(
    runtime: Runtime, graph: str, names: Sequence[str], kind: Kind | None = None
) -> list[RewriteRequest]:
    """Return the rewrites that are named; all of the graph (and of a kind) where none is."""
    datasets.get_or_import(runtime.db, graph)
    of = kind.value if kind else None
    return rewrites.rewrites(runtime.db, graph, names, rewrites.OwnRewrite(), not names, of)


def _print_sweep(
    found: SweepReport,
    implied: Sequence[SummaryOut] | None,
    measure: Measure,
    *,
    json: bool,
    output: Path | None,
) -> None:
    from .render_rules import show_summaries

    if json:
        more = {} if implied is None else {"implications": [each.model_dump() for each in implied]}
        emit_json(found.as_dict() | more, output)
        return
    show_sweep(found, measure)
    several_models = len({each.model for each in implied or ()}) > 1
    show_summaries({
        f"{each.method} on {each.model}" if several_models else each.method: each
        for each in implied or ()
    })  # fmt: skip


@takes(
    "graph", "model", "method", "overrides", "samples", "dtype", "seed", "implications",
    defaults={"method": "alphaedit", "samples": 0},
)  # fmt: skip
def sequence(
    rewrite: Annotated[
        list[str] | None,
        typer.Argument(help="Rewrite ids or subjects, in order; default: all of the graph."),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Rewrites that are edited together.")] = 1,
    measure: MeasureOption = MeasureName.likelihood,
    json: JsonFlag = False,
    output: OutputOption = None,
    **options: Any,
) -> None:
    """Edit rewrites one after the other, and score each after its edit and again at the end.

    What later edits do to an earlier one is the difference between the two. A --batch of all
    rewrites edits them at once. Each score is stored like any other (`thinkeval chains EDIT`).
    With --implications, --json gives an object: `edits`, and `implications` after and at the end.
    """
    require_json(output, json)
    edit = edit_options(options)
    require_taken(measure.key, edit.samples)
    from ...editing import registry
    from ..rules import groundings
    from ..scoring import sequence as sequences
    from .render_rules import show_summaries

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        chosen = _rewrites(runtime, edit.graph, rewrite or [])
        registry.info(edit.method)  # unknown: refused before a model is loaded
        if edit.implications:
            groundings.rules_for(runtime.db, edit.graph)  # refused before anything is edited
        found = sequences.score_sequence(runtime, edit, chosen, batch)
        implied = _implied(runtime, found, measure.key) if edit.implications else {}
    if json:
        pairs = [{"after": s.after.model_dump(), "end": s.end.model_dump()} for s in found]
        summaries = {when: each.model_dump() for when, each in implied.items()}
        whole = {"edits": pairs, "implications": summaries}
        emit_json(whole if edit.implications else pairs, output)
    else:
        _show(found, measure.key, edit.method, batch)
        show_summaries(implied)


def _implied(
    runtime: Runtime, found: list[SequenceScore], measure: Measure
) -> dict[str, SummaryOut]:
    """Conclusions of rules for all edits, each after its own batch, and at the end."""
    from ..rules import summary

    return {
        when: each
        for when in ("after", "end")
        for each in summary.by_method(runtime.db, [getattr(s, when) for s in found], measure)
    }


def _show(found: list[SequenceScore], measure: Measure, method: str, batch: int) -> None:
    from ..reports.pooling import POOLED, pooled, terms

    rows = []
    for number, one in enumerate(found, 1):
        pairs = [
            (one.after.get(metric, measure), one.end.get(metric, measure)) for metric in POOLED
        ]
        rows.append(
            [number, one.after.rewrite[:48]]
            + [cell(v.value if v and v.n else None) for pair in pairs for v in pair]
        )
    after, end = (
        pooled(terms([getattr(one, when) for one in found], measure)) for when in ("after", "end")
    )
    means = [cell(v) for pair in zip(after, end, strict=True) for v in pair]
    rows.append(["", f"all {len(found)}", *means])
    names = {
        "efficacy": "effic.",
        "ifr": "IFR",
        "preservation": "Pres.",
        "subject_retention": "subj.",
        "ifr_beyond_subject": "IFR beyond",
    }
    columns = indexed("", "rewrite", *(f"{names[m]} {w}" for m in POOLED for w in ("after", "end")))
    few = len(columns) - 4  # a narrow terminal omits those of the subject's facts
    note = (
        "`after`: on the model with this and all earlier edits; `end`: with all of them. The"
        " last row pools: IFR over all chains, means of the others. `subj.`: retention of the"
        " subject's other facts; `IFR beyond`: IFR had they been kept."
    )
    title = f"{method} in sequence, {batch} at a time: {MEASURE_NAMES[measure]}"
    columns = [
        *columns[:few],
        *(replace(column, optional=1 + i // 2) for i, column in enumerate(columns[few:])),
    ]
    emit_table(Table("sequence", title, columns, rows, note))
