"""`thinkeval lab depedit`: knowledge sets, runs of the protocol, tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..base.errors import NotFoundError, NothingStoredError, UsageError
from ..base.formatting import pluralize
from ..base.settings import Settings
from ..depedit import report as depedit_report
from ..depedit import store
from ..depedit.questions import questions
from ..depedit.report import TITLES, metrics_of
from ..models.depedit import Question, RunsIn
from ..reports.formats import PARQUET, Column, Table, indexed
from ..scoring.request import read_overrides
from ..scoring.runtime import Runtime
from .experiments import Printed, emit_result, prints
from .options import (
    DatasetOption,
    FormatOption,
    JsonFlag,
    ModelOption,
    OutputOption,
    ProbeOptions,
    SettingName,
    SettingOption,
    takes,
)
from .output import (
    TABLE,
    ProgressBars,
    emit_error,
    emit_json,
    emit_note,
    emit_rows,
    emit_table,
    emit_text,
    report_format,
    require_json,
)

if TYPE_CHECKING:
    from ...cypher import rows
    from ...cypher.run import Database
    from ...loaders.knowledge_sets import KnowledgeSet
    from ..depedit.editor import Similarity


SKIPPED_SHOWN = 3
"""Number of skipped rules whose reason is printed."""


class InitName(StrEnum):
    """The facts that a set establishes."""

    stored = "stored"
    shuffled = "shuffled"


def build(
    graph: Annotated[str, typer.Argument(help="Graph: a data set; `atlas` ships with its rules.")],
    setting: Annotated[
        list[SettingName] | None,
        typer.Option(
            case_sensitive=False,
            help="CQ_DT: each fact has its own wording; CQ_UT: one for all of a relation; ICQ_DT:"
            " asked in other words than taught. Repeatable. Default: CQ_DT.",
        ),
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            help="Only by this rule (its id); repeatable. Default: all rules with status kept."
        ),
    ] = None,
    candidates: Annotated[
        bool, typer.Option("--candidates", help="Also by unreviewed rules.")
    ] = False,
    per_rule: Annotated[int, typer.Option(min=1, help="Sets a rule, with following seeds.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random draws.")] = 0,
    facts: Annotated[int, typer.Option(min=1, help="Specific facts a set.")] = 24,
    unrelated: Annotated[int, typer.Option(min=0, help="Unrelated facts.")] = 5,
    implications: Annotated[int, typer.Option(min=1, help="Implications of the facts.")] = 12,
    copies: Annotated[int, typer.Option(min=1, help="Updated copies.")] = 3,
    updates: Annotated[int, typer.Option(min=1, help="Facts that each copy changes.")] = 20,
    init: Annotated[
        InitName,
        typer.Option(
            help="stored: the graph's facts; shuffled: objects exchanged within their kind, so"
            " that nothing is known beforehand."
        ),
    ] = InitName.stored,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace stored sets of the same id that differ.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Draw knowledge sets from a stored graph and its rules, and store them.

    The same command again gives the same sets. The numbers' defaults are the paper's; a small
    graph needs smaller ones, and the error says which.

    [bold]thinkeval lab depedit build atlas --setting CQ_DT --setting ICQ_DT[/bold]
    """
    from ..depedit import sets as building
    from ..depedit import store

    options = [
        building.SetOptions(
            setting=name.value,
            seed=seed,
            facts=facts,
            unrelated=unrelated,
            implications=implications,
            copies=copies,
            updates=updates,
            init=init.value,
        )
        for name in dict.fromkeys(setting or [SettingName.cq_dt])
    ]
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        built = [
            building.build(
                runtime.db,
                graph,
                each,
                rules=rule,
                candidates=candidates,
                per_rule=per_rule,
                progress=progress,
            )
            for each in options
        ]
        saved = _save(runtime, [each for found in built for each in found.sets], replace=replace)
        stored = [row for row in store.list_sets(runtime.db, dataset=graph) if row.id in saved]
    skipped = {each.rule: each for found in built for each in found.skipped}
    if json:
        emit_json(
            {
                "sets": [set_json(row) | {"status": saved[row.id]} for row in stored],
                "skipped": [asdict(each) for each in skipped.values()],
            }
        )
        return
    sets = pluralize(len(stored), "set")
    note = f"{sets} of {graph}; run one with `thinkeval lab depedit run SET`"
    show_sets(f"Knowledge sets of {graph}", stored, saved, note)
    for each in list(skipped.values())[:SKIPPED_SHOWN]:
        emit_error(f"skipped rule {each.rule}: {each.reason}")
    if len(skipped) > SKIPPED_SHOWN:
        more = len(skipped) - SKIPPED_SHOWN
        emit_error(f"and {more} more rules gave no set; --json lists them")


def import_(
    file: Annotated[Path, typer.Argument(help="JSONL of ours, or as DepEdit publishes it.")],
    setting: Annotated[
        SettingName,
        typer.Option(
            case_sensitive=False,
            help="For lines that do not name theirs; ICQ_DT asks by the rephrased questions.",
        ),
    ] = SettingName.cq_dt,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse the complete file if a line cannot be read.")
    ] = False,
    seed: Annotated[
        int, typer.Option(min=0, help="Of unrelated facts, for lines that bring none.")
    ] = 0,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace stored sets of the same id that differ.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Store the knowledge sets of a JSONL file; unreadable lines are reported by number."""
    from ...loaders import depedit as jsonl
    from ..depedit import store
    from ..graphs.datasets import read_apart

    loaded = read_apart(partial(jsonl.read, setting=setting.value, strict=strict, seed=seed), file)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        saved = _save(runtime, loaded.sets, replace=replace)
        stored = [row for row in store.list_sets(runtime.db) if row.id in saved]
    if json:
        emit_json(
            {
                "sets": [set_json(row) | {"status": saved[row.id]} for row in stored],
                "refused": [asdict(each) for each in loaded.refused],
                "notes": [asdict(each) for each in loaded.notes],
            }
        )
        return
    show_sets(f"Knowledge sets of {file}", stored, saved, pluralize(len(stored), "set"))
    for each in loaded.notes:
        emit_error(f"line {each.line}: {each.reason}")
    for each in loaded.refused:
        emit_error(f"refused: {each.reason}")


def export(
    sets: Annotated[
        list[str] | None, typer.Argument(metavar="[SET]...", help="Ids; default: all.")
    ] = None,
    graph: DatasetOption = None,
    setting: SettingOption = None,
    output: OutputOption = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON array instead of JSON lines.")
    ] = False,
) -> None:
    """Write knowledge sets as JSONL: one set a line, DepEdit's schema and ThinkEval's fields."""
    from ...loaders import depedit as jsonl
    from ..depedit import store

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        names = sets or [row.id for row in listed(runtime, graph, setting)]
        found = [store.load_set(runtime.db, name) for name in names]
    if not found:
        raise NothingStoredError(
            "There is no knowledge set to export.",
            remedy="Build one: `thinkeval lab depedit build`.",
        )
    text = jsonl.write(found)
    if json:
        emit_json([loads(line) for line in text.splitlines()], output)
    else:
        emit_text(text, output)


def _save(runtime: Runtime, sets: Sequence[KnowledgeSet], *, replace: bool) -> dict[str, str]:
    """Store sets; {id: new status}."""
    from ..depedit import store

    saved: dict[str, str] = {}
    for each in sets:
        saved[each.id] = store.save_set(runtime.db, each, replace=replace).status
        runtime.progress(len(saved), len(sets), "storing sets")
    return saved


def listed(
    runtime: Runtime, graph: str | None, setting: SettingName | None
) -> list[rows.KnowledgeSetRow]:
    """The stored sets, of one graph or setting if named."""
    from ..depedit import store

    return store.list_sets(runtime.db, dataset=graph, setting=setting and setting.value)


def set_json(row: rows.KnowledgeSetRow) -> dict[str, Any]:
    """A set as `--json` lists it; its text is for `export`."""
    return {key: value for key, value in asdict(row).items() if key != "body"}


def show_sets(
    title: str, found: list[rows.KnowledgeSetRow], saved: dict[str, str], note: str
) -> None:
    """Print sets as a table, with the status of each in `saved`."""
    note = "\n".join([*dict.fromkeys(r.text for r in found), note])
    emit_table(depedit_report.sets_table(title, found, saved, note))


# `thinkeval lab depedit run` and `similarity`: the protocol on a model, and its gradients.

GraphOption = Annotated[
    str | None,
    typer.Option(
        "--graph",
        "-g",
        help="Graph whose organism, sentences and facts are used; default: the set's data set.",
    ),
]


SIMILARITIES: list[Column[Similarity]] = [
    Column("pairs", lambda one: one.kind),
    Column("mean cosine", lambda one: one.mean),
    Column("sd", lambda one: one.sd),
    Column("n", lambda one: one.n),
]


class ParametersName(StrEnum):
    """Over which parameters gradients are taken (`editing.mend.similarity`)."""

    linear = "linear"
    all = "all"


@takes(
    "graph", "model", "strategies", "editor", "hparams", "overrides", "covariance", "chat", "dtype",
    "revision", "seed", "force",
    of=RunsIn,
    help={"force": "Run again what is stored."},
)  # fmt: skip
@prints
def run(
    sets: Annotated[
        list[str] | None,
        typer.Argument(metavar="SET...", help="Knowledge sets; default: all of --graph."),
    ] = None,
    *,
    printed: Printed,
    **options: Any,
) -> None:
    """Establish knowledge sets in a model, update them, and measure which implications follow.

    A strategy is DepEdit's word for a way to put a set's facts into the model: a method
    (`memit`), or a method and a choice of further facts (`memit+forwchain`). After each, the model
    is asked everything. Then each copy's updates are put in, from the established model, and
    everything is asked again. Answers are greedy, and right if they are the expected name. Runs are
    stored; what is stored is not run again. Printed are the paper's two tables: facts (specificity)
    and implications, the paper's word for the questions that test a conclusion.
    """
    from ..depedit import protocol as running
    from ..depedit.kind import DEPEDIT, run_protocol
    from ..experiments.kind import COMMAND

    wanted = running.methods(options["strategies"] or [], options["editor"])
    options["overrides"] = read_overrides(options["overrides"] or [])
    named = [method.label for method in wanted]
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        knowledge = running.chosen(runtime, sets or [], options["graph"])
        asked = options | {"sets": [one.id for one in knowledge], "strategies": named}
        # Not validated: a command may name files, which a request to the service may not.
        request = RunsIn.model_construct(**asked)
        found = run_protocol(runtime, knowledge, wanted, request, COMMAND)
        emit_result(runtime.db, DEPEDIT, found, printed)


def similarity(
    knowledge_set: Annotated[str, typer.Argument(metavar="SET", help="Knowledge set.")],
    graph: GraphOption = None,
    model: ModelOption = "organism",
    parameters: Annotated[
        ParametersName,
        typer.Option(
            help="linear: all linear maps but the head, in batches; all: every parameter, fact by"
            " fact."
        ),
    ] = ParametersName.linear,
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of each kind at most.")] = 24,
    dtype: ProbeOptions.dtype = "float32",
    revision: ProbeOptions.revision = None,
    seed: ProbeOptions.seed = 0,
    json: JsonFlag = False,
    output: OutputOption = None,
) -> None:
    """Cosines of the gradients that learning two facts of a set would take (the paper's table 5).

    Where premises and implication are no more alike than two random facts, learning the premises
    says nothing of the implication.
    """
    require_json(output, json)
    from ..depedit import editor as measured
    from ..depedit import protocol as running

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        knowledge = running.chosen(runtime, [knowledge_set], None)[0]
        named = running.graph_of(knowledge, graph)
        loaded = runtime.model(model, named, dtype=dtype, revision=revision)
        chosen = measured.pairs_of(
            knowledge, measured.wordings(runtime.db, named), most=pairs, seed=seed
        )
        found = measured.similarities(runtime, loaded, chosen, parameters=parameters.value)
    title = f"Gradients of {knowledge.id} in {loaded.name} ({parameters.value} parameters)"
    emit_rows(Table("similarities", title, SIMILARITIES, found), json=json, output=output)


# `thinkeval lab depedit`: the group and its commands `list`, `show`, `report` and `delete`.

depedit = typer.Typer(
    rich_markup_mode="rich",
    help=(
        "Does a model draw the conclusions of an edit? DepEdit's establish-and-update protocol.\n\n"
        "A knowledge set gives a model facts, changes some of them, and asks for those, for the"
        " others, and for what follows by a rule. [bold]thinkeval lab depedit build atlas[/bold]"
        " draws"
        " sets from a graph that ships with ThinkEval; [bold]run[/bold] one; [bold]report[/bold]."
    ),
)

depedit.command()(build)
depedit.command()(run)
depedit.command()(similarity)
depedit.command("import")(import_)
depedit.command()(export)


class TableName(StrEnum):
    """The table to print."""

    specificity = "specificity"
    implications = "implications"
    both = "both"


@depedit.command("list")
def list_(
    graph: DatasetOption = None,
    setting: SettingOption = None,
    runs: Annotated[bool, typer.Option("--runs", help="List the runs instead.")] = False,
    json: JsonFlag = False,
) -> None:
    """List the stored knowledge sets, or the runs on them."""
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        if not runs:
            found = listed(runtime, graph, setting)
            if json:
                emit_json([set_json(row) for row in found])
            else:
                show_sets(
                    "Knowledge sets", found, {}, "build some: thinkeval lab depedit build atlas"
                )
            return
        stored = store.list_runs(runtime.db, dataset=graph, setting=setting and setting.value)
    emit_rows(Table("runs", "Runs", RUNS, stored), json=json)


@depedit.command()
def show(
    name: Annotated[str, typer.Argument(metavar="SET|RUN", help="Id of a set or of a run.")],
    copy: Annotated[
        int | None, typer.Option(min=0, help="What this updated copy changes; of a run, asks.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Show a knowledge set with its questions, or a run with its answers and metrics."""
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        if any(row.id == name for row in store.list_runs(runtime.db)):
            show_run(runtime.db, name, copy, json=json)
        else:
            show_set(store.load_set(runtime.db, name), copy, json=json)


@depedit.command()
def report(
    graph: DatasetOption = None,
    setting: SettingOption = None,
    model: Annotated[str | None, typer.Option(help="Only runs of this model.")] = None,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="Only runs on this set; repeatable.")
    ] = None,
    table: Annotated[
        TableName, typer.Option(help="specificity (Table 3), implications (Tables 4, 7), or both.")
    ] = TableName.both,
    format: FormatOption = None,
    output: OutputOption = None,
    json: JsonFlag = False,
) -> None:
    """Print the paper's two tables over stored runs: one row a method, means over sets with n."""
    from ..depedit import report as reports

    format = report_format(format, json, output)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        found = reports.methods(
            runtime.db, dataset=graph, setting=setting and setting.value, model=model, sets=sets
        )
    names = list(reports.TABLES) if table is TableName.both else [table.value]
    if format == TABLE:
        for name in names:
            emit_table(reports.table(found, name))
    elif format == PARQUET:
        if len(names) > 1:
            raise UsageError(
                "A Parquet file has one table.", remedy=f"Add --table {' or '.join(names)}."
            )
        emit_rows(reports.table(found, names[0]), format=format, output=output)
    else:
        emit_text(reports.text(found, names, format), output)


@depedit.command()
def delete(
    names: Annotated[list[str], typer.Argument(metavar="SET|RUN...", help="Ids of sets or runs.")],
    json: JsonFlag = False,
) -> None:
    """Delete knowledge sets with the runs on them, or single runs."""
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        runs = {row.id for row in store.list_runs(runtime.db)}
        deleted: list[dict[str, object]] = []
        for name in names:
            if name in runs:
                store.delete_run(runtime.db, name)
                deleted.append({"run": name})
            else:
                deleted.append({"set": name, "runs": store.delete_set(runtime.db, name)})
            if not json:
                emit_note(_deleted(deleted[-1]))
    if json:
        emit_json(deleted)


def _deleted(item: dict[str, object]) -> str:
    if "run" in item:
        return f"Deleted the run {item['run']}"
    return f"Deleted the knowledge set {item['set']} and {item['runs']} runs on it"


def show_set(knowledge: KnowledgeSet, copy: int | None, *, json: bool) -> None:
    """The questions of the establish phase, or of one copy."""
    _require_copy(knowledge.id, copy, len(knowledge.copies))
    asked = [q for q in questions(knowledge) if q.copy == copy]
    if json:
        emit_json(
            {
                "id": knowledge.id,
                "dataset": knowledge.dataset,
                "setting": knowledge.setting,
                "seed": knowledge.seed,
                "rule": knowledge.rule.text(),
                "questions": [asdict(q) for q in asked],
            }
        )
        return
    phase = "established" if copy is None else f"copy {copy}"
    note = (
        f"{knowledge.rule.text()} {knowledge.setting}, seed {knowledge.seed},"
        f" {pluralize(len(knowledge.copies), 'updated copy')}"
    )
    emit_table(Table("questions", f"{knowledge.id}: {phase}", QUESTIONS, asked, note))


def _taught(question: Question) -> str | None:
    """The prompt by which a fact is edited, if it differs from the question."""
    taught = question.prompt.replace("{}", question.subject, 1)
    return None if taught == question.asked else taught


def show_run(db: Database, run: str, copy: int | None, *, json: bool) -> None:
    """The metrics of a run, and its answers in the establish phase or one copy."""
    shares = metrics_of(db, run)
    found = store.answers_of(db, run)
    copies = {a.copy for a in found if a.copy is not None}
    _require_copy(run, copy, len(copies))
    answers = [a for a in found if a.copy == copy]
    if json:
        emit_json(
            {
                "id": run,
                "metrics": {name: asdict(share) for name, share in shares.items()},
                "answers": [asdict(a) for a in answers],
            }
        )
        return
    columns = indexed("metric", "share", "answers", "copies")
    shown = [(TITLES[name], s.value, s.n, s.copies) for name, s in shares.items()]
    emit_table(Table("metrics", run, columns, shown))
    title = "established" if copy is None else f"copy {copy}"
    emit_table(Table("answers", title, ANSWERS, answers))


RUNS: list[Column[rows.ProtocolRunRow]] = [
    Column("id", lambda r: r.id, whole=True),
    Column("setting", lambda r: r.setting, optional=1),
    Column("model", lambda r: r.model, whole=True, optional=3),
    Column("method", lambda r: r.method),
    Column("seconds", lambda r: r.seconds, optional=2),
    Column("created", lambda r: r.created_at[:19], optional=4),
]
QUESTIONS: list[Column[Question]] = [
    Column("role", lambda q: q.role),
    Column("taught as", _taught, optional=1),
    Column("asked", lambda q: q.asked),
    Column("answer", lambda q: q.expected),
    Column("change", lambda q: q.change),
]
ANSWERS: list[Column[rows.AnsweredRow]] = [
    Column("role", lambda a: a.role),
    Column("asked", lambda a: a.asked),
    Column("right", lambda a: a.expected),
    Column("answer", lambda a: a.answer),
    Column("established", lambda a: a.established, optional=1),
    Column("change", lambda a: a.change),
]


def _require_copy(name: str, copy: int | None, there_are: int) -> None:
    if copy is not None and copy >= there_are:
        known = [str(i) for i in range(there_are)]
        raise NotFoundError(
            f"copy of {name!r}", str(copy), known, listing=f"thinkeval lab depedit show {name}"
        )
