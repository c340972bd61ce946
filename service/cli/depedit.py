"""`thinkeval depedit`: the group and its commands `list`, `show`, `report` and `delete`."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ..depedit import store
from ..depedit.metrics import TITLES, metrics_of
from ..depedit.questions import questions
from ..depedit.schemas import Question
from ..errors import NotFoundError, UsageError
from ..reports.formats import PARQUET, Column, Table, indexed
from ..scoring.runtime import Runtime
from ..settings import Settings
from .depedit_run import run, similarity
from .depedit_sets import build, export, import_, listed, set_json, show_sets
from .options import DatasetOption, FormatOption, JsonFlag, OutputOption, SettingOption
from .output import TABLE, emit_json, emit_rows, emit_table, emit_text, report_format
from .progress import ProgressBars

if TYPE_CHECKING:
    from ...cypher import rows
    from ...cypher.run import Database
    from ...loaders.knowledge_sets import KnowledgeSet

depedit = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help=(
        "Does a model draw the conclusions of an edit? DepEdit's establish-and-update protocol.\n\n"
        "A knowledge set gives a model facts, changes some of them, and asks for those, for the"
        " others, and for what follows by a rule. [bold]thinkeval depedit build atlas[/bold] draws"
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
    from ..depedit import store

    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        if not runs:
            found = listed(runtime, graph, setting)
            if json:
                emit_json([set_json(row) for row in found])
            else:
                show_sets("Knowledge sets", found, {}, "build some: thinkeval depedit build atlas")
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
    from ..depedit import store

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
    from ..depedit import store

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
                typer.echo(_deleted(deleted[-1]))
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
        f" {len(knowledge.copies)} updated copies"
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
            f"copy of {name!r}", str(copy), known, listing=f"thinkeval depedit show {name}"
        )
