"""`thinkeval grow`: graphs grown from a model: start, follow, review, export."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...cypher import rows
from ..base.errors import UsageError
from ..base.formatting import cell, pluralize
from ..base.settings import Settings
from ..growth.schemas import EndpointIn, GrowthIn
from ..growth.tables import CANDIDATE_COUNTS, CHAINS, ITERATIONS, RUNS, iteration_line, reasons
from ..reports.formats import Table, indexed
from ..scoring.runtime import Runtime
from .options import FormatOption, JsonFlag, OutputOption, field_option
from .output import TABLE, ProgressBars, emit_json, emit_rows, emit_table, emit_values

if TYPE_CHECKING:
    from ...cypher.rows.growth import CandidateState
    from ...cypher.run import Database
    from ..growth.control import Grown


class ExportFormat(StrEnum):
    """Layouts of an export."""

    knowgic = "knowgic"
    qwen_sample = "qwen-sample"
    csv = "csv"
    audit = "audit"


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
            help="knowgic: chains.json and aliases; qwen-sample: kg.yaml and tables; csv: tables to"
            " edit in a spreadsheet; audit: all that a run rests on."
        ),
    ] = ExportFormat.knowgic,
    single_link: Annotated[
        bool,
        typer.Option(
            "--single-link/--all-links",
            help="At most one fact from one entity to another, as in KnowGIC's construction; the"
            " chains are the same.",
        ),
    ] = True,
    max_steps: Annotated[
        int, typer.Option(min=1, max=5, help="Longest chain that is written.")
    ] = 5,
    json: JsonFlag = False,
) -> None:
    """Write a graph in one of KnowGIC's published layouts or as CSV, or a run's audit bundle.

    All layouts can be imported again ([bold]thinkeval import DIR[/bold]) and give the same chains;
    what a layout cannot hold is printed with counts. [bold]qwen-sample[/bold] keeps relation names,
    questions and paraphrases. [bold]knowgic[/bold] has prompts in place of relation names, needs
    rewrites with chains, and has no paraphrases; in return it keeps which rewrite may use which
    fact. [bold]csv[/bold] is for a spreadsheet: all facts, rewrites, and entities with kinds and
    aliases, a table each.

    [bold]audit[/bold] has every answer, statement, candidate and decision of a run with its
    settings and prompts, and the SHA-256 of each file; writing it twice gives equal bytes. It holds
    no keys.

    [bold]thinkeval grow export hogwarts --format qwen-sample -o hogwarts-files[/bold]
    """
    from ..growth.export import exported
    from ..growth.output import write

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        made = exported(
            runtime.db, name, format.value, single_link=single_link, max_steps=max_steps
        )
    files, lost = made.files, made.lost
    write(files, output)
    if json:
        sizes = {each: len(files[each]) for each in sorted(files)}
        emit_json({"output": str(output), "files": sizes, "lost": lost})
        return
    written = [(each, len(files[each])) for each in sorted(files)]
    emit_table(Table("files", f"Wrote {output}", indexed("file", "bytes"), written))
    for each in lost:
        typer.echo(f"not in these files: {each}", err=True)


# `thinkeval grow candidates|decide|decisions|judge|agreement`: people decide on candidates.

RunArgument = Annotated[str, typer.Argument(help="Id of a growth run.")]


class StateName(StrEnum):
    """The candidates that are listed: all, those that wait, or those in one state."""

    waiting = "waiting"
    all = "all"
    new = "new"
    validated = "validated"
    discarded = "discarded"
    pruned = "pruned"
    duplicate = "duplicate"
    conflict = "conflict"
    review = "review"
    refused = "refused"
    unknown = "unknown"


def candidates(
    run: RunArgument,
    state: Annotated[StateName, typer.Option(help="Which are listed.")] = StateName.waiting,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Candidates at most; 50 in a table, all in a format.")
    ] = None,
    format: FormatOption = None,
    output: OutputOption = None,
    json: JsonFlag = False,
) -> None:
    """List the candidates of a run, by default those that wait for a decision.

    They are reviewed on the run's page of [bold]thinkeval serve[/bold], or as a file: the CSV has
    an empty column verb for [bold]thinkeval grow decide[/bold].

    [bold]thinkeval grow candidates RUN --format csv -o waiting.csv[/bold]
    """
    from ..growth import review

    named = {"waiting": review.WAITING, "all": None}.get(state.value, (state.value,))
    chosen: list[CandidateState] | None
    chosen = None if named is None else [review.state_of(each) for each in named]
    plain = format in (None, TABLE) and not json
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        most = limit or (review.PAGE if plain else review.ALL)
        page = review.page(runtime.db, run, chosen, limit=most)
    note = f"{pluralize(page.total, 'candidate')}"
    if page.next:
        note += f", the first {len(page.items)} are shown"
    title, columns = (
        f"Candidates of {run}: {state.value}",
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

    [bold]thinkeval grow decide RUN waiting.csv --as ann[/bold]
    """
    from ..growth import control, review

    text = review.decoded(_bytes(file), file.name)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        done = control.decide_by_file(runtime.db, runtime.settings, run, text, file.name, name)
    if json:
        emit_json(done.model_dump())
        return
    left_out = [
        f"{pluralize(n, 'row')} {why}"
        for n, why in ((done.undecided, "without a verb"), (done.judged, "of a judge"))
        if n
    ]
    typer.echo(
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


def judge(
    run: RunArgument,
    format: FormatOption = None,
    output: OutputOption = None,
    json: JsonFlag = False,
) -> None:
    """Compare the model judge with people, and people with each other: a row an iteration.

    Precision, recall and F1 are over the triplets that the judge and a person decided; positive is
    what the person keeps or corrects. Agreement is over what two persons or more decided.
    """
    from ..growth import review
    from ..growth import review as judging

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = judging.judge_table(runtime.db, run)
    title = f"The judge against people: {run}"
    judged = Table("judge", title, review.JUDGED, found.items, review.JUDGED_NOTE)
    emit_rows(judged, value=found.model_dump(), json=json, format=format, output=output)


def agreement(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE.csv]", help="A table with one column an annotator and one row an item."
        ),
    ] = None,
    categories: Annotated[
        str | None, typer.Option(help="Possible ratings of the table, by commas: 'yes,no'.")
    ] = None,
    raw: Annotated[
        float | None, typer.Option(min=0, max=1, help="Check published figures: raw agreement.")
    ] = None,
    ac1: Annotated[
        float | None, typer.Option(min=-1, max=1, help="Check published figures: Gwet's AC1.")
    ] = None,
    annotators: Annotated[int, typer.Option(min=2, help="Of published figures.")] = 2,
    unanimous: Annotated[
        bool,
        typer.Option("--unanimous", help="The raw figure is the fraction on which all agree."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Agreement of a table of ratings: raw pairwise and unanimous, AC1, Krippendorff's alpha.

    AC1 is never above the raw pairwise agreement. `--raw .97 --ac1 .98` checks published figures
    and refuses what no ratings can give. The agreement of a run is in [bold]thinkeval grow
    judge[/bold].
    """
    from ..base.statistics import check_figures
    from ..growth import review

    if raw is not None or ac1 is not None:
        if raw is None or ac1 is None or file is not None:
            raise UsageError(
                "Published figures need both --raw and --ac1, and no ratings.",
                remedy="Give both, or a table.",
            )
        explanation = check_figures(raw, ac1, annotators, all_agree=unanimous)
        if json:
            emit_json({"possible": True, "why": explanation})
        else:
            typer.echo(explanation)
        return
    if file is None:
        raise UsageError("Agreement of what?", remedy="Name a CSV file; a run: `grow judge`.")
    chosen = None if categories is None else [c.strip() for c in categories.split(",")]
    found = review.read_csv(review.decoded(_bytes(file), file.name), file.name, chosen)
    if json:
        emit_json(found.model_dump())
        return
    emit_values(
        f"Agreement: {file.name}",
        [
            ("items with two ratings or more", found.n),
            ("annotators", ", ".join(found.annotators)),
            ("raw, pairwise", cell(found.pairwise)),
            ("raw, unanimous", cell(found.unanimous)),
            ("Gwet's AC1", cell(found.ac1)),
            ("Krippendorff's alpha (nominal)", cell(found.alpha)),
        ],
        note="AC1 is never above the pairwise agreement.",
    )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror or error}.", remedy="Give a CSV file."
        ) from error


# `thinkeval grow list|status|show|delete`: stored runs.


def list_(json: JsonFlag = False) -> None:
    """List growth runs, newest first."""
    from ..growth import store

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = store.list_runs(runtime.db)
    emit_rows(Table("growth-runs", "Growth runs", RUNS, found), json=json)


def status(
    run: Annotated[str | None, typer.Argument(help="Id of a growth run; default: newest.")] = None,
    json: JsonFlag = False,
) -> None:
    """Show what a run is doing, and its iterations."""
    from ..growth import store
    from ..growth.schemas import CandidateOut

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        newest = store.list_runs(runtime.db, limit=1) if run is None else []
        found = store.require_run(runtime.db, newest[0].id if newest else run or "")
        iterations = runtime.db.read(rows.IterationRow, "growth/iterations", run=found.id)
        counts = reasons(runtime.db.read(CandidateOut, "growth/candidates", run=found.id))
    if json:
        emit_json(
            found.model_dump()
            | {
                "table": [asdict(each) for each in iterations],
                "states": [asdict(each) for each in counts],
            }
        )
        return
    values = {k: v for k, v in found.model_dump().items() if k != "links" and v is not None}
    emit_values(f"Growth run {found.id}", values)
    emit_table(Table("iterations", "Iterations", ITERATIONS, iterations))
    emit_table(Table("candidates", "Candidates", CANDIDATE_COUNTS, counts))


def show(
    run: RunArgument,
    candidate: Annotated[str, typer.Argument(help="Id of a candidate; see `grow candidates`.")],
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
    evidence = [
        (one.role, one.attempt or "", one.question or "", one.answer or one.statement or "")
        for one in found.evidence
    ]
    columns = indexed("evidence", "try", "question", "answer")
    emit_table(Table("evidence", "Evidence", columns, evidence, pluralize(len(evidence), "answer")))


def delete(run: RunArgument, json: JsonFlag = False) -> None:
    """Delete a run with its answers, candidates and decisions; its graph stays."""
    from ..growth import store

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        gone = store.delete(runtime.db, run)
    if json:
        emit_json({"deleted": run, "nodes": gone})
        return
    typer.echo(f"Deleted {run}: {pluralize(gone, 'node')}.")


# `thinkeval grow start`: a graph from one fact and a model.

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
    from ..growth import control
    from ..growth.open_endpoint import require_models

    require_models(posted)
    report = (lambda row: None) if json else (lambda row: typer.echo(iteration_line(row), err=True))
    grown = control.grow(runtime, posted, as_new=as_new, report=report)
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
    from ..growth.control import first_calls
    from ..growth.job import prepare
    from ..growth.open_endpoint import require_models

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
    from ..growth import job, store

    accepted = job.post(runtime.db, runtime.settings, posted, as_new=as_new)
    if json:
        emit_json(store.require_run(runtime.db, accepted.edit).model_dump())
    else:
        typer.echo(f"{accepted.edit}: {accepted.outcome}. `thinkeval grow status` shows it.")


def _show(db: Database, grown: Grown, posted: GrowthIn, *, json: bool) -> bool:
    """Print a run after an attempt; return True if it ended without a chain."""
    from ...cypher import rows
    from ..growth import loop as found
    from ..growth import store
    from ..growth.schemas import CandidateOut

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
    from ..growth.schemas import scored_as

    model = scored_as(posted)
    named = "FOLDER" if model is None else shlex.quote(model)
    return f"thinkeval score --graph {graph} --all --model {named}"


def _plain(row: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(row)


# `thinkeval grow from-text`, `augment`: graphs that begin with a text, or with another graph.

ModelArg = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", help="Model that answers; with --endpoint its name at that server."
    ),
]
EndpointArg = Annotated[
    str | None, typer.Option(metavar="URL", help="Server of the OpenAI protocol.")
]
GraphArg = Annotated[
    str | None, typer.Option("--graph", "-g", help="Id of the graph that is made.")
]
SamplesArg = Annotated[int, typer.Option(min=1, max=100, help="Answers to a validating question.")]
PassArg = Annotated[
    float | None, typer.Option("--pass", help="Least fraction of right answers; 1/samples.")
]
GreedyArg = Annotated[
    bool, typer.Option("--greedy", help="One most likely answer a question, no sampling.")
]
JudgeArg = Annotated[JudgeName, typer.Option(help="Who decides about found triplets.")]
CallsArg = Annotated[int | None, typer.Option(min=1, help="Most answers.")]
DryRunArg = Annotated[
    bool, typer.Option("--dry-run", help="Print what the first iteration asks; ask nothing.")
]
AsNewArg = Annotated[bool, typer.Option("--as-new", help="Begin another run of the same request.")]


def from_text(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Documents (.txt, .md), or forget sets: .json or .jsonl with the field text,"
            " statement, sentence or answer."
        ),
    ],
    base: Annotated[
        str | None,
        typer.Option(help="Stored graph whose relations and names the text is read with."),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(
            metavar="'SUBJECT|RELATION|OBJECT'", help="Fact that rewrite requests are made for."
        ),
    ] = None,
    model: ModelArg = None,
    endpoint: EndpointArg = None,
    graph: GraphArg = None,
    samples: SamplesArg = 5,
    pass_share: PassArg = None,
    greedy: GreedyArg = False,
    judge: JudgeArg = JudgeName.none,
    max_calls: CallsArg = None,
    dry_run: DryRunArg = False,
    as_new: AsNewArg = False,
    json: JsonFlag = False,
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
    from ..growth.texts import read

    _run(
        {
            "elicit": "text", "texts": read(files), "base": base,
            "seed": seed, "graph": graph, "samples": samples, "pass_share": pass_share,
            "greedy": greedy, "judge": judge.value, "max_calls": max_calls,
        },
        model, endpoint, dry_run=dry_run, as_new=as_new, json=json,
    )  # fmt: skip


def augment(
    base: Annotated[str, typer.Argument(metavar="GRAPH", help="A stored graph.")],
    elicit: Annotated[
        ElicitName, typer.Option(help="cot: step-by-step reasoning; crawl: relation templates.")
    ] = ElicitName.cot,
    model: ModelArg = None,
    endpoint: EndpointArg = None,
    graph: GraphArg = None,
    samples: SamplesArg = 5,
    pass_share: PassArg = None,
    greedy: GreedyArg = False,
    judge: JudgeArg = JudgeName.none,
    iterations: Annotated[int, typer.Option(min=1, max=1000, help="Most iterations.")] = 10,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Option of the crawl, as depth=3."),
    ] = None,
    max_calls: CallsArg = None,
    dry_run: DryRunArg = False,
    as_new: AsNewArg = False,
    json: JsonFlag = False,
) -> None:
    """Begin with all facts of a stored graph, and add what the model knows around them.

    The graph's facts are validated like a seed; those that the model does not know are left out of
    the new graph. Its rewrite requests are kept where their fact is. The stored graph itself does
    not change.

    [bold]thinkeval grow augment hogwarts --model organism --elicit crawl[/bold]
    """
    _run(
        {
            "elicit": elicit.value, "base": base, "graph": graph, "samples": samples,
            "pass_share": pass_share, "greedy": greedy, "judge": judge.value,
            "iterations": iterations, "max_calls": max_calls,
            "crawl": {k: v for k, _, v in (each.partition("=") for each in set_ or [])},
        },
        model, endpoint, dry_run=dry_run, as_new=as_new, json=json,
    )  # fmt: skip


def _run(
    values: dict[str, Any],
    model: str | None,
    endpoint: str | None,
    *,
    dry_run: bool,
    as_new: bool,
    json: bool,
) -> None:
    settings = Settings()
    posted = request_of(answers=endpoint_of(settings, model, endpoint), **values)
    with ProgressBars() as progress, Runtime(settings, progress) as runtime:
        if dry_run:
            show_first_calls(runtime, posted, as_new=as_new, json=json)
        else:
            run_here(runtime, posted, as_new=as_new, json=json)


# `thinkeval grow`: graphs grown from a model. One file a group of commands.

grow = typer.Typer(
    no_args_is_help=True,
    help=(
        "A graph from a model itself, or from a text, and its files.\n\n"
        "[bold]start[/bold] grows a graph from one fact, and continues a run that was stopped;"
        " [bold]from-text[/bold] begins with documents, [bold]augment[/bold] with a stored graph;"
        " [bold]status[/bold], [bold]list[/bold] and [bold]show[/bold] read what is stored.\n\n"
        "[bold]candidates[/bold] lists what a run found, [bold]decide[/bold] records what people"
        " decided about it in a CSV file, [bold]decisions[/bold] lists who decided what;"
        " [bold]judge[/bold] and [bold]agreement[/bold] compare who decided.\n\n"
        "[bold]export[/bold] writes a graph in KnowGIC's layouts, or a run's audit bundle."
    ),
)

grow.command()(start)
grow.command("from-text")(from_text)
grow.command()(augment)
grow.command()(status)
grow.command("list")(list_)
grow.command()(show)
grow.command()(delete)
grow.command()(candidates)
grow.command()(decide)
grow.command()(decisions)
grow.command()(judge)
grow.command()(agreement)
grow.command()(export)
