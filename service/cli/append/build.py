"""`thinkeval peak build`: requests to append an answer, from the facts of a graph."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ...graphs import datasets
from ...graphs.append_requests import LEAST_CORRECT, WANTED, RefusedKey, Requests
from ...reports.formats import Column, Table
from ...scoring.append.build import build as build_requests
from ...scoring.runtime import Runtime
from ...settings import Settings
from ..options import JsonFlag, ModelOption, ProbeOptions
from ..output import emit_json, emit_table
from ..progress import ProgressBars

if TYPE_CHECKING:
    from ....loaders.records import RewriteRequest


def build(
    graph: Annotated[str, typer.Argument(help="Id of a graph: a data set.")],
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
    """Build requests to append an answer from a graph's facts, and store them in the graph.

    Every subject and relation with at least three objects is wanted: they are the correct answers.
    The new answer is another entity of the relation's range that the model does not give (its
    probability before any edit is not above the range's 90th percentile). Hard false answers have a
    fact with the new answer, random ones are far from it. A subject and relation that has a request
    already keeps it, so the same command again changes nothing.
    """
    with ProgressBars() as progress, Runtime(Settings(), progress) as runtime:
        dataset = datasets.get_or_import(runtime.db, graph)
        found = build_requests(
            runtime,
            dataset,
            model=None if without_model else model,
            chat=chat,
            dtype=dtype,
            revision=revision,
        )
    if json:
        refused = [asdict(each) for each in found.refused]
        built = [{**request.identity, "kind": request.kind} for request in found.built]
        emit_json(asdict(found) | {"built": built, "refused": refused})
        return
    emit_table(Table("built", f"Requests to append, {graph}", BUILT, found.built, _note(found)))
    if found.refused:
        emit_table(Table("refused", "Refused", REFUSED, found.refused))


BUILT: list[Column[RewriteRequest]] = [
    Column("request", lambda r: r.id, whole=True),
    Column("new answer", lambda r: r.target_new, optional=1),
    Column("correct", lambda r: len(r.correct)),
    Column("hard", lambda r: len(r.hard)),
    Column("random", lambda r: len(r.random)),
    Column("locality", lambda r: len(r.neighborhood), optional=2),
]
REFUSED: list[Column[RefusedKey]] = [
    Column("subject", lambda each: each.subject),
    Column("relation", lambda each: each.relation),
    Column("reason", lambda each: each.reason, whole=True),
]


def _note(found: Requests) -> str:
    """How many requests and false answers were wanted and found."""
    wanted = found.keys - found.stored
    of = WANTED * len(found.built)
    hard = sum(len(request.hard) for request in found.built)
    random = sum(len(request.random) for request in found.built)
    return (
        f"{wanted} wanted (subject and relation with {LEAST_CORRECT} objects or more),"
        f" {len(found.built)} built, {len(found.refused)} refused, {found.stored} stored before;"
        f" hard false answers {hard} of {of}, random {random} of {of}"
    )
