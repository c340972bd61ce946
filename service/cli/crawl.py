"""`thinkeval graph crawl`: a model's knowledge around an entity, as a graph; and its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ..base.formatting import pluralize
from ..base.settings import Settings
from ..growth.kind import GROWTH
from ..growth.schemas import (
    AgainstTruth,
    CalibrationBin,
    CrawlOptions,
    CrawlReport,
    DepthRow,
    EndpointIn,
    GrowthIn,
    LevelRow,
    RelationRow,
    Retrieval,
)
from ..reports.formats import Column, Table
from ..scoring.runtime import Runtime
from .options import GroupWithDefault, JsonFlag, ModelOption, request_of, takes
from .output import ProgressBars, emit_command, emit_json, emit_note, emit_table, emit_values

LEVELS: list[Column[LevelRow]] = [
    Column("level", lambda row: row.depth),
    Column("entities", lambda row: row.entities),
    Column("questions", lambda row: row.questions),
    Column("unknown", lambda row: row.unknown),
    Column("refused", lambda row: row.refused, optional=1),
    Column("facts", lambda row: row.facts),
    Column("new entities", lambda row: row.new),
]

Named = tuple[str | int, Retrieval]


def _columns(first: str) -> list[Column[Named]]:
    return [
        Column(first, lambda row: row[0]),
        Column("true", lambda row: row[1].true),
        Column("found", lambda row: row[1].found),
        Column("right", lambda row: row[1].right),
        Column("precision", lambda row: row[1].precision),
        Column("of them recalled", lambda row: row[1].recalled),
        Column("recall", lambda row: row[1].recall),
        Column("F1", lambda row: row[1].f1),
    ]


BINS: list[Column[CalibrationBin]] = [
    Column("fraction of answers", lambda row: f"{row.low:.1f} to {row.high:.1f}"),
    Column("objects", lambda row: row.n),
    Column("mean fraction", lambda row: row.share),
    Column("true", lambda row: row.right),
]


def show_report(report: CrawlReport, *, details: bool = False) -> None:
    """Print a crawl's report.

    Args:
        details: calibration, and the figures by relation and by depth as well.
    """
    emit_table(Table("levels", f"Levels of {report.run}", LEVELS, report.levels))
    emit_values(
        f"Crawl of {report.model} from {', '.join(report.start)}",
        [
            ("graph stored as", report.graph if report.facts else "none: no fact was found"),
            ("facts", report.facts),
            ("unknown pairs", report.unknown),
            ("entities", report.entities),
            ("questions", report.questions),
            ("answers", report.answers),
            ("seconds", round(report.seconds, 1)),
            ("stopped", report.stop_reason or "not finished"),
        ],
    )
    for note in (report.missed, report.asked):
        if note:
            emit_note(note)
    if report.against is not None:
        _show_against(report.against, details)


def _show_against(against: AgainstTruth, details: bool) -> None:
    rows: list[Named] = [("facts", against.facts), ("entities", against.entities)]
    missed = ""
    if against.chains is not None:
        rows.append((f"chains to {against.chains.object}", against.chains))
        missed = f" {pluralize(against.chains.missed, 'chain')} missed."
    note = (
        f"True are the {pluralize(against.facts.true, 'fact')} in reach of"
        f" {pluralize(against.steps, 'step')}; precision is over the whole graph.{missed}"
    )
    emit_table(Table("against", f"Against {against.truth}", _columns("what"), rows, note))
    if not details:
        return
    _show_rows("By relation", "relation", [(row.relation, row) for row in against.by_relation])
    _show_rows("By level", "level", [(row.depth, row) for row in against.by_depth])
    brier = against.calibration.brier
    note = (
        f"Brier score {'–' if brier is None else f'{brier:.3f}'} over"
        f" {pluralize(against.calibration.n, 'object')}."
    )
    emit_table(Table("calibration", "Calibration", BINS, against.calibration.bins, note))


def _show_rows(
    title: str,
    first: str,
    rows: Sequence[tuple[str, RelationRow]] | Sequence[tuple[int, DepthRow]],
) -> None:
    emit_table(Table(first, title, _columns(first), [(name, row) for name, row in rows]))


MOST = 10**9
"""Neither chains nor iterations stop a crawl: its depth, its budget, or the frontier does."""


crawl = typer.Typer(
    cls=GroupWithDefault,
    help="What a model knows around an entity, as a graph that can be scored.",
)


TruthOption = Annotated[
    str | None, typer.Option(help="Graph that holds the truth, to compare with.")
]
ToOption = Annotated[
    str | None,
    typer.Option(help="Object of the chains that are compared; default: of the first rewrite."),
]


@crawl.command("run", hidden=True)
@takes(*CrawlOptions.model_fields, of=CrawlOptions)
def run(
    graph: Annotated[
        str, typer.Argument(help="Graph that gives relations, spellings and aliases.")
    ],
    start: Annotated[str, typer.Option(help="Entity of that graph to begin with.")],
    model: ModelOption = "organism",
    endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="Server of the OpenAI protocol.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the answers.")] = 0,
    truth: TruthOption = None,
    to: ToOption = None,
    as_new: Annotated[
        bool, typer.Option("--as-new", help="Begin another run of the same request.")
    ] = False,
    json: JsonFlag = False,
    **options: Any,
) -> None:
    """Crawl a model: ask the relations of a graph of one entity, then of those it names, and so on.

    Objects are kept by the fraction of answers that name them; a pair of entity and relation whose
    top fraction is below --pair-threshold is unknown. The result is a graph with p_pre that
    [bold]thinkeval score[/bold] takes. The same command again continues a run that was killed.
    The facts found are compared with the graph, or the one that --truth names; for an organism that
    is the truth, for another model what the graph holds of it.
    [bold]thinkeval graph crawl report --help[/bold]: details, and how two crawls agree.

    [bold]thinkeval graph crawl hogwarts --start "Harry Potter" --model organism-unknown[/bold]
    """
    from ..growth import control
    from ..growth.crawl_report import crawl_report

    answers = EndpointIn(model=model, url=endpoint)
    crawl = request_of(CrawlOptions, options)
    posted = crawl_request(graph, start, answers, crawl, seed=seed, as_new=as_new)
    with ProgressBars(lines=True) as progress, Runtime(Settings(), progress) as runtime:
        grown = control.grow(runtime, posted)
        found = crawl_report(runtime.db, grown.id, truth=truth or graph, to=to)
    if json:
        emit_json(found.model_dump())
        return
    show_report(found)
    if found.facts:
        for each in GROWTH.next(grown):
            emit_command(each)


def crawl_request(
    graph: str,
    start: str,
    answers: EndpointIn,
    crawl: CrawlOptions,
    *,
    seed: int = 0,
    as_new: bool = False,
) -> GrowthIn:
    """The request of a crawl by the relations of a graph, from one of its entities."""
    return GrowthIn(
        seed=start.replace("|", " "),
        base=graph,
        elicit="crawl",
        answers=answers,
        random_seed=seed,
        single_link=False,
        chains=MOST,
        iterations=1000,
        crawl=crawl,
        as_new=as_new,
    )


@crawl.command("report")
def report(
    run: Annotated[
        str, typer.Argument(help="Id of a crawl's run; see `thinkeval results growth`.")
    ],
    truth: TruthOption = None,
    to: ToOption = None,
    other: Annotated[
        str | None, typer.Option("--with", help="Another run, whose facts are compared.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Report a stored crawl; against the truth with precision and recall of facts and chains."""
    from ..growth import crawl_report as reports

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = reports.crawl_report(runtime.db, run, truth=truth, to=to)
        both = reports.agreement(runtime.db, run, other) if other else None
    if json:
        emit_json(found.model_dump() | ({"agreement": both.model_dump()} if both else {}))
        return
    show_report(found, details=True)
    if both is not None:
        emit_values(
            f"Facts of {run} and {other}",
            [
                ("facts", f"{both.facts[0]} and {both.facts[1]}"),
                ("common", both.common),
                ("of either", both.either),
                ("Jaccard", both.jaccard),
            ],
        )
