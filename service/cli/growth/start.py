"""`thinkeval grow start|from-text|augment`: a graph from a fact, a text, or another graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ...errors import UsageError
from ...formatting import pluralize
from ...growth.kind import GROWTH, without_chain
from ...growth.schemas import EndpointIn, GrowthIn
from ...growth.tables import iteration_line
from ...reports.formats import Table, indexed
from ...scoring.runtime import Runtime
from ...settings import Settings
from ..experiments import Printed, emit_result, prints
from ..options import request_of, takes
from ..output import emit_json, emit_table
from ..progress import ProgressBars

NO_CHAIN = 1
"""Exit code of a run that ended without any chain."""

ModelChoice = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", help="Model that answers; with --endpoint its name at that server."
    ),
]
Endpoint = Annotated[str | None, typer.Option(metavar="URL", help="Server of the OpenAI protocol.")]
Seed = Annotated[
    str | None, typer.Option(metavar="'SUBJECT|RELATION|OBJECT'", help="The fact to begin with.")
]
SetCrawl = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Option of the crawl, as depth=3."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print what the first iteration asks; ask nothing.")
]
Queue = Annotated[
    bool, typer.Option("--queue", help="Only submit it; a worker of the service runs it.")
]
BOUNDS = ("max_calls", "max_tokens", "max_seconds", "as_new")


@takes(
    "elicit", "graph", "base", "chains", "iterations", "max_steps", "samples", "pass_share",
    "k_max", "cot_samples", "temperature", "greedy", "random_seed", "refine", "judge",
    "single_link", *BOUNDS,
    of=GrowthIn,
)  # fmt: skip
@prints
def start(
    seed: Seed = None,
    model: ModelChoice = None,
    endpoint: Endpoint = None,
    writer: Annotated[
        str | None, typer.Option(help="Other model at the same server that writes questions.")
    ] = None,
    extractor: Annotated[
        str | None, typer.Option(help="Other model at the same server that extracts triplets.")
    ] = None,
    judge_model: Annotated[
        str | None, typer.Option(help="Other model at the same server that judges.")
    ] = None,
    set_: SetCrawl = None,
    dry_run: DryRun = False,
    queue: Queue = False,
    *,
    printed: Printed,
    **options: Any,
) -> None:
    """Grow a graph from one fact that a model knows.

    The model answers the fact's question, reasons about it step by step, and what its sentences
    state is validated by questions of its own; so on, until there are enough chains from the fact's
    subject to its object, or a budget or the knowledge ends. Every answer is stored before it is
    used: the same command continues a run that was killed, and asks nothing twice.

    [bold]thinkeval grow start --seed "Harry Potter|studied at|Hogwarts" --endpoint
    http://127.0.0.1:8001/v1 --model NAME[/bold]
    """
    settings = Settings()
    answers = endpoint_of(settings, model, endpoint)
    others = (("writer", writer), ("extractor", extractor), ("judge", judge_model))
    options |= {
        "seed": seed, "answers": answers, "crawl": _crawl(set_),
        "roles": {role: EndpointIn(model=m, url=answers.url) for role, m in others if m},
    }  # fmt: skip
    _run(settings, options, printed, dry_run=dry_run, queue=queue)


@takes(
    "base", "graph", "samples", "pass_share", "greedy", "judge", *BOUNDS,
    of=GrowthIn,
)  # fmt: skip
@prints
def from_text(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Documents (.txt, .md), or forget sets: .json or .jsonl with the field text,"
            " statement, sentence or answer."
        ),
    ],
    seed: Seed = None,
    model: ModelChoice = None,
    endpoint: Endpoint = None,
    dry_run: DryRun = False,
    queue: Queue = False,
    *,
    printed: Printed,
    **options: Any,
) -> None:
    """Grow a graph from texts: documents, or what a model shall forget.

    Texts are cut into statements; the model reads triplets from each by structured output, with the
    sentence as their source, so it must be a chat model;
    then the model is asked about them, and what it knows becomes a fact with prompt, question,
    paraphrases and aliases, so that `thinkeval score` takes the graph as it is. Rewrite requests
    are the --base graph's whose fact was found; --seed makes some for one fact.

    A statement from which nothing can be read is kept as unparsed; `thinkeval grow export RUN
    --format audit` lists them.

    [bold]thinkeval grow from-text notes.txt --base hogwarts --model NAME[/bold]
    """
    from ...growth.documents import read

    settings = Settings()
    answers = endpoint_of(settings, model, endpoint)
    options |= {"elicit": "text", "texts": read(files), "seed": seed, "answers": answers}
    _run(settings, options, printed, dry_run=dry_run, queue=queue)


@takes(
    "elicit", "graph", "samples", "pass_share", "greedy", "judge", "iterations", *BOUNDS,
    of=GrowthIn,
)  # fmt: skip
@prints
def augment(
    base: Annotated[str, typer.Argument(metavar="GRAPH", help="A stored graph.")],
    model: ModelChoice = None,
    endpoint: Endpoint = None,
    set_: SetCrawl = None,
    dry_run: DryRun = False,
    queue: Queue = False,
    *,
    printed: Printed,
    **options: Any,
) -> None:
    """Begin with all facts of a stored graph, and add what the model knows around them.

    The graph's facts are validated like a seed; those that the model does not know are left out of
    the new graph. Its rewrite requests are kept where their fact is. The stored graph itself does
    not change.

    [bold]thinkeval grow augment hogwarts --model organism --elicit crawl[/bold]
    """
    settings = Settings()
    answers = endpoint_of(settings, model, endpoint)
    options |= {"base": base, "answers": answers, "crawl": _crawl(set_)}
    _run(settings, options, printed, dry_run=dry_run, queue=queue)


def endpoint_of(settings: Settings, model: str | None, url: str | None) -> EndpointIn:
    """The model of the options, else that of the environment, else an organism.

    Raises:
        UsageError: a server, and no name of its model.
    """
    if url is None and model is None and settings.llm_base_url is not None:
        url = settings.llm_base_url
    if url is None:
        return EndpointIn(model=model or "organism")
    name = model or settings.llm_model
    if name is None:
        raise UsageError(
            f"Nothing says which model at {url} is meant.",
            remedy="Give its name there with --model, or set THINKEVAL_LLM_MODEL.",
        )
    return EndpointIn(model=name, url=url)


def _crawl(given: list[str] | None) -> dict[str, str]:
    return {key: value for key, _, value in (each.partition("=") for each in given or [])}


def _run(
    settings: Settings, options: dict[str, Any], printed: Printed, *, dry_run: bool, queue: bool
) -> None:
    """Run a request in this process, submit it, or print its first questions."""
    posted = request_of(GrowthIn, options)
    with ProgressBars() as progress, Runtime(settings, progress) as runtime:
        if queue:
            accepted = GROWTH.store.submit(runtime.db, settings, posted)
            if printed.json:
                found = GROWTH.store.get(runtime.db, accepted.edit)
                emit_json(found.model_dump(mode="json"), printed.output)
            else:
                typer.echo(f"{accepted.edit}: {accepted.outcome}. `thinkeval growth` lists it.")
            return
        from ...growth.endpoints.opened import require_models

        require_models(posted)
        if dry_run:
            _show_first_calls(runtime, posted, json=printed.json)
            return
        from ...growth.command import grow

        silent: Callable[[Any], None] = lambda row: None  # noqa: E731
        say: Callable[[Any], None] = lambda row: typer.echo(iteration_line(row), err=True)  # noqa: E731
        out = grow(runtime, posted, report=silent if printed.json else say)
        emit_result(runtime.db, GROWTH, out, printed)
    if without_chain(out):
        raise typer.Exit(NO_CHAIN)


def _show_first_calls(runtime: Runtime, posted: GrowthIn, *, json: bool) -> None:
    from ...growth.dry_run import first_calls
    from ...growth.request import prepare

    prepared = prepare(runtime.db, posted)
    counted = first_calls(runtime.db, prepared)
    known = sum(n for _, n in counted if n is not None)
    if json:
        calls = [{"what": what, "answers": n} for what, n in counted]
        emit_json({"id": prepared.id, "calls": calls, "known": known})
        return
    rows = [(what, "depends on the answers" if n is None else n) for what, n in counted]
    note = f"{pluralize(known, 'answer')} known beforehand."
    title = f"First iteration of {prepared.id}"
    emit_table(Table("first-iteration", title, indexed("what", "answers"), rows, note))
