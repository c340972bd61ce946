"""The kind of experiment `depedit`: its checks before a model is loaded, and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...editing import registry
from ...loaders.records import digest
from .. import NUMBERS_VERSION
from ..base.errors import NotFoundError, NothingStoredError, UsageError
from ..base.formatting import pluralize
from ..experiments import store as experiments
from ..experiments import submit
from ..experiments.kind import Kind, Prepared, Work
from ..graphs import datasets
from ..models.depedit import ProtocolOut, RunsIn
from ..models.edit import Measure
from ..reports.formats import Column, Table
from ..scoring.runtime import parse
from . import protocol, report, store, strategies
from .editor import ALIASES, require_weights
from .protocol import Method

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...loaders.knowledge_sets import KnowledgeSet
    from ..base.settings import Settings
    from ..scoring.runtime import Runtime


# Checks of a request to run DepEdit's protocol, before a model is loaded.
#
# A file belongs to the service, not to the client, so that a request may name none. Imports no
# torch.

MOST = 2000
"""Runs that one job may ask for."""


def check(settings: Settings, posted: RunsIn) -> list[Method]:
    """Return the methods that are run on each set, in order and each once.

    Raises:
        NotFoundError: no such strategy; close ones are suggested.
        EditingError: no such editor, or it has no hyperparameters for the model, or does not take
            the given hyperparameters.
        UsageError: the model is not on the allow-list, an editor fits no strategy, or a file is
            named.
    """
    submit.require_allowed(settings, posted.model)
    found = protocol.methods(posted.strategies or [], posted.editor)
    for name in dict.fromkeys(filter(None, map(editor_of, found))):
        _check_editor(name, posted)
    # `forwchain` is `finetune+forwchain`: runs of one id are one run.
    return list({(method.strategy, method.wrapped): method for method in found}.values())


def editor_of(method: Method) -> str | None:
    """The editor that a method puts facts in with; None where it edits nothing."""
    name = method.editor or strategies.get(method.strategy).EDITOR
    return None if name == "base" else name


def _check_editor(name: str, posted: RunsIn) -> None:
    method = "mend" if name == "mend_imp" else ALIASES.get(name, name)
    require_weights(name, registry.info(method))
    submit.require_hparams(name, method, posted.hparams)
    submit.require_overrides(method, posted.overrides)


def sets_of(db: Database, posted: RunsIn) -> list[rows.KnowledgeSetRow]:
    """The sets that are meant, in order and each once.

    Raises:
        NotFoundError: no such set, or no such graph; close names are suggested.
        NothingStoredError: the graph has no sets.
        UsageError: nothing says which, or a set came from a file and no graph is named.
    """
    if posted.sets is not None:
        by_id = {row.id: row for row in store.list_sets(db)}
        for name in posted.sets:
            if name not in by_id:
                raise NotFoundError("knowledge set", name, by_id, listing="GET /v1/depedit/sets")
        return [by_id[name] for name in dict.fromkeys(posted.sets)]
    if posted.graph is None:
        raise UsageError(
            "Nothing says which knowledge sets to run.",
            remedy="Give their ids as `sets`, or `graph` for all of a data set's.",
        )
    found = store.list_sets(db, dataset=posted.graph)
    if not found:
        datasets.require_graph(db, posted.graph)
        raise NothingStoredError(
            f"No knowledge set of {posted.graph!r} is stored.",
            remedy="`POST /v1/depedit/sets` builds some.",
        )
    return found


def graphs_of(sets: Sequence[rows.KnowledgeSetRow], graph: str | None) -> list[str]:
    """The graphs whose models are used, each once.

    Raises:
        UsageError: a set came from a file, and no graph is named.
    """
    for row in sets:
        if not (graph or row.dataset):
            raise UsageError(
                f"The knowledge set {row.id!r} came from a file, which names no graph.",
                remedy="Name the graph whose sentences and model are used as `graph`.",
            )
    return list(dict.fromkeys(graph or row.dataset for row in sets))


def require_bounded(sets: Sequence[rows.KnowledgeSetRow], wanted: Sequence[Method]) -> int:
    """Return the number of runs that this makes.

    Raises:
        UsageError: too many for one job.
    """
    total = len(sets) * len(wanted)
    if total > MOST:
        raise UsageError(
            f"{len(sets)} sets and {len(wanted)} strategies make {total:,} runs; one job may ask"
            f" for {MOST:,}.",
            remedy="Post them in parts: fewer sets or strategies at a time.",
        )
    return total


# The kind of experiment `depedit`: strategies of the establish-and-update protocol on sets.
#
# Each run of a strategy on a set is a part, stored when it is finished: an orphaned job is
# claimed again and skips stored runs, and runs stay when their protocol is cancelled, fails or is
# deleted.

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
    asked = written.model_dump(exclude={"force"}, exclude_defaults=True)
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
    from .protocol import methods

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
    from .protocol import graph_of, run

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
    about="Tests whether conclusions follow when facts are taught and updated (DepEdit).",
    request=RunsIn,
    result=ProtocolOut,
    prepare=_prepare,
    run=_run,
    title=lambda out: f"{', '.join(out.strategies)} on {out.model}",
    sentences=_sentences,
    listed=LISTED,
    tables=_tables,
    next=lambda out: [f"thinkeval lab depedit show {out.runs[0]}"] if out.runs else [],
    is_whole=_is_whole,
    again="Submit it again to have the rest run; finished runs are found.",
)
