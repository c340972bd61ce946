"""The kind of experiment `depedit`: strategies of the establish-and-update protocol on sets.

Each run of a strategy on a set is a part, stored when it is finished: an orphaned job is claimed
again and skips stored runs, and runs stay when their protocol is cancelled, fails or is deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...loaders.records import digest
from .. import NUMBERS_VERSION
from ..experiments import store as experiments
from ..experiments.kind import Kind, Prepared, Work
from ..formatting import pluralize
from ..graphs import datasets
from ..jobs import submit
from ..reports.formats import Column, Table
from ..schemas import Measure
from ..scoring.runtime import parse
from . import report, store
from .request import check, graphs_of, require_bounded, sets_of
from .schemas import ProtocolOut, RunsIn

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...loaders.knowledge_sets import KnowledgeSet
    from ..scoring.runtime import Runtime
    from ..settings import Settings

NAME = "depedit"


def _prepare(db: Database, settings: Settings, request: RunsIn) -> Prepared[RunsIn]:
    wanted = check(settings, request)
    sets = sets_of(db, request)
    total = require_bounded(sets, wanted)
    graphs = graphs_of(sets, request.graph)
    contents = [datasets.graph_digest(db, graph) for graph in graphs]
    written = request.model_copy(
        update={
            "sets": [row.id for row in sets],
            "strategies": [method.label for method in wanted],
            "editor": None,  # each strategy names its own now
        }
    )
    asked = written.model_dump(exclude={"force"})
    about = [asked, [row.content_digest for row in sets], contents, NUMBERS_VERSION]
    return Prepared(
        request=written,
        id=f"runs-{digest(about, 10)}",
        body=digest(asked, 16),
        affinity=submit.affinity_of(
            request.model, graphs[0] if len(graphs) == 1 else "", request.dtype, request.revision
        ),
        total=total,
        properties={"sets": written.sets},
    )


def _run(runtime: Runtime, request: RunsIn, work: Work) -> ProtocolOut:
    from .run import methods

    knowledge = [store.load_set(runtime.db, one) for one in request.sets or ()]
    wanted = methods(request.strategies or [], request.editor)
    return run_protocol(runtime, knowledge, wanted, request, work)


def run_protocol(
    runtime: Runtime,
    knowledge: list[KnowledgeSet],
    wanted: list[Any],
    request: RunsIn,
    work: Work,
) -> ProtocolOut:
    """Run every strategy on every set, and store the protocol with its tables.

    Args:
        wanted: strategies with their editors, each once.

    Raises:
        EditingError, ServiceError, GraphError: finished runs remain stored.
    """
    from .run import graph_of, run

    done = run(runtime, knowledge, wanted, request, work)
    model = parse(request.model).name
    sets = [one.id for one in knowledge]
    methods = {one.method for one in done}
    about = [[one.run for one in done], NUMBERS_VERSION]
    out = ProtocolOut(
        id=f"protocol-{digest(about, 10)}",
        graph=graph_of(knowledge[0], request.graph),
        model=model,
        sets=sets,
        strategies=[method.label for method in wanted],
        runs=[one.run for one in done],
        methods=[
            row
            for row in report.methods(
                runtime.db, sets=sets, model=model, runs={one.run for one in done}
            )
            if row.method in methods
        ],
        notes=[_took(done)],
        request=request.model_dump(mode="json"),
        reused=all(one.reused for one in done),
    )
    experiments.save(runtime.db, NAME, out, edits=[], lease=work.lease)
    return out


def _took(done: list[Any]) -> str:
    fresh = [one for one in done if not one.reused]
    took = sum(one.seconds or 0 for one in fresh)
    return (
        f"{pluralize(len(fresh), 'run')} in {took:.0f} s; {len(done) - len(fresh)} were stored"
        " already."
    )


def _tables(out: ProtocolOut, measure: Measure | None = None) -> list[Table[Any]]:
    return [report.table(out.methods, name) for name in report.TABLES]


def _sentences(out: ProtocolOut, measure: Measure | None = None) -> list[str]:
    return [
        f"{pluralize(len(out.runs), 'run')} of the establish-and-update protocol on"
        f" {pluralize(len(out.sets), 'knowledge set')}."
    ]


def _is_whole(db: Database, out: ProtocolOut) -> bool:
    return len(db.read(rows.ProtocolRunRow, "depedit/list_runs", ids=out.runs)) == len(
        set(out.runs)
    )


LISTED: list[Column[ProtocolOut]] = [
    Column("id", lambda out: out.id, whole=True),
    Column("strategies", lambda out: ", ".join(out.strategies)),
    Column("model", lambda out: out.model),
    Column("sets", lambda out: len(out.sets)),
    Column("runs", lambda out: len(out.runs)),
]

DEPEDIT = Kind(
    name=NAME,
    plural="protocols",
    noun="protocol",
    about="Runs strategies of DepEdit's establish-and-update protocol on knowledge sets: which"
    " conclusions follow once facts are established and updated.",
    request=RunsIn,
    result=ProtocolOut,
    prepare=_prepare,
    run=_run,
    title=lambda out: f"{', '.join(out.strategies)} on {out.model}",
    sentences=_sentences,
    listed=LISTED,
    tables=_tables,
    next=lambda out: [f"thinkeval depedit show {out.runs[0]}"] if out.runs else [],
    is_whole=_is_whole,
    again="Submit it again to have the rest run; finished runs are found.",
)
