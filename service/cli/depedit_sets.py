"""`thinkeval depedit build`, `import` and `export`: knowledge sets drawn, read and written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..depedit import report
from ..errors import NothingStoredError
from ..scoring.runtime import Runtime
from ..settings import Settings
from .options import (
    DatasetOption,
    JsonFlag,
    OutputOption,
    SettingName,
    SettingOption,
)
from .output import emit_json, emit_table, emit_text
from .progress import ProgressBars

if TYPE_CHECKING:
    from ...cypher import rows
    from ...loaders.knowledge_sets import KnowledgeSet

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

    [bold]thinkeval depedit build atlas --setting CQ_DT --setting ICQ_DT[/bold]
    """
    from ..depedit import build as building
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
    note = f"{len(stored)} sets of {graph}; run one with `thinkeval depedit run SET`"
    show_sets(f"Knowledge sets of {graph}", stored, saved, note)
    for each in list(skipped.values())[:SKIPPED_SHOWN]:
        typer.echo(f"skipped rule {each.rule}: {each.reason}", err=True)
    if len(skipped) > SKIPPED_SHOWN:
        more = len(skipped) - SKIPPED_SHOWN
        typer.echo(f"and {more} more rules gave no set; --json lists them", err=True)


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

    loaded = jsonl.read(file, setting=setting.value, strict=strict, seed=seed)
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
    show_sets(f"Knowledge sets of {file}", stored, saved, f"{len(stored)} sets")
    for each in loaded.notes:
        typer.echo(f"line {each.line}: {each.reason}", err=True)
    for each in loaded.refused:
        typer.echo(f"refused: {each.reason}", err=True)


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
            "There is no knowledge set to export.", remedy="Build one: `thinkeval depedit build`."
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
    emit_table(report.sets_table(title, found, saved, note))
