"""`thinkeval crawl`: a model's knowledge around an entity, as a graph; and its report."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ...growth.kind import GROWTH
from ...growth.schemas import CrawlOptions, EndpointIn, GrowthIn
from ...scoring.runtime import Runtime, parse
from ...settings import Settings
from ..options import JsonFlag, ModelOption, request_of, takes
from ..output import emit_command, emit_json, emit_values
from ..panels import GroupOfCommands
from ..progress import ProgressBars
from .render_crawl import show_report

RUN = "run"
MOST = 10**9
"""Neither chains nor iterations stop a crawl: its depth, its budget, or the frontier does."""


class RunByDefault(GroupOfCommands):
    """A group whose arguments belong to `run` unless they name another command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command before the arguments, `--help` included."""
        named = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if named else [RUN, *args])


crawl = typer.Typer(
    cls=RunByDefault,
    help="What a model knows around an entity, as a graph that can be scored.",
)


TruthOption = Annotated[
    str | None, typer.Option(help="Graph that holds the truth, to compare with.")
]
ToOption = Annotated[
    str | None,
    typer.Option(help="Object of the chains that are compared; default: of the first rewrite."),
]


@crawl.command(RUN, hidden=True)
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
    An organism is compared with the graph it was trained on; --truth names another one.
    [bold]thinkeval crawl report --help[/bold]: details, and how two crawls agree.

    [bold]thinkeval crawl hogwarts --start "Harry Potter" --model organism-unknown[/bold]
    """
    from ...growth import command
    from ...growth.crawl.report import crawl_report

    posted = GrowthIn(
        seed=start.replace("|", " "),
        base=graph,
        elicit="crawl",
        answers=EndpointIn(model=model, url=endpoint),
        random_seed=seed,
        single_link=False,
        chains=MOST,
        iterations=1000,
        crawl=request_of(CrawlOptions, options),
        as_new=as_new,
    )
    if truth is None and endpoint is None and parse(model).organism is not None:
        truth = graph
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        grown = command.grow(runtime, posted)
        found = crawl_report(runtime.db, grown.id, truth=truth, to=to)
    if json:
        emit_json(found.model_dump())
        return
    show_report(found)
    if found.facts:
        for each in GROWTH.next(grown):
            emit_command(each)


@crawl.command("report")
def report(
    run: Annotated[str, typer.Argument(help="Id of a crawl's run; see `thinkeval growth`.")],
    truth: TruthOption = None,
    to: ToOption = None,
    other: Annotated[
        str | None, typer.Option("--with", help="Another run, whose facts are compared.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Report a stored crawl; against the truth with precision and recall of facts and chains."""
    from ...growth.crawl import report as reports

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
