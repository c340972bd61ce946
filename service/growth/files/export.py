"""Export of a stored graph, or of the graph of a growth run, in KnowGIC's published layouts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ....cypher import rows
from ....loaders.records import Fact, KnowledgeGraph, RewriteRequest
from ...errors import UsageError
from ...graphs import datasets
from .knowgic_layout import knowgic
from .layout import Chains, Layout, in_scope
from .triples_layout import triples

if TYPE_CHECKING:
    from ....cypher.run import Database

LAYOUTS = {"knowgic": knowgic, "qwen-sample": triples}
MOST_CHAINS = 100_000
"""Of one rewrite; chains.json with more would be of gigabytes."""


def export_graph(
    db: Database, graph: str, layout: str, *, single_link: bool = True, max_steps: int = 5
) -> Layout:
    """A stored data set in one of the layouts.

    Args:
        single_link: of the facts from one entity to another that a rewrite may use, write one:
            the one that chains use (the edited fact first, then the likeliest, then the smallest
            id). The chains are the same, as parallel facts give one chain.
        max_steps: longest chain that is written, 1..5.

    Raises:
        NotFoundError: no such data set.
        UsageError: a rewrite has too many chains, or the layout cannot hold any of it.
    """
    stored = datasets.stored_graph(db, graph)
    chains = {r.id: _chains(db, stored, r, max_steps) for r in stored.rewrites}
    dropped = 0
    if single_link:
        before = len(stored.facts)
        stored, chains = one_link_a_pair(stored, chains)
        dropped = before - len(stored.facts)
    made = LAYOUTS[layout](stored, chains)
    made.lose(dropped, "facts run parallel to another and are left out (--single-link)")
    return made


def _chains(
    db: Database, graph: KnowledgeGraph, rewrite: RewriteRequest, max_steps: int
) -> list[tuple[Fact, ...]]:
    by_id = {f"{graph.name}|{fact.id}": fact for fact in graph.facts}
    case = {k: v for k, v in datasets.case(graph.name, rewrite).items() if k != "id"}
    found = db.read(
        rows.ChainRow, "chains/enumerate", **case, max_steps=max_steps, limit=MOST_CHAINS + 1
    )
    if len(found) > MOST_CHAINS:
        raise UsageError(
            f"Rewrite {rewrite.id!r} has more than {MOST_CHAINS:,} chains.",
            remedy="Write shorter chains only: --max-steps.",
        )
    return [tuple(by_id[id_] for id_ in row.facts) for row in found]


def one_link_a_pair(
    graph: KnowledgeGraph, chains: Chains
) -> tuple[KnowledgeGraph, dict[str, list[tuple[Fact, ...]]]]:
    """The graph with at most one fact from one entity to another in the scope of each rewrite.

    Without rewrites: in the whole graph.
    """
    kept: set[str] = set()
    chosen: dict[str, list[tuple[Fact, ...]]] = {}
    for rewrite in graph.rewrites:
        best = _chosen(graph, rewrite, chains.get(rewrite.id, ()))
        kept |= {fact.id for fact in best.values()}
        chosen[rewrite.id] = [
            tuple(best[fact.subject, fact.object] for fact in chain)
            for chain in chains.get(rewrite.id, ())
        ]
    if not graph.rewrites:
        kept = {fact.id for fact in _chosen(graph, None, ()).values()}
    facts = tuple(fact for fact in graph.facts if fact.id in kept)
    return replace(graph, facts=facts), chosen


def _chosen(
    graph: KnowledgeGraph, rewrite: RewriteRequest | None, chains: Sequence[tuple[Fact, ...]]
) -> dict[tuple[str, str], Fact]:
    used = {fact.id for chain in chains for fact in chain}
    between: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in graph.facts:
        if rewrite is None or in_scope(fact, rewrite):
            between[fact.subject, fact.object].append(fact)
    relation = rewrite.relation if rewrite else None
    edited = (rewrite.subject, rewrite.target_true) if rewrite else None
    return {
        pair: min(
            facts,
            key=lambda f: (not (pair == edited and f.relation == relation), f.id not in used, f.id),
        )
        for pair, facts in between.items()
    }
