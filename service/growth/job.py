"""Growth runs as jobs of the queue: checked, submitted, and run under a lease.

A run has one id for one request, so that the same request again continues it: after a kill, after
an endpoint that did not answer, after people have decided. Nothing here imports torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ...cypher import rows
from ...loaders import graphs as shipped
from ...loaders.records import digest, slug
from ..base.errors import ConflictError, UsageError
from ..base.leases import Lease
from ..experiments import submit
from ..experiments.job import JobProgress
from ..experiments.submit import EnqueueResult, enqueue
from ..graphs import datasets
from ..scoring.runtime import parse
from . import prompts
from .crawl import Names
from .elicit import start_entities
from .loop import seed_of
from .run import Attempt, require_prompts
from .schemas import EndpointIn, GrowthIn, GrowthOut
from .store import request_of

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...loaders.records import KnowledgeGraph
    from ..base.leases import Writer
    from ..base.settings import Settings
    from ..scoring.runtime import Runtime


GROWTH = "growth"
"""The kind of job that grows a graph."""


def check(settings: Settings, posted: GrowthIn) -> None:
    """Refuse a request that the service may not carry out, as for edits.

    Raises:
        UsageError: a model or an address that the operator has not allowed, or a bad seed.
    """
    seed_of(posted)
    for endpoint in (posted.answers, *posted.roles.values()):
        if endpoint.url is None:
            submit.require_allowed(settings, endpoint.model)
        else:
            require_address(settings, endpoint.url)


def require_address(settings: Settings, url: str) -> None:
    """Refuse an address that the service may not call: it may hold a key, and be inside a network.

    Raises:
        UsageError: it is not one that the operator named.
    """
    allowed = [each for each in (settings.llm_base_url, *settings.llm_endpoints) if each]
    if url.rstrip("/") not in [each.rstrip("/") for each in allowed]:
        raise UsageError(
            f"The endpoint {url!r} is not one that this service may call.",
            remedy="The operator adds addresses to THINKEVAL_LLM_ENDPOINTS, or sets"
            " THINKEVAL_LLM_BASE_URL.",
        )


class GrowthJob:
    """A submitted growth run."""

    KIND: ClassVar[str] = GROWTH

    def __init__(self, row: rows.ClaimJobRow, lease: Lease) -> None:
        self._row = row
        self.progress = JobProgress(lease)

    def run(self, runtime: Runtime) -> None:
        """Grow until a stop rule holds, or people are needed; both end the job."""
        posted = request_of(self._row)
        check(runtime.settings, posted)
        lease = self.progress.lease
        self.progress.enter("growing", 0.0)
        Attempt(runtime, self._row.id, posted, lease=lease, report=self._iteration).run()
        lease.succeed(runtime.db.write)
        lease.ended = True

    def _iteration(self, row: rows.IterationRow) -> None:
        words = f"iteration {row.number}: {row.triplets} triplets, {row.paths} chains"
        self.progress.enter(words, 1 - 0.8**row.number)

    @staticmethod
    def drop(db: Database, job: str) -> None:
        """Answers are results by themselves: they stay."""


def post(
    db: Database,
    settings: Settings,
    posted: GrowthIn,
    *,
    key: str | None = None,
    as_new: bool = False,
) -> EnqueueResult:
    """Accept a run, or queue one again that is stored; its questions are not asked again.

    Args:
        key: the client's idempotency key.
        as_new: begin another run of the same request.

    Raises:
        QueueFullError: too many jobs wait already.
        ConflictError: its prompts changed, its graph belongs to something else, or the key to
            another body.
        NotFoundError, UsageError: a worker would refuse it.
    """
    check(settings, posted)
    prepared = prepare(db, posted, as_new=as_new)
    return db.atomically(lambda tx: prepared.submit(tx.run, settings, key=key))


def post_again(db: Database, settings: Settings, row: GrowthOut) -> EnqueueResult:
    """Queue a stored run again; it continues with what was decided since.

    Raises:
        QueueFullError: too many jobs wait already.
        ConflictError: its prompts changed, or an earlier version stored its request.
    """
    require_prompts(row)
    prepared = Prepared(row.id, request_of(row))
    return db.atomically(lambda tx: prepared.submit(tx.run, settings))


class Prepared:
    """A request that is ready to be submitted.

    Attributes:
        id: of its run.
        request: as `GrowthIn`, with graph and base graph filled in.
    """

    def __init__(self, id: str, posted: GrowthIn) -> None:
        self.id, self.request = id, posted

    def submit(self, write: Writer, settings: Settings, *, key: str | None = None) -> EnqueueResult:
        """Store the run, and queue its job; raises as `accept`."""
        posted, endpoint = self.request, self.request.answers
        write(
            bool,
            "growth/merge_run",
            id=self.id,
            graph=posted.graph,
            seed=posted.seed or posted.base or ", ".join(text.name for text in posted.texts),
            elicit=posted.elicit,
            model=endpoint.model if endpoint.url else parse(endpoint.model).name,
            endpoint=f"{endpoint.model}@{endpoint.url or 'local'}",
            request=posted.model_dump_json(),
            prompts=prompts.digest(),
        )
        job = {
            "id": self.id,
            "request": posted.model_dump_json(),
            "affinity": _affinity(endpoint, posted.base),
            "properties": {"graph": posted.graph},
        }
        body = digest(posted.model_dump(mode="json"), 16)
        (accepted,) = enqueue(write, settings, GROWTH, [job], key=key, body=body, again=True)
        return accepted


def prepare(db: Database, posted: GrowthIn, *, as_new: bool = False) -> Prepared:
    """The run of a request: its id, its graph, and the base graph that a crawl needs.

    Raises:
        ConflictError: the stored run has other prompts, or the graph is not the run's.
        NotFoundError: no such base graph, or a crawl's start is not in it.
        UsageError: a bad seed, or nothing gives the relations of a crawl.
    """
    seed_of(posted)
    base = posted.base or _base_for(db, posted)
    if base is not None:
        datasets.get_or_import(db, base)
    elif posted.answers.url is None and parse(posted.answers.model).organism is not None:
        raise UsageError(
            "An organism is trained on a graph, and none is named.",
            remedy="Name it with --base, or another model with --model or --endpoint.",
        )
    if base is not None and posted.elicit == "crawl":
        content = datasets.stored_graph(db, base)
        start_entities(content, Names(content.entities), posted)  # refused before it is stored
    about = posted.model_copy(update={"base": base})
    start = posted.seed.split("|")[0] if posted.seed else base or posted.texts[0].name
    first = f"grow-{slug(start)[:40].strip('-')}-{digest(about.model_dump(mode='json'), 8)}"
    name, number = first, 1
    while (found := db.read(GrowthOut, "growth/runs", id=name)) and as_new:
        number += 1
        name = f"{first}-{number}"
    if found:
        require_prompts(found[0])
    graph = posted.graph or f"grown{name.removeprefix('grow')}"
    stored = db.read(rows.GraphRow, "graph/get_graph", graph=graph)
    if stored and not found:
        raise ConflictError(
            f"A graph {graph!r} is stored already.", remedy="Give another name with --graph."
        )
    return Prepared(name, about.model_copy(update={"graph": graph}))


def _affinity(endpoint: EndpointIn, base: str | None) -> str:
    if endpoint.url is not None:
        return f"{endpoint.model}@{endpoint.url}"
    return submit.affinity_of(endpoint.model, base or "", "float32", None)


def _base_for(db: Database, posted: GrowthIn) -> str | None:
    """A graph that knows the seed's relation and subject: a crawl takes its relations from one.

    Raises:
        UsageError: a crawl needs one, and none is stored or ships with us.
    """
    if posted.elicit != "crawl":
        return None
    subject, *rest = [part.strip() for part in (posted.seed or "").split("|")]
    relation = rest[0] if rest else None
    known = [row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", kind="dataset")]
    for name in dict.fromkeys([*shipped.names(), *sorted(known)]):
        graph = (
            datasets.read(shipped.path(name)).graph
            if name in shipped.names()
            else datasets.content(db, name)
        )
        if _has(graph, subject, relation):
            return name
    raise UsageError(
        f"No graph gives the relations of a crawl from {subject!r}.",
        remedy="Name one with --base; `thinkeval graphs` lists them.",
    )


def _has(graph: KnowledgeGraph, subject: str, relation: str | None) -> bool:
    names = {name for e in graph.entities for name in (e.name, *e.aliases)}
    relations = {fact.relation for fact in graph.facts}
    return subject in names and (relation is None or relation in relations)
