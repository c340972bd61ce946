"""`thinkeval graph grow`: graphs grown from a model: start, follow, review, export."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ...cypher.rows.growth import CandidateState
from ..base.errors import UsageError
from ..base.formatting import pluralize
from ..base.settings import Settings
from ..growth.kind import GROWTH, without_chain
from ..growth.schemas import EndpointIn, ExportFormat, GrowthIn
from ..growth.tables import iteration_line
from ..reports.formats import Table, indexed
from ..scoring.runtime import Runtime
from .codes import NEGATIVE
from .experiments import Printed, emit_result, prints
from .options import FormatOption, JsonFlag, OutputOption, request_of, takes
from .output import (
    TABLE,
    ProgressBars,
    emit_error,
    emit_json,
    emit_note,
    emit_rows,
    emit_table,
    emit_values,
    notice,
)


def export(
    name: Annotated[
        str, typer.Argument(metavar="RUN|GRAPH", help="A growth run, or a stored graph.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A folder, or a .zip that holds all files.")
    ],
    format: Annotated[
        ExportFormat,
        typer.Option(
            help="knowgic: chains.json and aliases; csv: tables to edit in a spreadsheet."
        ),
    ] = "knowgic",
    max_steps: Annotated[
        int, typer.Option(min=1, max=5, help="Longest chain that is written.")
    ] = 5,
    json: JsonFlag = False,
) -> None:
    """Write a graph as KnowGIC publishes its chains, or as CSV.

    Both can be imported again ([bold]thinkeval import DIR[/bold]) and give the same chains; what a
    layout cannot hold is printed with counts. [bold]knowgic[/bold] has prompts in place of relation
    names, needs rewrites with chains, and has no paraphrases; in return it keeps which rewrite may
    use which fact. [bold]csv[/bold] is for a spreadsheet: all facts, rewrites, and entities with
    kinds and aliases, a table each.

    [bold]thinkeval graph grow export hogwarts --format csv -o hogwarts-files[/bold]
    """
    from ..growth.export import exported
    from ..growth.output import write

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        made = exported(runtime.db, name, format, max_steps=max_steps)
    files, lost = made.files, made.lost
    write(files, output)
    if json:
        sizes = {each: len(files[each]) for each in sorted(files)}
        emit_json({"output": str(output), "files": sizes, "lost": lost})
        return
    written = [(each, len(files[each])) for each in sorted(files)]
    emit_table(Table("files", f"Wrote {output}", indexed("file", "bytes"), written))
    for each in lost:
        emit_error(f"not in these files: {each}")


# `thinkeval graph grow candidates|show|decide|decisions`: people decide on candidates.

RunArgument = Annotated[str, typer.Argument(help="Id of a growth run.")]


Listed = Literal["waiting", "all", CandidateState]
"""The candidates that are listed: those that wait, all, or those in one state."""


def candidates(
    run: RunArgument,
    state: Annotated[Listed, typer.Option(help="Which are listed.")] = "waiting",
    limit: Annotated[
        int | None, typer.Option(min=1, help="Candidates at most; 50 in a table, all in a format.")
    ] = None,
    format: FormatOption = None,
    output: OutputOption = None,
    json: JsonFlag = False,
) -> None:
    """List the candidates of a run, by default those that wait for a decision.

    They are reviewed on the run's page of [bold]thinkeval serve[/bold], or as a file: the CSV has
    an empty column verb for [bold]thinkeval graph grow decide[/bold].

    [bold]thinkeval graph grow candidates RUN --format csv -o waiting.csv[/bold]
    """
    from ..growth import review

    chosen = None if state == "all" else review.WAITING if state == "waiting" else [state]
    plain = format in (None, TABLE) and not json
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        most = limit or (review.PAGE if plain else review.ALL)
        page = review.page(runtime.db, run, chosen, limit=most)
    note = f"{pluralize(page.total, 'candidate')}"
    if page.next:
        note += f", the first {len(page.items)} are shown"
    title, columns = (
        f"Candidates of {run}: {state}",
        review.CANDIDATES if plain else review.SHEET,
    )
    found = Table("candidates", title, columns, page.items, note)
    emit_rows(found, value=page.model_dump(), json=json, format=format, output=output)


def decide(
    run: RunArgument,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.csv",
            help="Columns candidate, verb (keep, prune, correct, add); subject, relation, object"
            " of a correction or addition; question, reason, by. Rows without a verb are left out.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(
            "--as", metavar="NAME", help="Who decides; tells annotators apart. Or a column by."
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Record the decisions of a CSV file: all of them, or none where one is refused.

    A decision is never changed: a later one is another record, and a person's latest one counts.
    When the last one is decided the run continues by itself.

    [bold]thinkeval graph grow decide RUN waiting.csv --as ann[/bold]
    """
    from ..graphs.datasets import read_apart
    from ..growth import control, review

    read = read_apart(partial(review.read_file, by=name), file)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        done = control.decide_by_file(runtime.db, runtime.settings, run, read)
    if json:
        emit_json(done.model_dump())
        return
    left_out = [
        f"{pluralize(n, 'row')} {why}"
        for n, why in ((done.undecided, "without a verb"), (done.judged, "of a judge"))
        if n
    ]
    emit_note(
        f"{pluralize(done.recorded, 'decision')} recorded; {pluralize(done.waiting, 'candidate')}"
        f" {'waits' if done.waiting == 1 else 'wait'}."
        + (f" Left out: {', '.join(left_out)}." if left_out else "")
        + (" The run is queued again." if done.resumed else "")
    )


def decisions(
    run: RunArgument,
    candidate: Annotated[str | None, typer.Option(help="Only about this candidate.")] = None,
    format: FormatOption = None,
    output: OutputOption = None,
    json: JsonFlag = False,
) -> None:
    """List the decisions about a run's candidates: who, when, from what to what, and why."""
    from ..growth import review

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = review.decisions_of(runtime.db, run, candidate)
    decided = Table("decisions", f"Decisions of {run}", review.DECISIONS, found.items)
    emit_rows(decided, value=found.model_dump(), json=json, format=format, output=output)


def show(
    run: RunArgument,
    candidate: Annotated[
        str, typer.Argument(help="Id of a candidate; see `graph grow candidates`.")
    ],
    json: JsonFlag = False,
) -> None:
    """Show what a candidate rests on: statements, questions and every answer."""
    from ..growth import review

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = review.detail(runtime.db, run, candidate)
    if json:
        emit_json(found.model_dump())
        return
    shown = ("subject", "relation", "object", "state", "reason", "tries", "share", "n_answers")
    emit_values(f"Candidate {found.id}", [(name, getattr(found, name)) for name in shown])
    evidence = [(one.role, one.attempt or "", one.question, one.answer) for one in found.evidence]
    columns = indexed("evidence", "try", "question", "answer")
    emit_table(Table("evidence", "Evidence", columns, evidence, pluralize(len(evidence), "answer")))


# `thinkeval graph grow start|augment`: a graph from a fact, or from another graph.

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

    [bold]thinkeval graph grow start --seed "Harry Potter|studied at|Hogwarts" --endpoint
    http://127.0.0.1:8001/v1 --model NAME[/bold]
    """
    settings = Settings()
    answers = endpoint_of(settings, model, endpoint)
    judge = EndpointIn(model=judge_model, url=answers.url) if judge_model else None
    options |= {"seed": seed, "answers": answers, "crawl": _crawl(set_), "judge_model": judge}
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

    [bold]thinkeval graph grow augment hogwarts --model organism --elicit crawl[/bold]
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
    with ProgressBars(lines=True) as progress, Runtime(settings, progress) as runtime:
        if queue:
            accepted = GROWTH.store.submit(runtime.db, settings, posted)
            if printed.json:
                found = GROWTH.store.get(runtime.db, accepted.edit)
                emit_json(found.model_dump(mode="json"), printed.output)
            else:
                emit_note(
                    f"{accepted.edit}: {accepted.outcome}. `thinkeval results growth` lists it."
                )
            return
        from ..growth.open_endpoint import require_models

        require_models(posted)
        if dry_run:
            _show_first_calls(runtime, posted, json=printed.json)
            return
        from ..growth.control import grow

        silent: Callable[[Any], None] = lambda row: None  # noqa: E731
        say: Callable[[Any], None] = lambda row: notice(iteration_line(row))  # noqa: E731
        out = grow(runtime, posted, report=silent if printed.json else say)
        emit_result(runtime.db, GROWTH, out, printed)
    if without_chain(out):
        raise typer.Exit(NEGATIVE)


def _show_first_calls(runtime: Runtime, posted: GrowthIn, *, json: bool) -> None:
    from ..growth.control import first_calls
    from ..growth.request import prepare

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


grow = typer.Typer(
    help=(
        "A graph from a model itself, and its files.\n\n"
        "[bold]start[/bold] grows a graph from one fact, and continues a run that was stopped;"
        " [bold]augment[/bold] begins with a stored graph;"
        " [bold]thinkeval results growth[/bold] lists runs, shows, cancels and deletes one.\n\n"
        "[bold]candidates[/bold] lists what a run found, [bold]show[/bold] one with its answers;"
        " [bold]decide[/bold] records what people decided about them in a CSV file,"
        " [bold]decisions[/bold] lists who decided what.\n\n"
        "[bold]export[/bold] writes a graph as KnowGIC publishes its chains, or as CSV."
    ),
)

grow.command()(start)
grow.command()(augment)
grow.command()(candidates)
grow.command()(show)
grow.command()(decide)
grow.command()(decisions)
grow.command()(export)
