"""`import`, `results graphs`, `graph rewrites`: import of data sets, and lists of stored ones."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...loaders.table_roles import ROLES
from ..base.errors import NotFoundError, UsageError
from ..base.formatting import pluralize
from ..base.settings import Settings
from ..graphs import datasets
from ..graphs.delete import delete_graph
from ..graphs.requests import LEAST_CORRECT, WANTED, RefusedKey, Requests
from ..reports.formats import Column, Table, indexed, render
from ..reports.graph_tables import GRAPHS
from ..scoring import deltas
from ..scoring.runtime import Runtime
from .options import JsonFlag, ModelOption, ProbeOptions
from .output import ProgressBars, emit_json, emit_note, emit_rows, emit_table, notice, write_bytes

if TYPE_CHECKING:
    from ...loaders.records import RewriteRequest


def import_(
    path: Annotated[
        Path,
        typer.Argument(
            help="A table of facts (subject, relation, object; CSV, TSV, JSON records), a YAML"
            " graph (subject → relation → objects, or ours with templates), a KnowGIC chains.json"
            " (or its folder), a file of records (CounterFact, zsRE, PEAK, MQuAKE, KnowEdit,"
            " RippleEdits, TOFU, RWKU, HalluEditBench, EasyEdit's results), the folder of"
            " the LRE relations; or the name of a graph that ships with ThinkEval (world, hogwarts,"
            " atlas, inkwell)."
        ),
    ],
    name: Annotated[
        str | None, typer.Option(help="Id of the graph; default: the file's or folder's name.")
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            help="Key of a format: knowgic, triples, graph_yaml, counterfact, zsre, peak, lre,"
            " mquake, knowedit, easyedit_results, ripple_edits, tofu, rwku,"
            " hallu_edit_bench; default: recognised."
        ),
    ] = None,
    target_new: Annotated[
        str | None,
        typer.Option(help="New object of the rewrite, for sets that name only the base triple."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Only the first so many records, of sets with an edit a record."),
    ] = None,
    snippets: Annotated[
        Path | None,
        typer.Option(
            help="CounterFact's attribute_snippets.json: reference texts, for consistency."
        ),
    ] = None,
    map: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=ROLE",
            help="Role of a column of a table, where its name does not say it; repeatable. Roles:"
            f" {', '.join(ROLES)}.",
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a stored graph of that name that differs.")
    ] = False,
    notes: Annotated[
        bool, typer.Option("--notes", help="Print every merge, repair and refusal.")
    ] = False,
    audit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="Write every finding of the label audit: code, place, reason."
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Store nothing if the label audit has a finding.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Import a data set as a graph.

    A report says what was read, merged, repaired and refused, and which labels are probably wrong
    (contradicting objects, objects in their own prompts, near-duplicate names, ...). Importing the
    same file twice changes nothing.
    """
    loaded = datasets.read(
        path,
        name=name,
        format=format,
        target_new=target_new,
        limit=limit,
        snippets=snippets,
        map=map,
    )
    if audit is not None:
        found = [(each.code, each.kind, each.where, each.reason) for each in loaded.report.findings]
        columns = indexed("code", "kind", "where", "reason")
        write_bytes(audit, render(Table("audit", "Label audit", columns, found), "csv").encode())
    if strict:
        datasets.require_sound(loaded)
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        outcome = datasets.store(runtime.db, loaded, replace=replace, progress=progress)
    if outcome.n_outdated:
        of = pluralize(outcome.n_outdated, "edit")
        notice(f"{of} of the former content: tables leave them out; score them again.")
    if json:
        stored = {"graph": outcome.graph, "status": outcome.status}
        emit_json({**stored, "n_outdated": outcome.n_outdated, **asdict(loaded.report)})
        return
    report = loaded.report
    counts = report.counts()
    title = f"{outcome.graph}: {outcome.status}"
    source = f"from {report.source} as {report.format}"
    counted = (
        [(f"read: {k}", v) for k, v in report.read.items()]
        + [(f"kept: {k}", v) for k, v in report.kept.items()]
        + [(f"notes: {k}", counts[k]) for k in sorted(counts)]
        + [(f"audit: {k}", v) for k, v in report.audit.items()]
    )
    emit_table(Table("imported", title, indexed("", "count"), counted, source))
    for layout in report.layouts:
        emit_note(layout)
    shown = report.notes if notes else [n for n in report.notes if n.kind == "refused"][:20]
    for note in shown:
        emit_note(f"{note.kind}: {note.where}: {note.reason}")
    if counts and not notes:
        notice("Every note with its reason: add --notes.")


def graphs(
    id: Annotated[str | None, typer.Argument(help="Show this one; default: list them all.")] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete it.")] = False,
    with_dependents: Annotated[
        bool,
        typer.Option(
            "--with-dependents",
            help="Also delete everything derived from a data set: edits and their saved updates,"
            " model graphs, sweeps, rules, knowledge sets.",
        ),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """List the graphs, or show or delete one: of data sets, models and edits."""
    if with_dependents and not delete:
        raise UsageError("--with-dependents belongs to --delete.", remedy="Add --delete.")
    if delete and id is None:
        raise UsageError("Name a graph.", remedy="`thinkeval results graphs` lists them.")
    settings = Settings()
    with ProgressBars() as progress, Runtime(settings, progress) as runtime:
        if delete and id is not None:
            removed = delete_graph(runtime.db, id, with_dependents=with_dependents)
            for edit in removed:
                deltas.remove(settings, edit)
            if json:
                emit_json({"deleted": id, "edits": list(removed)})
            else:
                emit_note(f"Deleted graph {id}.")
            return
        stored = datasets.list_graphs(runtime.db)
    if id is not None:
        known = [each.id for each in stored]
        if id not in known:
            raise NotFoundError("graph", id, known, listing="thinkeval results graphs")
        stored = [each for each in stored if each.id == id]
    note = "" if stored else "none yet: `thinkeval import hogwarts`"
    emit_rows(Table("graphs", "Graphs", GRAPHS, stored, note), json=json)


class Buildable(StrEnum):
    """Kinds of requests that are built from a graph's facts."""

    append = "append"


def rewrites(
    graph: Annotated[str, typer.Argument(help="Id of a graph: a data set.")],
    build: Annotated[
        Buildable | None,
        typer.Option(help="Build requests of this kind from the graph's facts, and store them."),
    ] = None,
    model: ModelOption = "organism",
    without_model: Annotated[
        bool,
        typer.Option(
            "--without-model",
            help="Choose new answers by name only, whatever a model says of them.",
        ),
    ] = False,
    chat: ProbeOptions.chat = "auto",
    dtype: ProbeOptions.dtype = "float32",
    revision: ProbeOptions.revision = None,
    json: JsonFlag = False,
) -> None:
    """List a data set's rewrite requests with the number of their chains.

    [bold]--build append[/bold] first makes a request to append an answer for every subject and
    relation with at least three objects: they are the correct answers. The new answer is another
    entity of the relation's range that the model does not give (its probability before any edit is
    not above the range's 90th percentile). Hard false answers have a fact with the new answer,
    random ones are far from it. What has a request already keeps it, so the same command again
    changes nothing.
    """
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        dataset = datasets.get_or_import(runtime.db, graph)
        built = None
        if build:
            from ..scoring.append import build_requests

            asked = None if without_model else model
            built = build_requests(
                runtime, dataset, model=asked, chat=chat, dtype=dtype, revision=revision
            )
        listed = list(built.built) if built else datasets.list_rewrites(runtime.db, graph)
        chains = datasets.chain_counts(runtime.db, graph, listed)
    counts = {id: sum(by_steps.values()) for id, by_steps in chains.items()}
    columns: list[Column[RewriteRequest]] = [
        Column("rewrite", lambda r: r.id, whole=True),
        Column("subject", lambda r: r.subject, optional=3),
        Column("prompt", lambda r: r.prompt, optional=5),
        Column("target_true", lambda r: r.target_true, optional=4),
        Column("target_new", lambda r: r.target_new, optional=2),
        Column("chains", lambda r: counts[r.id]),
    ]
    if any(r.kind == "append" for r in listed):
        columns.insert(1, Column("kind", lambda r: r.kind))
        columns.append(Column("correct / hard / random", _answers, optional=1))
    chained = pluralize(sum(counts.values()), "chain")
    note = f"{pluralize(len(listed), 'rewrite')}, {chained} of ≤ 5 facts"
    if built:
        note = _said(built)
    value: Any = [{**r.fields, "kind": r.kind, "chains": chains[r.id]} for r in listed]
    if built:
        value = asdict(built) | {"built": value}
    emit_rows(
        Table("rewrites", f"Rewrites of {graph}", columns, listed, note), value=value, json=json
    )
    if built and built.refused and not json:
        emit_table(Table("refused", "Refused", REFUSED, built.refused))


REFUSED: list[Column[RefusedKey]] = [
    Column("subject", lambda each: each.subject),
    Column("relation", lambda each: each.relation),
    Column("reason", lambda each: each.reason, whole=True),
]


def _said(found: Requests) -> str:
    """Return how many requests to append and false answers were wanted and found."""
    of = WANTED * len(found.built)
    hard = sum(len(request.hard) for request in found.built)
    random = sum(len(request.random) for request in found.built)
    return (
        f"{found.keys - found.stored} wanted (subject and relation with {LEAST_CORRECT} objects or"
        f" more), {len(found.built)} built, {len(found.refused)} refused, {found.stored} stored"
        f" before; hard false answers {hard} of {of}, random {random} of {of}"
    )


def _answers(request: RewriteRequest) -> str:
    """The numbers of answers of a request to append."""
    if request.kind == "replace":
        return ""
    return f"{len(request.correct)} / {len(request.hard)} / {len(request.random)}"
