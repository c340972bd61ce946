"""`thinkeval score`: one rewrite or all of a data set, by one method or several.

The gate: does an edit stay within the limits a team has set? For use in their CI.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..base.errors import UsageError, in_one_line
from ..base.formatting import pluralize
from ..base.settings import Settings
from ..graphs import datasets
from ..graphs import requests as selection
from ..models.edit import EditOptions, Score
from ..reports import gate
from ..reports import implied as conclusions
from ..scoring import record, tasks
from ..scoring.request import ScoreRequest
from ..scoring.runtime import Runtime
from . import estimate
from .codes import ERROR, NEGATIVE, NOTHING
from .estimate import DryRun
from .operations import emit
from .options import (
    JsonFlag,
    MeasureName,
    MeasureOption,
    OutputOption,
    edit_options,
    require_taken,
    takes,
)
from .output import (
    ProgressBars,
    emit_command,
    emit_error,
    emit_json,
    emit_note,
    emit_rows,
    write_bytes,
)
from .render import show_each_table, show_means_table, show_method_table
from .show import AllMetrics, show_edit

if TYPE_CHECKING:
    from ...loaders.records import RewriteRequest


@takes("graph", "model", "method", ..., many=("method", "hparams"))
def score(
    rewrite: Annotated[
        list[str] | None,
        typer.Argument(
            help="Rewrite id, its beginning, or subject (see `thinkeval graph rewrites GRAPH`)."
        ),
    ] = None,
    all_rewrites: Annotated[
        bool, typer.Option("--all", help="Every rewrite of the graph.")
    ] = False,
    subject: Annotated[
        str | None, typer.Option(help="Subject of a rewrite that the graph does not have.")
    ] = None,
    relation: Annotated[str | None, typer.Option(help="Its relation in the graph.")] = None,
    prompt: Annotated[str | None, typer.Option(help="Its cloze, with {} for the subject.")] = None,
    target_true: Annotated[str | None, typer.Option(help="The object to edit out.")] = None,
    target_new: Annotated[str | None, typer.Option(help="The object to edit in.")] = None,
    forget: Annotated[
        list[str] | None,
        typer.Option(help='A fact of the graph to forget: "SUBJECT|RELATION|OBJECT"; repeatable.'),
    ] = None,
    measure: MeasureOption = MeasureName.likelihood,
    max_ifr: Annotated[
        float | None, typer.Option(help="Gate: exit 1 when IFR is above this.")
    ] = None,
    min_preservation: Annotated[
        float | None, typer.Option(help="Gate: exit 1 when Preservation is below this.")
    ] = None,
    min_subject_retention: Annotated[
        float | None,
        typer.Option(
            help="Gate: exit 1 when the retention of the subject's other facts is below this."
        ),
    ] = None,
    max_kl: Annotated[
        float | None,
        typer.Option(help="Gate: exit 1 when KL per token on the model's own texts is above this."),
    ] = None,
    gates: Annotated[
        list[str] | None,
        typer.Option(
            "--gate",
            help="Gate on any metric, or on an end of its 95 % interval: exit 1 unless"
            ' "efficacy>=.9", "ifr.high<=.3", "perplexity_ratio<=1.1"; repeatable.',
        ),
    ] = None,
    not_worse_than: Annotated[
        list[str] | None,
        typer.Option(
            help="Gate: exit 1 if the edit is worse than this stored edit of the same rewrite in"
            " efficacy, IFR, Preservation or subject retention; repeatable, with several rewrites"
            " paired over families."
        ),
    ] = None,
    margin: Annotated[
        float, typer.Option(min=0, help="With --not-worse-than: a difference that is not worse.")
    ] = gate.MARGIN,
    junit: Annotated[
        Path | None, typer.Option(help="Write the gates to this file as JUnit XML.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write the gates to this file as a comment in Markdown.")
    ] = None,
    dry_run: DryRun = False,
    all_metrics: AllMetrics = False,
    json: JsonFlag = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print one CSV row an edit.")] = False,
    output: OutputOption = None,
    **options: Any,
) -> None:
    """Edit a fact, and measure how much of the old one is left.

    [bold]thinkeval score harry-potter--studied-at -m rome[/bold] scores a rewrite of the graph that
    ships with ThinkEval; [bold]thinkeval score -g knowgic --all -m rome -m memit[/bold] fills a
    table. With --subject, --prompt (or --relation), --target-true and --target-new the rewrite is
    written out; [bold]--forget "Draco Malfoy|studied at|OBJECT" -m gradient_ascent[/bold] names a
    fact that no other shall replace.
    """
    if output is not None and not (json or csv):
        raise UsageError("-o writes --json or --csv, and neither is given.", remedy="Add one.")
    from ..scoring.hyperparameters import by_method

    limits = [
        gate.Limit(metric, sign, bound)
        for metric, sign, bound in (
            ("ifr", "<=", max_ifr),
            ("preservation", ">=", min_preservation),
            ("subject_retention", ">=", min_subject_retention),
            ("kl", "<=", max_kl),
        )
        if bound is not None
    ]
    limits += [gate.parse(text) for text in gates or ()]
    if (junit or markdown) and not (limits or not_worse_than):
        raise UsageError(
            "--junit and --markdown write gates, and none is given.",
            remedy='Add one, such as --gate "ifr<=.2".',
        )
    methods = options.pop("method") or [EditOptions.model_fields["method"].default]
    files = by_method(methods, options.pop("hparams") or [])
    edit = edit_options(options)
    require_taken(measure.key, edit.samples)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        datasets.get_or_import(runtime.db, edit.graph)
        own = selection.OwnRewrite(subject, relation, prompt, target_true, target_new)
        rewrites = [
            found
            for each in ([selection.to_forget(text) for text in forget] if forget else [own])
            for found in selection.rewrites(
                runtime.db, edit.graph, rewrite or [], each, all_rewrites
            )
        ]
        if any(limit.metric in ("ifr", "subject_retention") for limit in limits):
            _require_old_fact(rewrites)
        requests = requests_of(edit, methods, rewrites, files)
        if dry_run:
            estimate.dry_run(runtime, requests, json=json, output=output)
            return
        stored = [record.get_score(runtime.db, each) for each in not_worse_than or ()]
        scores, failed, skipped = score_all(runtime, requests)
        _emit(runtime, scores, measure, json, csv, output, edit.implications, all_metrics)
        checked = [each for score in scores for each in gate.check(score, limits, measure.key)]
        if stored and not (failed or skipped):
            pairs = gate.pairs_of(scores, stored)
            checked += gate.not_worse(runtime.db, pairs, measure.key, margin)
    broken = [each.line for each in checked if not each.met]
    if skipped and (limits or stored):
        broken.append("gate: what was not edited was not measured, so no limit was shown to hold")
    errors = [line for line in (*skipped, *failed) if ": " in line]
    for path, write in ((junit, gate.junit), (markdown, gate.markdown)):
        if path is not None:
            write_bytes(path, write(checked, errors), parents=True)
    for line in [*skipped, *failed, *broken]:
        emit_error(line)
    if failed or broken:
        raise typer.Exit(ERROR if failed else NEGATIVE)
    if not scores:
        raise typer.Exit(NOTHING)


def _require_old_fact(rewrites: Sequence[RewriteRequest]) -> None:
    """Refuse a gate on metrics that an appended answer does not have."""
    if any(rewrite.kind == "append" for rewrite in rewrites):
        raise UsageError(
            "An appended answer replaces no old fact, so it has no IFR and no subject retention.",
            remedy="Leave out --max-ifr, --min-subject-retention, and --gate on them.",
        )


def requests_of(
    edit: EditOptions,
    methods: Sequence[str],
    rewrites: Sequence[RewriteRequest],
    files: Mapping[str, str] | None = None,
) -> list[ScoreRequest]:
    """A request for each method and rewrite, in this order.

    Args:
        files: of hyperparameters, by method.

    Raises:
        UnknownMethodError: before a model is trained or loaded for nothing.
    """
    from ...editing import registry

    for name in methods:
        registry.info(name)
    given = files or {}
    return [
        ScoreRequest.of(rewrite, edit, method=name, hparams=given.get(name))
        for name in methods
        for rewrite in rewrites
    ]


def score_all(
    runtime: Runtime, requests: list[ScoreRequest]
) -> tuple[list[Score], list[str], list[str]]:
    """Score each request; return scores, a line for each that fails, and one for each skipped.

    A single request that fails raises. A request whose fact the model does not know is skipped.
    """
    from ...editing.errors import EditingError, UnknownFactError
    from ..scoring.resolved import require_hparams
    from ..scoring.score import score_edit

    require_hparams(runtime, requests)
    if requests:
        tasks.load(runtime, requests[0])  # a wrong name fails once, before a model is loaded
    scores: list[Score] = []
    failed: list[str] = []
    skipped: list[str] = []
    for done, request in enumerate(requests):
        if len(requests) > 1:
            runtime.progress(done, len(requests), "edits")
        try:
            scores.append(score_edit(runtime, request))
        except UnknownFactError as error:
            skipped.append(
                f"not edited: {request.method} on {request.rewrite.id}: {in_one_line(error)}"
            )
        except EditingError as error:
            if len(requests) == 1:
                raise
            failed.append(f"failed: {request.method} on {request.rewrite.id}: {in_one_line(error)}")
    if skipped and len(requests) > 1:
        skipped.append(f"{len(skipped)} of {pluralize(len(requests), 'edit')} not edited")
    return scores, failed, skipped


def _emit(
    runtime: Runtime,
    scores: list[Score],
    measure: MeasureName,
    json: bool,
    csv: bool,
    output: Path | None,
    implied: bool,
    all_metrics: bool,
) -> None:
    if json:
        from ..reports.verdict import with_verdict

        emit_json([with_verdict(runtime.db, s).model_dump() for s in scores], output)
    elif csv:
        from ..reports.formats import frame_table
        from ..reports.table import scores_frame

        table = frame_table(scores_frame(scores, measure.key))
        emit_rows(table, format="csv", output=output)
    elif any(score.kind == "append" for score in scores):
        for score in scores:
            show_edit(runtime.db, score, measure.key)
    elif len(scores) > 1 and all(score.kind == "forget" for score in scores):
        from ..reports import by_kind

        if found := by_kind.table_by_kind(scores, measure.key, runtime.db):
            show_means_table(found)
    elif len(scores) == 1:
        show_edit(runtime.db, scores[0], measure.key, all_metrics=all_metrics)
        if implied:
            emit(conclusions.of_edit(runtime.db, scores[0], measure.key))
    elif scores:
        from ..reports.comparison import compare
        from ..reports.verdict import best_method

        best = best_method(scores, measure.key)
        if len({score.rewrite for score in scores}) == 1:
            show_each_table(scores, measure.key)
            emit_note(f"Look at {best.score.method}: {best.why}", "bold")
        else:
            show_method_table(compare(runtime.db, scores, measure.key), measure.key)
            emit_note("One edit on a screen, with its chains and what to edit next:")
        emit_command(f"thinkeval show {best.score.edit}")
