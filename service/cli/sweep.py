"""`thinkeval sweep` and `lab sequence`: all methods on all rewrites, one report; it resumes."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..base.errors import UsageError
from ..base.formatting import cell, interval, number, pluralize, short, signed
from ..base.settings import Settings
from ..experiments.sweep import SWEEP, SweepStore
from ..graphs import datasets, requests
from ..graphs import requests as selection
from ..models.edit import MEASURE_NAMES, EditOptions, Measure
from ..models.experiment import SweepIn
from ..models.leakcut import CoEditIn
from ..reports import checks
from ..reports.formats import Column, Table, indexed
from ..scoring.request import method_override
from ..scoring.runtime import Runtime
from . import estimate
from .codes import ERROR, NOTHING
from .estimate import DryRun
from .experiments import request_of_file
from .options import (
    MEASURED,
    EngineOption,
    JsonFlag,
    Kind,
    MeasureName,
    MeasureOption,
    OutputOption,
    RayAddressOption,
    edit_options,
    given,
    require_taken,
    takes,
)
from .output import (
    ProgressBars,
    emit_command,
    emit_error,
    emit_json,
    emit_note,
    emit_table,
    more_below,
    require_json,
)
from .render import show_forms, show_means_table, show_method_table, show_tables

if TYPE_CHECKING:
    from ...loaders.records import RewriteRequest
    from ..leakcut.coedit_sweep import ChosenSummary, CoEditSweep, FrontierRow
    from ..models.checks import MethodCheck
    from ..reports.paired import Difference, Matched
    from ..reports.sweep import SweepReport
    from ..rules.implications import SummaryOut
    from ..scoring.sweep import Outcome, SequenceScore, Sweep


SKIPPED = 10
"""Skipped cells that are printed."""

FAILED: list[Column[Outcome]] = [
    Column("cell", lambda outcome: outcome.cell.name, whole=True),
    Column("reason", lambda outcome: outcome.error),
]
MATCHED: list[Column[Matched]] = [
    Column("method", lambda row: row.method),
    Column("efficacy", lambda row: row.efficacy),
    Column("IFR", lambda row: row.ifr),
    Column("95 % over families", lambda row: row.ifr_interval, interval),
    Column("Preservation", lambda row: row.preservation),
    Column("subject retention", lambda row: row.subject_retention, optional=1),
    Column("IFR beyond subject", lambda row: row.ifr_beyond_subject, optional=1),
    Column("rewrites", lambda row: row.n),
    Column("families", lambda row: row.n_families, optional=2),
]


def _level(efficacy: float | None) -> str:
    return number(efficacy, "as it is")


DIFFERENCES: list[Column[Difference]] = [
    Column("methods", lambda row: f"{row.first} − {row.second}"),
    Column("metric", lambda row: row.metric),
    Column("at efficacy", lambda row: row.efficacy, _level),
    Column("difference", lambda row: row.value, signed),
    Column("95 % over families", lambda row: row.interval, interval),
    Column("p adjusted", lambda row: row.p_adjusted, short),
    Column("sd over seeds", lambda row: row.spread),
]


def show_sweep(report: SweepReport, measure: Measure) -> None:
    """The table, methods at equal efficacy, differences that count, failed cells."""
    if report.means is not None:
        show_means_table(report.means)
    elif report.scores:
        show_method_table(report.comparison, measure)
        show_forms(report.comparison)
    show_tables([checks.methods_table(report.checks)])
    _show_matched(report)
    for model, rows in report.differences.items():
        _show_differences(model, rows)
    if report.failed:
        title = f"{pluralize(len(report.failed), 'cell')} failed"
        emit_table(Table("failed", title, FAILED, report.failed))
    if report.skipped:
        note = more_below(len(report.skipped), SKIPPED)
        title = (
            f"{pluralize(len(report.skipped), 'cell')} skipped: the model does not know the fact"
            " (--anyway edits it)"
        )
        emit_table(Table("skipped", title, FAILED, report.skipped[:SKIPPED], note))


def _show_matched(report: SweepReport) -> None:
    for (model, seed), rows in report.matched.items():
        if not rows:
            continue
        note = (
            "Updates were also applied at a quarter, half and three quarters of their size;"
            " the values are interpolated at the mean efficacy of the row, over the rewrites that"
            " all methods have. The interval is over families of rewrites that share chain facts."
            " A dash: the method never reaches that efficacy."
        )
        title = f"At equal efficacy: {model}, seed {seed}"
        emit_table(Table("matched", title, MATCHED, rows, note))


def _show_differences(model: str, rows: list[Difference]) -> None:
    """Differences that exceed chance, and the number of comparisons.

    Where methods were compared at equal efficacy, only that: as they are they differ in strength.
    """
    if any(row.efficacy is not None for row in rows):
        rows = [row for row in rows if row.efficacy is not None]
    counted = [row for row in rows if row.beyond_rewrites and row.beyond_seeds is not False]
    if not rows:
        return
    seeds = rows[0].seeds
    over_seeds = (
        f" and exceed twice their standard deviation over {seeds} seeds"
        if seeds > 1
        else "; of one seed, so without the spread over seeds"
    )
    if not counted:
        emit_note(
            f"{model}: none of {pluralize(len(rows), 'difference')} between methods has an adjusted"
            f" p below .05{over_seeds}."
        )
        return
    note = (
        f"{len(counted)} of {pluralize(len(rows), 'difference')} between methods of efficacy above"
        " .5: adjusted p below .05 (exchange of the two methods by families of rewrites; Holm over"
        f" the comparisons at one efficacy){over_seeds}."
    )
    title = f"Differences that exceed chance: {model}"
    emit_table(Table("differences", title, DIFFERENCES, counted, note))


# `thinkeval sweep --coedit`: the frontier of many rewrites beside random controls.

METHODS = ("memit", "alphaedit")

FRONTIER: list[Column[FrontierRow]] = [
    Column("method", lambda r: r.method),
    Column("m", lambda r: r.m),
    Column("n", lambda r: r.n),
    Column("IFR", lambda r: r.ifr, cell),
    Column("of alone", lambda r: r.ratio, cell),
    Column("clean", lambda r: r.clean),
    Column("Efficacy", lambda r: r.efficacy, cell),
    Column("co-edits", lambda r: r.coedit_efficacy, cell, optional=3),
    Column("Preservation of the rest", lambda r: r.preservation_unedited, cell),
    Column("Preservation", lambda r: r.preservation, cell, optional=4),
    Column("Subject retention", lambda r: r.subject_retention, cell, optional=2),
    Column("Co-edited subjects", lambda r: r.coedited_retention, cell, optional=2),
    Column("IFR random", lambda r: r.random_ifr, cell),
    Column("lower", lambda r: f"{r.lower} of {r.lower + r.higher}"),
    Column("p", lambda r: r.p, cell, optional=1),
]

NOTE = (
    "Medians over rewrites after m further facts. `of alone`: IFR relative to the edit alone;"
    " `clean`: rewrites with no chain above the leak; `Preservation of the rest`: over facts not"
    " edited; `Co-edited subjects`: other facts about them; `lower`: rewrites whose IFR is below"
    " the mean of as many random facts, with a sign test."
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
    from ..leakcut import coedit_sweep as sweeps

    models, methods, seeds = (options.pop(name) for name in ("model", "method", "seed"))
    if (
        further
        or options.pop("hparams")
        or options.pop("overrides")
        or len(models or ()) > 1
        or len(seeds or ()) > 1
    ):
        raise UsageError(
            "--coedit takes one model and one seed, and no --matched, --axis, --kind, --hparams or"
            " --set.",
            remedy="Run it once for each model or seed.",
        )
    edit = edit_options(options)
    chosen = _request(options, models, seeds, rounds, anchors)
    with ProgressBars(lines=True) as progress, Runtime(Settings(), progress) as runtime:
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
        raise typer.Exit(ERROR)


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
    for each in done.chosen:
        emit_note(_line(each))
        for rewrite, why in each.missed.items():
            emit_note(f"{rewrite}: {why}", indent=2)
    for cell_ in done.cells:
        if cell_.error:
            emit_error(f"failed: {cell_.method} on {cell_.rewrite}: {cell_.error}")


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


MATCHING = (0.25, 0.5, 0.75, 1.0)
"""Strengths that --matched scores each edit at."""


@takes(
    *MEASURED, "model", "method", "seed", "hparams", "overrides", "covariance", "anyway",
    "side_effects", "drift_facts",
    many=("model", "method", "seed", "hparams"),
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
        list[str] | None,
        typer.Argument(
            help="Rewrite ids or subjects; default: all of the graph. Or one YAML file: a sweep."
        ),
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
        typer.Option(
            min=1,
            help="Processes; default: one a core for small models on the CPU; all that a Ray"
            " cluster has room for.",
        ),
    ] = None,
    engine: EngineOption = None,
    ray_address: RayAddressOption = None,
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
    dry_run: DryRun = False,
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
    A file [bold]run.yaml[/bold] in place of the rewrites has the whole request (`graph`, `methods`,
    `rewrites`, `models`, `seeds` and options, as REST takes them), and the sweep is stored:
    `thinkeval results sweeps ID --export run.yaml` writes that file.
    [bold]--axis rome.v_lr=0.1,0.5[/bold] has a row for each value;
    [bold]--axis append_loss=none,app,all-answers[/bold] compares how appended answers keep others.
    """
    require_json(output, json)
    posted = None
    if rewrite and Path(rewrite[0]).suffix in YAML:
        others = (matched, coedit, anchors, kind, *(axis or ()), *rewrite[1:])
        posted = _of_file(Path(rewrite[0]), [*others, *_changed(options)])
    if coedit and dry_run:
        raise UsageError(
            "--dry-run has no estimate of --coedit: its rounds depend on what leaks.",
            remedy="Leave one of them out.",
        )
    if coedit:
        further = matched or bool(axis) or kind not in (None, Kind.replaced)
        sweep_coedits(rewrite or [], options, further, rounds, draws, anchors, json, output)
        return
    from ...editing import registry
    from ..scoring import sweep
    from ..scoring import sweep as sweeps
    from ..scoring.forget import methods_for
    from ..scoring.hyperparameters import by_method

    models, methods, seeds = (options.pop(name) for name in ("model", "method", "seed"))
    named = options.pop("hparams") or []
    overrides = _overrides(options.pop("overrides") or [])
    edit = edit_options(options)
    if posted is not None:
        shared = posted.model_dump(exclude={"rewrites", "models", "methods", "seeds"})
        edit = EditOptions(**shared)
        rewrite, models = posted.rewrites, posted.models
        methods, seeds = posted.methods, posted.seeds
    require_taken(measure.key, edit.samples)
    settings = Settings(**given(engine=engine, ray_address=ray_address))
    with ProgressBars(lines=True) as progress, Runtime(settings, progress) as runtime:
        rewrites = tuple(_rewrites(runtime, edit.graph, rewrite or [], kind))
        chosen = tuple(dict.fromkeys(methods or methods_for(rewrites, registry.names())))
        swept = sweeps.Sweep(
            options=edit,
            rewrites=rewrites,
            methods=chosen,
            models=tuple(models or ["organism"]),
            seeds=tuple(dict.fromkeys(seeds or [0])),
            strengths=MATCHING if matched else (1.0,),
            overrides=overrides,
            axes=sweep.read(axis or []),
            hparams=by_method(chosen, named),
        )
        if dry_run:
            cells = itertools.chain.from_iterable(sweep.tasks(swept))
            requests = [sweep.request_of(swept, cell) for cell in cells]
            estimate.dry_run(runtime, requests, json=json, output=output)
            return
        found, implied = _run(runtime, swept, workers, measure.key)
        id = None
        if posted is not None:
            done = [score.edit for score in found.scores]
            id = SWEEP.prepare(runtime.db, runtime.settings, posted).id
            SweepStore(SWEEP).record(runtime.db, id, posted, done)
    _print_sweep(found, implied, measure.key, json=json, output=output, id=id)
    if found.failed or not found.scores:
        raise typer.Exit(ERROR if found.failed else NOTHING)


YAML = (".yaml", ".yml")
"""Endings of a file that is a whole sweep."""


def _changed(options: Mapping[str, Any]) -> list[str]:
    """The options that are not at their default."""
    parameters = inspect.signature(sweep).parameters
    return [name for name, value in options.items() if value != parameters[name].default]


def _of_file(path: Path, others: Sequence[object]) -> SweepIn:
    """Read a sweep from a YAML file.

    Raises:
        UsageError: no such file, no such key, a value out of range, or further options.
    """
    if any(others):
        raise UsageError(
            f"{path} has the whole sweep, so rewrites and its options cannot be given beside it.",
            remedy="Write them into the file; --workers, --engine, --measure, --json and -o may"
            " stay.",
        )
    return request_of_file(SWEEP, path)


def _run(
    runtime: Runtime, swept: Sweep, workers: int | None, measure: Measure
) -> tuple[SweepReport, list[SummaryOut] | None]:
    """The report of a sweep and, where they are requested, its implications by method."""
    from ..engines import sweep
    from ..reports import sweep as sweep_report
    from ..reports.comparison import families
    from ..rules import groundings, implications

    options = swept.options
    if options.implications:
        groundings.rules_for(runtime.db, options.graph)  # refused now, not by every cell
    outcomes = sweep.run(runtime, swept, workers)
    scores = [each.score for each in outcomes if each.score is not None]
    found = sweep_report.report(outcomes, measure, families(runtime.db, scores))
    used = checks.of_means(found.scores, found.means) if found.means else found.comparison.scores
    asked = checks.by_method(runtime.db, used, found.comparison.families)
    found = replace(found, checks=asked)
    if not options.implications:
        return found, None
    return found, implications.by_method(runtime.db, found.scores, measure)


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
    return requests.rewrites(runtime.db, graph, names, requests.OwnRewrite(), not names, of)


def _print_sweep(
    found: SweepReport,
    implied: Sequence[SummaryOut] | None,
    measure: Measure,
    *,
    json: bool,
    output: Path | None,
    id: str | None = None,
) -> None:
    from ..reports import graph_tables

    if json:
        more: dict[str, Any]
        more = {} if implied is None else {"implications": [each.model_dump() for each in implied]}
        if id is not None:
            more["sweep"] = id
        emit_json(found.as_dict() | more, output)
        return
    show_sweep(found, measure)
    if id is not None:
        emit_note(f"Stored as {id}:")
        emit_command(f"thinkeval results sweeps {id}")
    several_models = len({each.model for each in implied or ()}) > 1
    rows = {
        f"{each.method} on {each.model}" if several_models else each.method: each
        for each in implied or ()
    }
    if rows:
        emit_table(graph_tables.table(rows))


@takes(
    "graph", "model", "method", "hparams", "overrides", "samples", "dtype", "seed", "implications",
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
    rewrites edits them at once. Each score is stored like any other (`thinkeval results chains
    EDIT`). With --implications, --json gives an object: `edits`, and `implications` after and at
    the end.
    """
    require_json(output, json)
    edit = edit_options(options)
    require_taken(measure.key, edit.samples)
    from ...editing import registry
    from ..reports import graph_tables
    from ..rules import groundings
    from ..scoring import sweep as sequences

    with ProgressBars(lines=True) as progress, Runtime(Settings(), progress) as runtime:
        chosen = _rewrites(runtime, edit.graph, rewrite or [])
        registry.info(edit.method)  # unknown: refused before a model is loaded
        if edit.implications:
            groundings.rules_for(runtime.db, edit.graph)  # refused before anything is edited
        found = sequences.score_sequence(runtime, edit, chosen, batch)
        implied = _implied(runtime, found, measure.key) if edit.implications else {}
        asked = _checked(runtime, found)
    if json:
        pairs = [{"after": s.after.model_dump(), "end": s.end.model_dump()} for s in found]
        summaries = {when: each.model_dump() for when, each in implied.items()}
        whole = {"edits": pairs, "implications": summaries}
        emit_json(whole if edit.implications else pairs, output)
    else:
        _show(found, measure.key, edit.method, batch)
        show_tables([checks.methods_table(asked)])
        if implied:
            emit_table(graph_tables.table(implied))


def _implied(
    runtime: Runtime, found: list[SequenceScore], measure: Measure
) -> dict[str, SummaryOut]:
    """Conclusions of rules for all edits, each after its own batch, and at the end."""
    from ..rules import implications

    return {
        when: each
        for when in ("after", "end")
        for each in implications.by_method(runtime.db, [getattr(s, when) for s in found], measure)
    }


def _checked(runtime: Runtime, found: list[SequenceScore]) -> list[MethodCheck]:
    """The questions of the data set over all edits, each after its own batch, and at the end."""
    named = [
        getattr(each, when).model_copy(update={"method": when})
        for when in ("after", "end")
        for each in found
    ]
    return checks.by_method(runtime.db, named)


def _show(found: list[SequenceScore], measure: Measure, method: str, batch: int) -> None:
    from ..reports.pooling import POOLED, pooled, terms

    rows = []
    for position, one in enumerate(found, 1):
        pairs = [
            (one.after.get(metric, measure), one.end.get(metric, measure)) for metric in POOLED
        ]
        rows.append(
            [position, one.after.rewrite[:48]]
            + [cell(v.value if v and v.n else None) for pair in pairs for v in pair]
        )
    after, end = (
        pooled(terms([getattr(one, when) for one in found], measure)) for when in ("after", "end")
    )
    means = [cell(v) for pair in zip(after, end, strict=True) for v in pair]
    rows.append(["", f"all {len(found)}", *means])
    names = {
        "efficacy": "Efficacy",
        "ifr": "IFR",
        "preservation": "Preservation",
        "subject_retention": "Subject retention",
        "ifr_beyond_subject": "IFR beyond",
    }
    columns = indexed("", "rewrite", *(f"{names[m]} {w}" for m in POOLED for w in ("after", "end")))
    few = len(columns) - 4  # a narrow terminal omits those of the subject's facts
    note = (
        "`after`: on the model with this and all earlier edits; `end`: with all of them. The"
        " last row pools: IFR over all chains, means of the others. `Subject retention`: of"
        " its other facts; `IFR beyond`: IFR had they been kept."
    )
    title = f"{method} in sequence, {batch} at a time: {MEASURE_NAMES[measure]}"
    columns = [
        *columns[:few],
        *(replace(column, optional=1 + i // 2) for i, column in enumerate(columns[few:])),
    ]
    emit_table(Table("sequence", title, columns, rows, note))
