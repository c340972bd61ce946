"""`thinkeval graph crawl`: a model's knowledge around an entity, as a graph; and its report."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..base.settings import Settings
from ..growth.kind import GROWTH
from ..growth.schemas import (
    CrawlOptions,
    CrawlReport,
    EndpointIn,
    GrowthIn,
    LevelRow,
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


def show_report(report: CrawlReport) -> None:
    """Print a crawl's report."""
    emit_table(Table("levels", f"Levels of {report.run}", LEVELS, report.levels))
    emit_values(
        f"Crawl of {report.model} from {report.start or report.base}",
        [
            ("graph stored as", report.graph if report.facts else "none: no fact was found"),
            ("facts", report.facts),
            (f"of them in {report.base}", report.confirmed),
            ("unknown pairs", report.unknown),
            ("entities", report.entities),
            ("questions", report.questions),
            ("answers", report.answers),
            ("seconds", round(report.seconds, 1)),
            ("stopped", report.stop_reason or "not finished"),
        ],
    )
    if report.asked:
        emit_note(report.asked)


MOST = 10**9
"""Neither chains nor iterations stop a crawl: its depth, its budget, or the frontier does."""


crawl = typer.Typer(
    cls=GroupWithDefault,
    help="What a model knows around an entity, as a graph that can be scored.",
)


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
    The report says how many of the facts found are in the graph, too.

    [bold]thinkeval graph crawl hogwarts --start "Harry Potter" --model organism-unknown[/bold]
    """
    from ..growth import control
    from ..growth.crawl_report import crawl_report

    answers = EndpointIn(model=model, url=endpoint)
    crawl = request_of(CrawlOptions, options)
    posted = crawl_request(graph, start, answers, crawl, seed=seed, as_new=as_new)
    with ProgressBars(lines=True) as progress, Runtime(Settings(), progress) as runtime:
        grown = control.grow(runtime, posted)
        found = crawl_report(runtime.db, grown.id)
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
    json: JsonFlag = False,
) -> None:
    """Report a stored crawl: its levels, and how many of its facts are in its base graph, too."""
    from ..growth.crawl_report import crawl_report

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = crawl_report(runtime.db, run)
    if json:
        emit_json(found.model_dump())
    else:
        show_report(found)
