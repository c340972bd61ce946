"""Data sets in and out of the database: files to stored graphs, stored graphs back to records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import Field

from ...cypher import rows
from ...loaders import formats, graphs
from ...loaders.errors import UnreadableFileError
from ...loaders.label_audit import ADVICE
from ...loaders.reading.sources import require_no_pipe
from ...loaders.records import Entity, Fact, KnowledgeGraph, LoadedGraph, RewriteRequest
from ..base import processes
from ..base.errors import ConflictError, NotFoundError, UsageError
from ..base.settings import Settings
from .write import write_graph

if TYPE_CHECKING:
    from ...cypher.run import Database


T = TypeVar("T")

Progress = Callable[[int, int, str], None]

GRAPH_NAME = r"^[A-Za-z0-9][A-Za-z0-9._@:+ -]*$"
"""Names that data sets may be given over REST and in the web UI, of at most 100 characters."""
OWN = "own:"
"""Prefix of the ids of users' own rewrites; no id of a data set's rewrite holds a colon."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of storing a data set: `imported`, `replaced` or `unchanged`.

    Attributes:
        n_outdated: edits that were scored on the content which was replaced; tables leave them out.
    """

    graph: str
    status: str
    n_facts: int
    n_entities: int
    n_outdated: int = 0


@dataclass(frozen=True, slots=True)
class Dataset:
    """A stored data set, looked up once and handed on.

    Attributes:
        digest: of its content, as `KnowledgeGraph.content_digest`.
    """

    id: str
    n_facts: int
    digest: str


@dataclass(frozen=True, slots=True)
class StoredGraph:
    """A stored graph as the list shows it."""

    id: Annotated[str, Field(description="Id of the graph.")]
    kind: Annotated[str, Field(description="dataset, model or edit.")]
    dataset: Annotated[str, Field(description="Id of the data set's graph.")]
    model: Annotated[str | None, Field(description="Name of the model; null for a data set.")]
    edit: Annotated[str | None, Field(description="Id of the edit; null for a data set or model.")]
    n_facts: Annotated[int, Field(description="Number of facts.")]
    n_entities: Annotated[int, Field(description="Number of entities.")]
    n_rewrites: Annotated[int, Field(description="Number of rewrite requests.")]
    measures: Annotated[
        tuple[str, ...], Field(description="Measures of the probabilities that it holds.")
    ]
    created_at: Annotated[str, Field(description="Time of creation, ISO 8601 in UTC.")]


def read(
    path: Path | str,
    *,
    name: str | None = None,
    format: str | None = None,
    target_new: str | None = None,
    limit: int | None = None,
    snippets: Path | str | None = None,
    map: Sequence[str] | None = None,
) -> LoadedGraph:
    """Read a data set from a file, a folder, or by the name of a graph that ships with us.

    Args:
        target_new, limit, snippets, map: options of the formats that take them; None is not given.
    """
    source = Path(path)
    given = {"format": format, "name": name, "target_new": target_new, "limit": limit}
    load = partial(formats.load, **given, snippets=snippets, map=map or None)
    if not source.exists() and str(path) in graphs.names():
        source = graphs.path(str(path))
    if source.parent == graphs.path("hogwarts").parent:
        return load(source)  # one of ours
    return read_apart(load, source)


def read_apart(call: Callable[[Path], T], path: Path) -> T:
    """Read a file or folder in a process of its own, which ends at the limits of the settings.

    The file may come from anyone: one that takes all memory ends that process, and no other.

    Args:
        call: of a module that imports no torch, perhaps with further arguments by
            `functools.partial`.

    Raises:
        UnreadableFileError: it exceeds a limit, or is a pipe or a device.
        LoaderError: as the call.
    """
    require_no_pipe(path)
    settings = Settings()
    try:
        return processes.apart(
            call, path, seconds=settings.read_limit_s, memory=settings.read_limit_mb * 2**20
        )
    except (TimeoutError, MemoryError, ChildProcessError) as error:
        raise UnreadableFileError(
            f"Reading {path} was stopped: {error}",
            remedy="Read less of it, or allow more by THINKEVAL_READ_LIMIT_S and"
            " THINKEVAL_READ_LIMIT_MB if you trust it.",
        ) from error


def require_sound(loaded: LoadedGraph) -> None:
    """Refuse a data set with labels that are probably wrong (`loaders/label_audit.py`).

    Raises:
        UsageError: the audit has findings; names their number and the first one.
    """
    report = loaded.report
    if not report.findings:
        return
    first = report.findings[0]
    counted = ", ".join(f"{code} {n}" for code, n in report.audit.items())
    advice = "; ".join(f"{code}: {ADVICE[code]}" for code in report.audit)
    raise UsageError(
        f"Strict: the label audit of {Path(report.source).name} has findings ({counted});"
        f" nothing is stored. The first is {first.code}: {first.where}: {first.reason}.",
        remedy=f"{advice}. `thinkeval import PATH --audit FILE.csv` lists them all. Correct the"
        " file or, if its labels are right, import it without `strict`.",
    )


def store(
    db: Database,
    loaded: LoadedGraph,
    *,
    replace: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Store a data set as a graph; the same content twice changes nothing.

    Raises:
        ConflictError: a graph of that name with other content is stored and `replace` is not set.
    """
    graph = loaded.graph
    stored = db.read(rows.GraphRow, "graph/get_graph", graph=graph.name)
    if stored and stored[0].kind != "dataset":
        raise ConflictError(
            f"{graph.name!r} is the graph of a {stored[0].kind}, not a data set.",
            remedy="Import under another name.",
        )
    if stored and stored[0].content_digest == graph.content_digest:
        return Outcome(graph.name, "unchanged", stored[0].n_facts, stored[0].n_entities)
    if stored and not replace:
        raise ConflictError(
            f"Graph {graph.name!r} is stored already, with other content than"
            f" {loaded.report.source}.",
            remedy="Replace it with --replace, or import under another name with --name.",
        )
    extends: tuple[str, ...] = ()
    if stored and _extends(content(db, graph.name), graph):
        extends = (*stored[0].extends, stored[0].content_digest or "")
    facts = [fact_row(fact) for fact in graph.facts]
    described = header(graph, extends)
    done = write_graph(db, described, graph.entities, facts, graph.rewrites, progress)
    if not stored:
        return Outcome(graph.name, "imported", done.n_facts, done.n_entities)
    outdated = len(of_other_content(db, graph.name))
    return Outcome(graph.name, "replaced", done.n_facts, done.n_entities, outdated)


def header(graph: KnowledgeGraph, extends: Sequence[str] = ()) -> rows.GraphHeader:
    """The header that a data set is stored with.

    Args:
        extends: digests of its earlier contents, to which only rewrite requests were added.
    """
    return rows.GraphHeader(
        graph.name, "dataset", graph.name, content_digest=graph.content_digest,
        extends=tuple(extends),
    )  # fmt: skip


def _extends(before: KnowledgeGraph, after: KnowledgeGraph) -> bool:
    """Return True if only rewrite requests were added, so that earlier scores still hold."""
    kept = {each.id for each in before.rewrites}
    shared = tuple(each for each in after.rewrites if each.id in kept)
    return replaced(after, rewrites=shared).content_digest == before.content_digest


def of_other_content(db: Database, graph: str | None = None) -> set[str]:
    """Ids of the scored edits whose data set had other content than the stored one.

    Rewrite requests that were added since are no other content. An edit without a digest of its
    data set, and one of a data set that is not stored, is not among them.
    """
    return set(db.read(str, "edits/of_other_content", dataset=graph))


def compared(db: Database, loaded: LoadedGraph) -> str | None:
    """Compare with the stored graph of this name: `same` content, `other` content, or None."""
    stored = db.read(rows.GraphRow, "graph/get_graph", graph=loaded.graph.name)
    if not stored:
        return None
    return "same" if stored[0].content_digest == loaded.graph.content_digest else "other"


def get_or_import(db: Database, graph: str) -> Dataset:
    """The stored data set of that id; one that ships with us is imported when first named.

    Raises:
        NotFoundError: it is neither stored nor ours.
    """
    found = _row(db, graph)
    if found is None and graph in graphs.names():
        store(db, read(graphs.path(graph)))
        found = _row(db, graph)
    return _dataset(db, _required(db, graph, found, "dataset"))


def dataset(db: Database, graph: str) -> Dataset:
    """The stored data set of that id.

    Raises:
        NotFoundError: there is none; says which are close.
    """
    return _dataset(db, require_graph(db, graph))


def fact_row(fact: Fact) -> dict[str, object]:
    """A fact as graph/merge_facts takes it, without probabilities."""
    return {
        "id": fact.id,
        "subject": fact.subject,
        "relation": fact.relation,
        "object": fact.object,
        "prompt": fact.prompt,
        "question": fact.question,
        "questions": list(fact.questions),
        "paraphrases": list(fact.paraphrases),
        "cases": list(fact.cases),
    }


def to_fact(row: rows.FactRow) -> Fact:
    """A stored fact as a record."""
    return Fact(
        subject=row.subject,
        relation=row.relation,
        object=row.object,
        prompt=row.prompt,
        questions=row.questions,
        paraphrases=row.paraphrases,
        cases=row.cases,
    )


def stored_graph(db: Database, graph: str) -> KnowledgeGraph:
    """A stored data set as records, equal to what was imported.

    Raises:
        NotFoundError: there is no such data set.
    """
    require_graph(db, graph)
    return content(db, graph)


def content(db: Database, graph: str) -> KnowledgeGraph:
    """The records of a data set that was looked up before (`dataset`)."""
    entities = db.read(rows.EntityRow, "graph/entities", graph=graph)
    facts = db.read(rows.FactRow, "graph/facts", graph=graph)
    return KnowledgeGraph(
        name=graph,
        entities=tuple(Entity(e.name, e.aliases, e.kind) for e in entities),
        facts=tuple(to_fact(f) for f in facts),
        rewrites=tuple(list_rewrites(db, graph)),
    )


def require_graph(db: Database, graph: str, kind: str | None = "dataset") -> rows.GraphRow:
    """The stored graph of that id.

    Raises:
        NotFoundError: there is none (of that kind); says which are close.
    """
    return _required(db, graph, _row(db, graph), kind)


def _row(db: Database, graph: str) -> rows.GraphRow | None:
    # A text that cannot be an id (empty, or with the separator in it) is not stored.
    if not graph.strip() or "|" in graph:
        return None
    return next(iter(db.read(rows.GraphRow, "graph/get_graph", graph=graph)), None)


def _required(
    db: Database, graph: str, found: rows.GraphRow | None, kind: str | None
) -> rows.GraphRow:
    if found is None or (kind is not None and found.kind != kind):
        known = [g.graph for g in db.read(rows.GraphRow, "graph/list_graphs", kind=kind)]
        what = f"{kind or 'stored'} graph"
        missing = NotFoundError(what, graph, known, listing="thinkeval results graphs")
        if graph in graphs.names() and found is None:
            missing.remedy = f"It ships with ThinkEval: `thinkeval import {graph}` stores it."
        raise missing
    return found


def _dataset(db: Database, row: rows.GraphRow) -> Dataset:
    # A graph that came through the py2neo bridge has no stored digest.
    found = row.content_digest or content(db, row.graph).content_digest
    return Dataset(row.graph, row.n_facts, found)


def graph_digest(db: Database, graph: str) -> str:
    """The content digest of a stored data set; computed where none is stored with it."""
    return dataset(db, graph).digest


def list_graphs(db: Database) -> list[StoredGraph]:
    """Every complete graph, by kind and id."""
    rewrites = count_rewrites(db)
    return [
        StoredGraph(
            id=g.graph,
            kind=g.kind,
            dataset=g.dataset,
            model=g.model,
            edit=g.edit,
            n_facts=g.n_facts,
            n_entities=g.n_entities,
            n_rewrites=rewrites[g.graph] if g.kind == "dataset" else 0,
            measures=g.measures,
            created_at=g.created_at,
        )
        for g in db.read(rows.GraphRow, "graph/list_graphs")
    ]


def count_rewrites(db: Database) -> Counter[str]:
    """Count the rewrite requests of each data set, without those that users wrote."""
    found = db.read(RewriteRequest, "graph/list_rewrites")
    return Counter(each.dataset for each in found if not each.id.startswith(OWN))


def list_rewrites(
    db: Database, graph: str, *, own: bool = False, subject: str | None = None
) -> list[RewriteRequest]:
    """The rewrite requests of a data set, by id; or those that users wrote for it themselves.

    Args:
        subject: only those about this subject.

    Records of an edit of a user's own are no part of the data set: were they, the model
    trained on the data set and the covariance of its sentences would change with it.
    """
    return split_rewrites(db, graph, subject=subject)[int(own)]


def split_rewrites(
    db: Database, graph: str, *, subject: str | None = None
) -> tuple[list[RewriteRequest], list[RewriteRequest]]:
    """The rewrite requests of a data set, and those that users wrote for it, each by id."""
    found = db.read(RewriteRequest, "graph/list_rewrites", dataset=graph, subject=subject)
    written = [rewrite for rewrite in found if rewrite.id.startswith(OWN)]
    return [rewrite for rewrite in found if not rewrite.id.startswith(OWN)], written


def all_rewrites(db: Database, graph: str | None = None) -> list[RewriteRequest]:
    """The rewrite requests of all stored data sets, or of one, by data set and id; none own."""
    found = db.read(RewriteRequest, "graph/list_rewrites", dataset=graph)
    # Edits keep the rewrite requests of a data set that was deleted.
    stored = {row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", kind="dataset")}
    listed = [each for each in found if each.dataset in stored and not each.id.startswith(OWN)]
    return sorted(listed, key=lambda rewrite: (rewrite.dataset, rewrite.id))


def own_or_stored(db: Database, graph: str, rewrite: str) -> RewriteRequest:
    """A rewrite request by its id: of the data set, or one that a user wrote.

    Raises:
        NotFoundError: it is not stored (any more).
    """
    found = db.read(RewriteRequest, "graph/get_rewrite", dataset=graph, rewrite=rewrite)
    if not found:
        known = [r.id for r in db.read(RewriteRequest, "graph/list_rewrites", dataset=graph)]
        raise NotFoundError("rewrite", rewrite, known, listing=f"thinkeval graph rewrites {graph}")
    return found[0]


def chain_counts(
    db: Database, graph: str, rewrites: Sequence[RewriteRequest]
) -> dict[str, dict[int, int]]:
    """For each rewrite, how many chains of 1..5 steps lead from subject to old object."""
    counts: dict[str, dict[int, int]] = {r.id: dict.fromkeys(range(1, 6), 0) for r in rewrites}
    cases = [case(graph, r) for r in rewrites]
    for row in db.metric("chains_by_steps", cases=cases):
        if row.step is not None:
            counts[row.id][row.step] = row.n
    return counts


def case(graph: str, rewrite: RewriteRequest) -> dict[str, object]:
    """A rewrite as the metrics take it. The scope is the data set's where it states one."""
    return {
        "id": rewrite.id,
        "graph": graph,
        "subject": rewrite.subject,
        "object": rewrite.target_true,
        "relation": rewrite.relation,
        "rewrite": rewrite.id if rewrite.n_records else None,
    }
