"""Write a graph so that readers see all of it or nothing.

Up to TX_LIMIT facts go in one transaction. A bigger graph goes in batches under a graph that is
incomplete, and so invisible, until the last step; remains of a failure are deleted. A graph whose
facts take long to measure is written in parts, which stay until another process continues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ...cypher import rows
from ...loaders.records import Entity, RewriteRequest, canonical

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx


TX_LIMIT = 10_000
"""Facts in one transaction; one of 50,000 stopped a server with a 256 MB heap."""
BATCH = 5_000
REWRITE_BATCH = 1_000
"""Rewrite requests in one query: each may carry some pages of reference texts."""

Progress = Callable[[int, int, str], None]


class Runs(Protocol):
    """Runs a query and returns its rows: in a transaction of its own, or in one that is open."""

    def __call__(self, row_type: type[Any], name: str, /, **params: Any) -> list[Any]:
        """Run the query of a name."""
        ...


Fence = Callable[[Runs], object]
"""Checks, within a transaction, that this process may still write."""


def entity_row(entity: Entity) -> dict[str, object]:
    """An entity as graph/merge_entities takes it."""
    return {"name": entity.name, "aliases": list(entity.aliases), "kind": entity.kind}


def rewrite_row(request: RewriteRequest) -> dict[str, object]:
    """A rewrite request as graph/merge_rewrites takes it."""
    return {
        "rewrite": request.id,
        "prompt": request.prompt,
        "subject": request.subject,
        "relation": request.relation,
        "target_true": request.target_true,
        "target_new": request.target_new,
        "question": request.question,
        "paraphrases": list(request.paraphrases),
        "n_records": request.n_records,
        "neighborhood": list(request.neighborhood),
        "neighborhood_objects": list(request.neighborhood_objects),
        "generation_prompts": list(request.generation_prompts),
        "reference_texts": list(request.reference_texts),
        "correct": list(request.correct),
        "hard": list(request.hard),
        "random": list(request.random),
        "checks": [canonical(check.stated) for check in request.checks],
    }


def write_graph(
    db: Database,
    header: rows.GraphHeader,
    entities: Sequence[Entity],
    facts: Sequence[Mapping[str, object]],
    rewrites: Sequence[RewriteRequest] | None = None,
    progress: Progress | None = None,
    fence: Fence | None = None,
) -> rows.CompleteGraphRow:
    """Write a graph, replacing one of the same id; return its new counts.

    Args:
        facts: rows as graph/merge_facts takes them.
        rewrites: for a data set its rewrite requests; None leaves the stored ones alone.
        fence: called within every transaction that writes; raises to have it rolled back.

    Raises:
        GraphError: nothing of the graph is visible then, and an earlier graph is as it was
            (up to TX_LIMIT facts) or gone (above, where the replacing had begun).
        Exception: raised by `fence`; nothing was written since.
    """

    def whole(tx: Tx) -> rows.CompleteGraphRow:
        written = _write(tx.run, header, entities, facts, rewrites, progress)
        if fence is not None:
            fence(tx.run)  # last, as it locks the job whose lease is renewed meanwhile
        return written

    if len(facts) <= TX_LIMIT:
        return db.atomically(whole)
    run = db.write if fence is None else fenced(db, fence)
    _empty(db, run, header.graph, fence)
    try:
        return _write(run, header, entities, facts, rewrites, progress)
    except BaseException:
        _empty(db, run, header.graph, fence)
        raise


def fenced(db: Database, fence: Fence) -> Runs:
    """Runs each query in a transaction that is fenced."""

    def run(row_type: type[Any], name: str, /, **params: Any) -> list[Any]:
        def work(tx: Tx) -> list[Any]:
            fence(tx.run)
            return tx.run(row_type, name, **params)

        return db.atomically(work)

    return run


def _empty(db: Database, run: Runs, graph: str, fence: Fence | None) -> None:
    """Delete a large graph in batches; one whose writing is fenced stays, empty and hidden."""
    if fence is None:
        db.autocommit(int, "graph/delete_graph", graph=graph)
        return
    while run(int, "graph/clear_graph", graph=graph, limit=BATCH)[0]:
        pass


def _write(
    run: Runs,
    header: rows.GraphHeader,
    entities: Sequence[Entity],
    facts: Sequence[Mapping[str, object]],
    rewrites: Sequence[RewriteRequest] | None,
    progress: Progress | None,
) -> rows.CompleteGraphRow:
    run(rows.MergeGraphRow, "graph/merge_graph", **vars(header))
    run(int, "graph/clear_graph", graph=header.graph)
    _write_entities(run, header, entities)
    given = list({fact["id"]: fact for fact in facts}.values())  # of one id the last
    for start in range(0, len(given), BATCH):
        batch = given[start : start + BATCH]
        run(rows.WrittenRow, "graph/create_facts", graph=header.graph, rows=batch)
        if progress is not None:
            progress(min(start + BATCH, len(given)), len(given), "writing facts")
    if rewrites is not None:
        keep = [r.id for r in rewrites]
        run(int, "graph/delete_rewrites", dataset=header.dataset, keep=keep)
        for start in range(0, len(rewrites), REWRITE_BATCH):
            batch = [rewrite_row(r) for r in rewrites[start : start + REWRITE_BATCH]]
            run(rows.WrittenRow, "graph/merge_rewrites", dataset=header.dataset, rows=batch)
    return run(rows.CompleteGraphRow, "graph/complete_graph", graph=header.graph)[0]


def _write_entities(run: Runs, header: rows.GraphHeader, entities: Sequence[Entity]) -> None:
    # A model's graph and an edit's have the entities of their data set, which knows their kinds.
    dataset = None if header.graph == header.dataset else header.dataset
    for start in range(0, len(entities), BATCH):
        batch = [entity_row(e) for e in entities[start : start + BATCH]]
        run(
            rows.WrittenRow, "graph/merge_entities", graph=header.graph, dataset=dataset, rows=batch
        )


def begin_graph(db: Database, header: rows.GraphHeader, entities: Sequence[Entity]) -> None:
    """Begin, or continue, a graph whose facts arrive in parts; it is invisible until `end_graph`.

    Facts that were added before stay, also those of a process that was killed.
    """
    db.write(rows.MergeGraphRow, "graph/merge_graph", **vars(header))
    _write_entities(db.write, header, entities)


def add_facts(db: Database, graph: str, facts: Sequence[Mapping[str, object]]) -> None:
    """Add a part of a graph's facts, all of them or none."""
    db.write(rows.WrittenRow, "graph/merge_facts", graph=graph, rows=facts)


def end_graph(db: Database, header: rows.GraphHeader) -> rows.CompleteGraphRow:
    """Make a graph visible all of whose facts were added; return its counts."""
    db.write(rows.MergeGraphRow, "graph/merge_graph", **vars(header))
    return db.write(rows.CompleteGraphRow, "graph/complete_graph", graph=header.graph)[0]
