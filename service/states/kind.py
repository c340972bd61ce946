"""The kind of experiment `comparison`: states of a model, each compared with a base."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...loaders.records import digest, slug
from .. import NUMBERS_VERSION
from ..base.errors import NotFoundError, NothingStoredError
from ..experiments import submit
from ..experiments.kind import Kind, Prepared, Work
from ..graphs import datasets
from ..models.edit import Measure
from ..reports.formats import Column, Table
from ..scoring import record, tasks
from . import table
from .checks import requests_of, require_allowed
from .schemas import ComparisonIn, ComparisonOut
from .verdict import verdict

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..base.settings import Settings
    from ..scoring.runtime import Runtime


def _prepare(db: Database, settings: Settings, request: ComparisonIn) -> Prepared[ComparisonIn]:
    for state in (request.base, *request.states):
        require_allowed(settings, db, state)
    tasks.require_no_files(request)
    dataset = datasets.get_or_import(db, request.graph)
    rewrites = requests_of(db, request)
    identity = [rewrite.identity for rewrite in rewrites]
    about = request.digested("rewrites", "all_rewrites", "forget")
    last = request.states[-1]
    return Prepared(
        request=request,
        id=f"comparison-{slug(last.name)[:40]}-"
        + digest([about, identity, dataset.digest, NUMBERS_VERSION], 10),
        body=digest([about, identity], 16),
        affinity=submit.affinity_of(
            last.model, request.graph, request.dtype, last.revision, request.organism_seed
        ),
    )


def _run(runtime: Runtime, request: ComparisonIn, work: Work) -> ComparisonOut:
    from .compare import compare  # imports numpy

    return compare(runtime, request, work=work)


def _further(db: Database, out: ComparisonOut, measure: Measure | None = None) -> list[Table[Any]]:
    """Paired differences of several states, and the conclusions of rules."""
    by = table.measure_of(out, measure)
    return [*_paired(db, out, by), *_forms(db, out), *_concluded(db, out, by)]


def _forms(db: Database, out: ComparisonOut) -> list[Table[Any]]:
    """Forms of asking and questions of the data set over the requests, a column a state."""
    from ..reports import checks
    from ..reports.comparison import families
    from ..reports.forms import tables_over_edits

    edits = {
        request.edit: table.short_name(state) for state in out.states for request in state.requests
    }
    try:
        scores = record.scores(db, list(edits))
    except (NotFoundError, NothingStoredError):
        return []
    scores = [score for score in scores if score.forms or score.checks]
    if not scores:
        return []
    names, families_ = {score.method: edits[score.edit] for score in scores}, families(db, scores)
    forms = tables_over_edits([score for score in scores if score.forms], families_, names)
    return [*forms, *checks.tables_over_edits(db, scores, families_, names)]


def _paired(db: Database, out: ComparisonOut, measure: Measure) -> list[Table[Any]]:
    """Each later state minus the first, over the requests that were scored in both.

    A single request says nothing about chance, so it has no table; a comparison whose scores were
    deleted has none either.
    """
    if len(out.states) < 2 or all(len(state.requests) < 2 for state in out.states):
        return []
    edits = [request.edit for state in out.states for request in state.requests]
    from ..reports import paired
    from ..reports.comparison import compare as methods

    try:
        scores = record.scores(db, edits)
    except (NotFoundError, NothingStoredError):
        return []
    found = methods(db, scores, measure)
    return [
        paired.table(each)
        for each in paired.paired(found, measure, best=scores[0].method)
        if each.refused or any(row.n > 1 for row in each.rows)
    ]


def _concluded(db: Database, out: ComparisonOut, measure: Measure) -> list[Table[Any]]:
    """The conclusions of rules: a row a kind of request, or of several states one a state."""
    from ..reports import graph_tables

    if not out.request.get("implications"):
        return []
    groups = table.edits_by_kind(out.states[0])
    if len(out.states) > 1:
        groups = {
            f"{place} {table.short_name(state)}": [each.edit for each in state.requests]
            for place, state in enumerate(out.states)
        }
    found = graph_tables.by_group(db, groups, measure)
    return [graph_tables.table(found)] if found else []


def _verdict(out: ComparisonOut) -> str:
    """Return the kind of the last state's verdict; of one that decides nothing, its lost facts."""
    last = out.states[-1]
    return verdict(last, last.measure).kind or f"{last.drift[last.measure].total.lost} lost"


LISTED: list[Column[ComparisonOut]] = [
    Column("id", lambda out: out.id, whole=True),
    Column("states", table.line_of),
    Column("graph", lambda out: out.graph, optional=1),
    Column("requests", lambda out: len(out.states[0].requests)),
    Column("facts", lambda out: out.n_facts),
    Column("verdict", _verdict),
]

COMPARISON = Kind(
    name="comparison",
    plural="comparisons",
    noun="comparison",
    about="Compares two or more versions of a model fact by fact.",
    request=ComparisonIn,
    result=ComparisonOut,
    prepare=_prepare,
    run=_run,
    title=table.title,
    listed=LISTED,
    sentences=table.sentences,
    tables=table.tables,
    further=_further,
    next=table.again,
    protocol=table.protocol,
    figures={"drift": table.figure, "retention": table.retention_figure},
    owns_edits=True,
    again="Submit it again: answers that a state gave are found.",
)
