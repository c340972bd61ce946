"""Requests of growth runs: checked, and completed with a graph and a base graph.

A run has one id for one request, so that the same request again continues it: after a kill, after
an endpoint that did not answer, after people have decided. Nothing here imports torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...cypher import rows
from ...loaders import graphs as shipped
from ...loaders.records import digest, slug
from ..base.errors import ConflictError, UsageError
from ..experiments import submit
from ..experiments.kind import Prepared
from ..graphs import datasets
from ..scoring.runtime import parse
from .crawl import Names
from .elicit import start_entities
from .loop import seed_of
from .run import require_prompts
from .runs import request_of
from .schemas import EndpointIn, GrowthIn, GrowthOut

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...loaders.records import KnowledgeGraph
    from ..base.settings import Settings


def check(settings: Settings, posted: GrowthIn) -> None:
    """Refuse a request that the service may not carry out, as for edits.

    Raises:
        UsageError: a model or an address that the operator has not allowed, or a bad seed.
    """
    seed_of(posted)
    for endpoint in filter(None, (posted.answers, posted.judge_model)):
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


def prepare(db: Database, posted: GrowthIn) -> Prepared[GrowthIn]:
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
    found = None if posted.as_new else _run_of(db, about)
    name = found.id if found else _name(db, about)
    found = found or next(iter(db.read(GrowthOut, "growth/runs", id=name)), None)
    if found:
        require_prompts(found)
    graph = posted.graph or f"grown{name.removeprefix('grow')}"
    if not found and db.read(rows.GraphRow, "graph/get_graph", graph=graph):
        raise ConflictError(
            f"A graph {graph!r} is stored already.", remedy="Give another name with --graph."
        )
    request = about.model_copy(update={"graph": graph})
    return Prepared(
        request=request,
        id=name,
        body=digest(request.model_dump(mode="json", exclude_defaults=True), 16),
        affinity=_affinity(posted.answers, base),
    )


def _run_of(db: Database, posted: GrowthIn) -> GrowthOut | None:
    """The run that a request was prepared for: it names the graph, which the run's id does not."""
    if posted.graph is not None:
        for run in db.read(GrowthOut, "growth/runs", graph=posted.graph, limit=1000):
            if request_of(run) == posted:
                return run
    return None


def _name(db: Database, posted: GrowthIn) -> str:
    """The id of a request's run; with `as_new` one that no run has."""
    start = posted.seed.split("|")[0] if posted.seed else posted.base or ""
    body = posted.model_dump(mode="json", exclude_defaults=True)
    first = f"grow-{slug(start)[:40].strip('-')}-{digest(body, 8)}"
    name, number = first, 1
    while posted.as_new and db.read(GrowthOut, "growth/runs", id=name):
        number += 1
        name = f"{first}-{number}"
    return name


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
        remedy="Name one with --base; `thinkeval results graphs` lists them.",
    )


def _has(graph: KnowledgeGraph, subject: str, relation: str | None) -> bool:
    names = {name for e in graph.entities for name in (e.name, *e.aliases)}
    relations = {fact.relation for fact in graph.facts}
    return subject in names and (relation is None or relation in relations)
