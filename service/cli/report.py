"""`thinkeval results chains`, `report`: tables and figures of stored scores; no model is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..base.errors import UsageError
from ..base.settings import Settings
from ..models.edit import AdditivityOptions, Measure, Score
from ..reports import checks, implied
from ..reports.formats import Table, frame_table, records, render
from ..reports.forms import by_method, tables_over_edits
from ..reports.table import PAPER
from ..reports.table import methods as methods_table
from ..scoring import record
from ..scoring.metrics import chain_rows
from ..scoring.runtime import Runtime
from .operations import emit
from .options import (
    FormatOption,
    JsonFlag,
    Kind,
    MeasureName,
    MeasureOption,
    OutputOption,
    request_of,
    takes,
)
from .output import (
    TABLE,
    ProgressBars,
    emit_json,
    emit_rows,
    emit_table,
    emit_text,
    notice,
    report_format,
    write_bytes,
)
from .render import (
    empty_columns,
    show_chains,
    show_each_table,
    show_leakage,
    show_means_table,
    show_method_table,
    show_paired,
    show_tables,
)

if TYPE_CHECKING:
    import pandas as pd

    from ..models.checks import MethodCheck
    from ..models.forms import MethodForm
    from ..reports.comparison import Comparison
    from ..reports.paired import Against
    from ..reports.pooling import MeansTable


class MetricName(StrEnum):
    """The metrics in which methods are paired."""

    efficacy = "efficacy"
    ifr = "ifr"
    preservation = "preservation"
    subject_retention = "subject_retention"
    ifr_beyond_subject = "ifr_beyond_subject"


class FigureFormat(StrEnum):
    """The file format of a figure."""

    png = "png"
    svg = "svg"
    pdf = "pdf"


def write_figures(
    runtime: Runtime,
    scores: Sequence[Score],
    compared: Comparison,
    named: Sequence[str],
    measure: Measure,
    folder: Path,
    formats: Sequence[str],
) -> list[Path]:
    """Draw the methods (of one named edit alone there is nothing to compare), and each named edit.

    Reports the written files on standard error.

    Args:
        compared: the scores that the methods are compared by.
    """
    from ..leakcut.request import marked
    from ..reports import figures, paired

    notes = paired.notes(compared, measure)
    methods = figures.METHODS_KINDS if len(scores) > 1 or not named else ()
    if not any(score.forms for score in scores):
        methods = tuple(kind for kind in methods if kind != "forms")
    edits = [(score, kind) for score in scores if named for kind in figures.EDIT_KINDS]
    whole, done = (len(methods) + len(edits)) * len(formats), 0
    written = []
    for fmt in dict.fromkeys(formats):
        for kind in methods:
            runtime.progress(done, whole, "figures")
            body = figures.draw_methods(
                compared.scores,
                kind,
                measure,
                fmt,
                families=compared.families,
                warnings=notes,
            )
            written.append(write_bytes(folder / f"{kind}.{fmt}", body, parents=True))
            done += 1
        for score, kind in edits:
            runtime.progress(done, whole, "figures")
            body = figures.draw_edit(
                runtime.db, score, kind, measure, fmt,
                marked=marked(runtime.db, score, measure) if kind == "leakage" else (),
            )  # fmt: skip
            written.append(write_bytes(folder / f"{kind}-{score.edit}.{fmt}", body, parents=True))
            done += 1
    return written


def chains(
    edit: Annotated[
        str, typer.Argument(help="Id of a scored edit (see `thinkeval results edits`).")
    ],
    surviving: Annotated[
        bool, typer.Option("--surviving", help="Only chains that still imply the old fact.")
    ] = False,
    steps: Annotated[
        int | None, typer.Option(min=1, max=5, help="Only chains of this many facts.")
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="Show at most so many; 0 shows all.")] = 20,
    measure: MeasureOption = MeasureName.likelihood,
    json: JsonFlag = False,
) -> None:
    """Show the chains from subject to old object, with p_pre → p_post and retention a link.

    Retention is p_post / p_pre. Surviving chains come first, then those of the largest part of IFR.
    Below them: the facts that carry most surviving chains, where an additional edit has most
    effect.

    Where the graph has rules ([bold]thinkeval graph rules[/bold]): whether the old object is
    recovered by chains, by rules or by both, and which conclusions the edit should have changed.
    [bold]thinkeval results implications[/bold] also lists the chains over such conclusions.
    """
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        score = record.get_score(runtime.db, edit)
        if json:
            rows = chain_rows(runtime.db, score, measure.key, surviving=surviving, steps=steps)
            emit_json([asdict(r) for r in (rows[:limit] if limit else rows)])
            return
        show_chains(runtime.db, score, measure.key, surviving=surviving, steps=steps, limit=limit)
        show_leakage(runtime.db, score, measure.key)
        emit(implied.of_edit(runtime.db, score, measure.key, limit))


@takes(*AdditivityOptions.model_fields, of=AdditivityOptions)
def report(
    edit: Annotated[
        list[str] | None,
        typer.Argument(
            help="Edits to report on; default: the newest of each model, method and rewrite."
        ),
    ] = None,
    graph: Annotated[str | None, typer.Option("--graph", "-g", help="Only of this graph.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Only of this model.")] = None,
    format: FormatOption = None,
    kind: Annotated[
        Kind,
        typer.Option(
            help="Kind of the requests: replace, forget (no new object), or append (a further"
            " answer)."
        ),
    ] = Kind.replaced,
    paired: Annotated[
        bool,
        typer.Option(
            "--paired", help="Of appended answers: each variant against its bare method instead."
        ),
    ] = False,
    each: Annotated[
        bool, typer.Option("--each", help="One row an edit instead of one a method.")
    ] = False,
    all_rewrites: Annotated[
        bool,
        typer.Option(
            "--all-rewrites",
            help="Each row over its own rewrites, not over those that all rows have.",
        ),
    ] = False,
    protocol: Annotated[
        bool, typer.Option("--protocol", help="Print the rules of the numbers below the table.")
    ] = False,
    measure: MeasureOption = MeasureName.likelihood,
    metric: Annotated[
        list[MetricName] | None,
        typer.Option(
            help="Metric by which methods are paired; repeatable. Default: all, and p is adjusted"
            " for them."
        ),
    ] = None,
    output: OutputOption = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            help="Draw into this folder: IFR by steps, IFR against Preservation, and the forms of"
            " asking of all edits; of edits named, the leakage map and the first surviving chain;"
            " of appended answers, PEAK's figures."
        ),
    ] = None,
    figure_format: Annotated[
        list[FigureFormat] | None,
        typer.Option("--figure-format", help="Format of the figures; repeatable. Default: png."),
    ] = None,
    json: JsonFlag = False,
    **options: Any,
) -> None:
    """Compare methods over several edits in one table.

    One row a method: first those that took and kept the model, lowest IFR first; then those that
    broke it; last those that did not take.

    Read IFR beside efficacy and subject retention: an edit that installs nothing leaks everything
    and preserves everything; one that changes all facts about the subject leaks little. Methods are
    compared over the rewrites that all of them have; --all-rewrites shows each over its own. The
    best method is compared with each other one by paired differences over common rewrites (with
    --json in each row's `differences`). Edits of different data sets are never pooled: name one
    with --graph where several are stored. Requests to forget have a table of their own,
    --kind forget, and so have appended answers, --kind append: ES, GS, LS, AFF and ANF in percent,
    a row for each way to keep the other answers (AFF, ANF: 0 is undisturbed).

    [bold]thinkeval report -g hogwarts --figures figures --figure-format pdf[/bold] draws the
    methods; [bold]thinkeval report EDIT --figures figures[/bold] shows how that edit leaks. Of
    edits that are named, the report also says what the graph's rules conclude from them.
    """
    from ..reports import append_figures, by_kind
    from ..reports import by_kind as appended
    from ..reports.comparison import compare, families
    from ..scoring.append import measured_again

    read_again = request_of(AdditivityOptions, options)
    formats = [each.value for each in figure_format or [FigureFormat.png]]
    if paired and each:
        raise UsageError("--paired is a table by variant, not by edit.", remedy="Omit --each.")
    if figure_format and figures is None:
        raise UsageError("--figure-format is for --figures, which is not given.", remedy="Add it.")
    format = report_format(format, json, output)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        notes: list[str] = []
        scores = record.scores(
            runtime.db, edit or [], graph=graph, model=model, kind=kind.value, notes=notes
        )
        kinds = {score.kind for score in scores} or {kind.value}
        if kinds == {"append"}:
            scores = measured_again(runtime.db, scores, read_again)
        elif paired or read_again != AdditivityOptions():
            raise UsageError(
                "--paired, --strict, --published, --es-over, --ls-over are for appended answers.",
                remedy="Add --kind append, or leave them out.",
            )
        if each or kinds != {"replace"}:
            for note in notes:
                notice(note)
        means = None
        if not each:
            means = by_kind.table_by_kind(
                scores, measure.key, runtime.db, kind=kind.value, all_requests=all_rewrites
            )
        if means is not None:
            if figures is not None and any(score.append for score in scores):
                for fmt in formats:
                    for name, body in append_figures.draw(runtime.db, scores, means, fmt).items():
                        write_bytes(figures / f"append-{name}.{fmt}", body, parents=True)
            shown = appended.paired(means, as_text=format in AS_TEXT) if paired else None
            over = checks.of_means(scores, means)
            found_families = families(runtime.db, over) if over else {}
            asked = checks.tables_over_edits(runtime.db, over, found_families)
            rows = checks.by_pair(runtime.db, over, found_families) if format == "json" else {}
            _means(means, format, output, shown, asked, rows, protocol=protocol)
            return
        chosen = "all" if all_rewrites else "common"
        # A comparison reads the chains of every rewrite, which one row an edit does not need.
        methods = not each or figures is not None
        found = compare(runtime.db, scores, measure.key, chosen, notes) if methods else None
        pairs = paired_by(found, measure.key, [each.value for each in metric or ()])
        if each or found is None:
            frame, caption = _each(scores, measure.key)
        else:
            columns = PAPER if format == "latex" else None
            frame, caption = _by_method(found, measure.key, pairs, columns)
            if format == "json":
                frame = frame.assign(
                    differences=_paired(frame, pairs),
                    forms=_by_row(frame, by_method(found.scores, found.families)[0]),
                    checks=_by_row(frame, _checks(runtime, found)),
                )
        if format == "markdown":
            frame = frame.drop(columns=empty_columns(frame))
        implied = ""
        if edit and format in ("markdown", TABLE):
            from ..rules.implications import implied_lines

            implied = implied_lines(runtime.db, scores, measure.key)
        further = _further(runtime, found) if found is not None and not each else []
        if figures is not None and found is not None:
            write_figures(runtime, scores, found, edit or [], measure.key, figures, formats)
    if format == TABLE:
        if each or found is None:
            show_each_table(scores, measure.key, protocol=protocol)
        else:
            show_method_table(found, measure.key, protocol=protocol)
            show_paired(pairs, protocol=protocol)
            show_tables(further, protocol=protocol)
        if implied:
            emit_text(implied, None)
        return
    if found is not None and not each and format not in ("markdown", "latex", "parquet"):
        for warning in found.warnings:
            notice(warning)
    if format == "markdown":
        caption += _rendered(further, format)
    caption += f"\n\n{implied}" * bool(implied)
    shaped = frame_table if each else methods_table
    emit_rows(shaped(frame, caption), format=format, output=output)


AS_TEXT = (TABLE, "markdown", "latex")
"""The formats whose cells are texts: a mean with its interval."""


def _checks(runtime: Runtime, found: Comparison) -> list[MethodCheck]:
    """The questions of data sets over the edits of each method."""
    return checks.by_method(runtime.db, found.scores, found.families)


def _further(runtime: Runtime, found: Comparison) -> list[Table[Any]]:
    """The tables below that of the methods: forms, and the questions of data sets."""
    asked = checks.tables_over_edits(runtime.db, found.scores, found.families)
    return [*tables_over_edits(found.scores, found.families), *asked]


def _rendered(tables: Iterable[Table[Any]], format: str) -> str:
    return "".join(f"\n\n{each.title}\n\n{render(each, format)}" for each in tables)


def _means(
    found: MeansTable,
    format: str,
    output: Path | None,
    differences: Table[Any] | None,
    asked: Sequence[Table[Any]],
    rows: Mapping[tuple[str, str], Mapping[str, Any]],
    *,
    protocol: bool,
) -> None:
    """Print the table of requests to append or to forget, or differences instead, in any format.

    Args:
        asked: the questions of data sets, which follow in the terminal and in Markdown.
        rows: likewise in JSON, by model and method.
    """
    if format == TABLE:
        if differences is None:
            show_means_table(found, protocol=protocol)
        else:
            emit_table(differences)
        show_tables(asked, protocol=protocol)
        return
    if format == "markdown":
        found = replace(found, rules=found.rules + _rendered(asked, format))
    if differences is not None:
        table = replace(differences, note=found.caption)
    elif format in AS_TEXT:
        table = Table("means", found.title, found.columns, found.rows, found.caption)
    else:
        table = frame_table(found.frame(), found.caption)
    value = [row | dict(rows.get((row["Model"], row["Method"]), {})) for row in records(table)]
    emit_rows(table, value=value, format=format, output=output)


def _each(scores: Sequence[Score], measure: Measure) -> tuple[pd.DataFrame, str]:
    """The table of one row an edit, and its caption."""
    from ..reports import table

    return table.scores_frame(scores, measure), table.caption_each(scores, measure)


def paired_by(
    found: Comparison | None, measure: Measure, metrics: Sequence[str] = ()
) -> list[Against]:
    """The paired differences of a comparison in some metrics; default: in all."""
    from ..reports import paired  # numpy; not for `--help`

    if found is None:
        return []
    return paired.paired(found, measure, metrics=metrics or paired.POOLED)


def _by_method(
    found: Comparison,
    measure: Measure,
    pairs: Sequence[Against],
    columns: Iterable[str] | None = None,
) -> tuple[pd.DataFrame, str]:
    """The table of one row a method, and its caption with the warnings before it."""
    from ..reports import paired, table

    frame = table.method_table(found.scores, measure, found.families)
    frame = table.by_rank(frame, found.scores, measure, ranked=found.comparable)
    caption = table.caption(found.scores, measure, columns, found.families)
    best = paired.sentences(pairs)
    last = table.unranked(found.scores, measure) if found.comparable else ""
    return frame, " ".join([*found.warnings, *best, *([last] if last else []), caption])


def _paired(frame: pd.DataFrame, pairs: Sequence[Against]) -> list[Any]:
    """Of each row, the list of paired differences to the best method of its model.

    A column of lists, which the types of pandas do not know.
    """
    from ..reports import paired

    rows = zip(frame["Model"], frame["Method"], strict=True)
    return paired.by_row(rows, pairs)


def _by_row(frame: pd.DataFrame, found: Iterable[MethodForm | MethodCheck]) -> list[Any]:
    """Of each row, the list of its forms or checks, empty where none were asked."""
    rows = list(found)
    return [
        [row.model_dump() for row in rows if (row.model, row.method) == pair]
        for pair in zip(frame["Model"], frame["Method"], strict=True)
    ]
