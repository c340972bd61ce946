"""`thinkeval grow start`: a graph from one fact and a model."""

from __future__ import annotations

import shlex
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import UsageError
from ...formatting import pluralize
from ...growth.schemas import EndpointIn, GrowthIn
from ...growth.tables import (
    CANDIDATE_COUNTS,
    CHAINS,
    ITERATIONS,
    iteration_line,
    reasons,
)
from ...reports.formats import Table, indexed
from ...scoring.runtime import Runtime
from ...settings import Settings
from ..options import JsonFlag, field_option
from ..output import emit_json, emit_table
from ..progress import ProgressBars

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ...growth.command import Grown

NO_CHAIN = 1
"""Exit code of a run that ended without any chain."""
SHOWN = 20
"""Chains that are printed."""


def _option(name: str, *flags: str) -> Any:
    """A field of the request as an option: its help and bounds."""
    return field_option(GrowthIn.model_fields[name], *flags)


class ElicitName(StrEnum):
    """The source of triplets."""

    cot = "cot"
    crawl = "crawl"


class RefineName(StrEnum):
    """The one that rewords a failed question."""

    none = "none"
    model = "model"
    human = "human"


class JudgeName(StrEnum):
    """The one that decides about found triplets."""

    none = "none"
    human = "human"
    model = "model"
    both = "both"
    check = "check"


def start(
    seed: Annotated[
        str | None,
        typer.Option(metavar="'SUBJECT|RELATION|OBJECT'", help="The fact to begin with."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", help="Model that answers; with --endpoint its name at that server."
        ),
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="Server of the OpenAI protocol.")
    ] = None,
    elicit: Annotated[
        ElicitName, typer.Option(help="cot: step-by-step reasoning; crawl: relation templates.")
    ] = ElicitName.cot,
    graph: Annotated[
        str | None, typer.Option("--graph", "-g", help="Id of the graph that is made.")
    ] = None,
    base: Annotated[str | None, _option("base", "--base")] = None,
    chains: Annotated[int, _option("chains", "--chains")] = 100,
    iterations: Annotated[int, _option("iterations", "--iterations")] = 10,
    max_steps: Annotated[int, _option("max_steps", "--max-steps")] = 5,
    samples: Annotated[int, _option("samples", "--samples")] = 5,
    pass_share: Annotated[float | None, _option("pass_share", "--pass")] = None,
    k_max: Annotated[int, _option("k_max", "--k-max")] = 3,
    cot_samples: Annotated[int, _option("cot_samples", "--cot-samples")] = 1,
    temperature: Annotated[float, _option("temperature", "--temperature")] = 1.0,
    greedy: Annotated[
        bool, typer.Option("--greedy", help="One most likely answer a question, no sampling.")
    ] = False,
    random_seed: Annotated[int, _option("random_seed", "--random-seed")] = 0,
    refine: Annotated[RefineName, _option("refine", "--refine")] = RefineName.none,
    judge: Annotated[JudgeName, _option("judge", "--judge")] = JudgeName.none,
    writer: Annotated[
        str | None, typer.Option(help="Other model at the same server that writes questions.")
    ] = None,
    extractor: Annotated[
        str | None, typer.Option(help="Other model at the same server that extracts triplets.")
    ] = None,
    judge_model: Annotated[
        str | None, typer.Option(help="Other model at the same server that judges.")
    ] = None,
    single_link: Annotated[
        bool, typer.Option(help="At most one fact an ordered pair of entities.")
    ] = True,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Option of the crawl, as depth=3."),
    ] = None,
    max_calls: Annotated[int | None, _option("max_calls", "--max-calls")] = None,
    max_tokens: Annotated[int | None, _option("max_tokens", "--max-tokens")] = None,
    max_seconds: Annotated[float | None, _option("max_seconds", "--max-seconds")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what the first iteration asks; ask nothing.")
    ] = False,
    queue: Annotated[
        bool, typer.Option("--queue", help="Only submit it; a worker of the service runs it.")
    ] = False,
    as_new: Annotated[
        bool, typer.Option("--as-new", help="Begin another run of the same request.")
    ] = False,
    json: JsonFlag = False,
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
    posted = request_of(
        seed=seed,
        graph=graph,
        base=base,
        elicit=elicit.value,
        answers=answers,
        roles={role: EndpointIn(model=m, url=answers.url) for role, m in others if m},
        samples=samples,
        pass_share=pass_share,
        k_max=k_max,
        cot_samples=cot_samples,
        temperature=temperature,
        greedy=greedy,
        random_seed=random_seed,
        max_steps=max_steps,
        chains=chains,
        iterations=iterations,
        max_calls=max_calls,
        max_tokens=max_tokens,
        max_seconds=max_seconds,
        refine=refine.value,
        judge=judge.value,
        single_link=single_link,
        crawl={key: value for key, _, value in (each.partition("=") for each in set_ or [])},
    )
    with ProgressBars() as progress, Runtime(settings, progress) as runtime:
        if dry_run:
            show_first_calls(runtime, posted, as_new=as_new, json=json)
        elif queue:
            _submit(runtime, posted, as_new=as_new, json=json)
        else:
            run_here(runtime, posted, as_new=as_new, json=json)


def run_here(runtime: Runtime, posted: GrowthIn, *, as_new: bool, json: bool) -> None:
    """Run a request in this process, and print its iterations and chains."""
    from ...growth import command
    from ...growth.endpoints.opened import require_models

    require_models(posted)
    report = (lambda row: None) if json else (lambda row: typer.echo(iteration_line(row), err=True))
    grown = command.grow(runtime, posted, as_new=as_new, report=report)
    without = _show(runtime.db, grown, posted, json=json)
    if without:
        raise typer.Exit(NO_CHAIN)


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


def request_of(**values: Any) -> GrowthIn:
    """The request of a command's options.

    Raises:
        UsageError: a value that the request does not take.
    """
    from pydantic import ValidationError

    try:
        return GrowthIn.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{place}: {first['msg']}." if place else f"{first['msg']}.",
            remedy="See `thinkeval grow start --help`.",
        ) from error


def show_first_calls(runtime: Runtime, posted: GrowthIn, *, as_new: bool, json: bool) -> None:
    """Print the questions of a request's first iteration."""
    from ...growth.dry_run import first_calls
    from ...growth.endpoints.opened import require_models
    from ...growth.job import prepare

    require_models(posted)
    prepared = prepare(runtime.db, posted, as_new=as_new)
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


def _submit(runtime: Runtime, posted: GrowthIn, *, as_new: bool, json: bool) -> None:
    from ...growth import job, store

    accepted = job.post(runtime.db, runtime.settings, posted, as_new=as_new)
    if json:
        emit_json(store.require_run(runtime.db, accepted.edit).model_dump())
    else:
        typer.echo(f"{accepted.edit}: {accepted.outcome}. `thinkeval grow status` shows it.")


def _show(db: Database, grown: Grown, posted: GrowthIn, *, json: bool) -> bool:
    """Print a run after an attempt; return True if it ended without a chain."""
    from ....cypher import rows
    from ...growth import chains as found
    from ...growth import store
    from ...growth.review.schemas import CandidateOut

    chains = found.chains_of(db, grown.graph, posted)
    counts = reasons(db.read(CandidateOut, "growth/candidates", run=grown.run))
    without = posted.seed is not None and "|" in posted.seed and not chains
    iterations = db.read(rows.IterationRow, "growth/iterations", run=grown.run)
    if json:
        emit_json(
            {
                "run": store.require_run(db, grown.run).model_dump(),
                "iterations": iterations and [_plain(row) for row in iterations],
                "chains": [_plain(row) for row in chains],
                "candidates": [_plain(row) for row in counts],
            }
        )
    else:
        emit_table(Table("iterations", f"Iterations of {grown.run}", ITERATIONS, iterations))
        note = f"{pluralize(len(chains), 'chain')}; stopped: {grown.outcome.reason}."
        if chains:
            emit_table(Table("chains", f"Chains of {grown.graph}", CHAINS, chains[:SHOWN], note))
            submitted = GrowthIn.model_validate_json(store.require_run(db, grown.run).request)
            typer.echo(f"`{score_command(grown.graph, submitted)}` scores edits of it.")
        else:
            emit_table(Table("reasons", "No chain was found: why", CANDIDATE_COUNTS, counts, note))
        if grown.outcome.state == "waiting_review":
            typer.echo(
                f"It waits: review it at /growth/{grown.run} of `thinkeval serve`, or write"
                f" `thinkeval grow candidates {grown.run} --format csv -o FILE`, fill in verbs and"
                f" give it to `thinkeval grow decide {grown.run} FILE --as NAME`."
            )
    return without and grown.outcome.state == "finished"


def score_command(graph: str, posted: GrowthIn) -> str:
    """The command that scores edits of the model that answered."""
    from ...growth.schemas import scored_as

    model = scored_as(posted)
    named = "FOLDER" if model is None else shlex.quote(model)
    return f"thinkeval score --graph {graph} --all --model {named}"


def _plain(row: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(row)
