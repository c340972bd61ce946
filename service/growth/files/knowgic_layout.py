"""A graph as KnowGIC's `chains.json` and aliases, which `loaders.knowgic` reads again.

One record a chain. Its `broader_context` has the scope's other facts between entities of the chain;
the first record of a rewrite also has the facts of its scope that no other record lists, so that
every fact in the scope of a rewrite is in the file.

The format has prompts but no relation names: after the import the relation of a fact is the slug
of its prompt. It has no paraphrases, kinds of entities, or prompts of rewrites for specificity and
generation, and no rewrite without a chain; `Layout.lost` counts those of a graph.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ....loaders.knowgic import CHAINS_FILE
from ....loaders.knowgic_records import PARTS
from ....loaders.records import Fact, KnowledgeGraph, RewriteRequest
from ...errors import UsageError
from .layout import (
    Chains,
    Layout,
    aliases_file,
    in_scope,
    json_bytes,
)

Triple = tuple[str, str, str]


def knowgic(graph: KnowledgeGraph, chains: Chains) -> Layout:
    """The files of a graph.

    Raises:
        UsageError: no rewrite of the graph has a chain, so there is no record to write.
    """
    layout, writer = Layout(), _Links()
    records: list[dict[str, Any]] = []
    for rewrite in graph.rewrites:
        records += _records(rewrite, graph, chains.get(rewrite.id, ()), writer)
    if not records:
        raise UsageError(
            f"Graph {graph.name!r} has no rewrite with a chain, and chains.json is a list of"
            " chains.",
            remedy="Write the layout that lists facts: --format qwen-sample.",
        )
    for number, record in enumerate(records):
        record["case_id"] = number
    layout.files = {CHAINS_FILE: json_bytes(records)} | aliases_file(graph)
    _note_losses(layout, graph, chains, writer)
    return layout


class _Links:
    """Writes facts as links; repeats of a fact go through its questions."""

    def __init__(self) -> None:
        self.written: dict[Triple, int] = defaultdict(int)

    def of(self, facts: Iterable[Fact]) -> dict[str, list[str]]:
        """The four parallel lists of some facts."""
        lists: dict[str, list[str]] = {part: [] for part in PARTS}
        for fact in facts:
            number = self.written[_key(fact)]
            self.written[_key(fact)] += 1
            lists["questions"].append(fact.questions[number % len(fact.questions)])
            lists["answers"].append(fact.object)
            lists["prompts"].append(fact.prompt)
            lists["subjects"].append(fact.subject)
        return lists


def _key(fact: Fact) -> Triple:
    return (fact.subject, fact.relation, fact.object)


def _asked(fact: Fact) -> Fact:
    """The fact with a question: each link has one, and the prompt is one where no other is."""
    if fact.questions:
        return fact
    return replace(fact, questions=(fact.prompt.replace("{}", fact.subject, 1),))


def _records(
    rewrite: RewriteRequest,
    graph: KnowledgeGraph,
    chains: Sequence[tuple[Fact, ...]],
    writer: _Links,
) -> list[dict[str, Any]]:
    scope = [_asked(fact) for fact in graph.facts if in_scope(fact, rewrite)]
    between: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in scope:
        between[fact.subject, fact.object].append(fact)
    contexts = [_context(chain, between) for chain in chains]
    listed = {_key(f) for facts in (*chains, *contexts) for f in facts}
    if contexts:
        contexts[0] += [fact for fact in scope if _key(fact) not in listed]
    return [
        {
            "case_id": 0,
            "requested_rewrite": [
                {
                    "prompt": rewrite.prompt,
                    "target_new": {"str": rewrite.target_new},
                    "target_true": {"str": rewrite.target_true},
                    "subject": rewrite.subject,
                }
            ],
            "chain": writer.of(_asked(fact) for fact in chain),
            "broader_context": writer.of(context),
        }
        for chain, context in zip(chains, contexts, strict=True)
    ]


def _context(chain: Sequence[Fact], between: dict[tuple[str, str], list[Fact]]) -> list[Fact]:
    own = {_key(fact) for fact in chain}
    entities = list(dict.fromkeys(name for fact in chain for name in (fact.subject, fact.object)))
    pairs = ((a, b) for a in entities for b in entities)
    return [fact for pair in pairs for fact in between.get(pair, ()) if _key(fact) not in own]


def _note_losses(layout: Layout, graph: KnowledgeGraph, chains: Chains, writer: _Links) -> None:
    kept = {r.id for r in graph.rewrites if chains.get(r.id)}
    asked = {_key(f): len(f.questions) for f in graph.facts}
    layout.lose(len(graph.rewrites) - len(kept), "rewrites have no chain and are left out")
    layout.lose(
        sum(key not in writer.written for key in asked), "facts are in no written rewrite's scope"
    )
    layout.lose(
        sum(0 < writer.written.get(key, 0) < n for key, n in asked.items()),
        "facts have more questions than links, so some of their questions are left out",
    )
    layout.lose(
        sum(not f.questions for f in graph.facts),
        "facts have no question; the format needs one, so their prompt is it",
    )
    layout.lose(
        sum(bool(f.paraphrases) for f in graph.facts), "facts have paraphrases, which are left out"
    )
    layout.lose(sum(e.kind is not None for e in graph.entities), "kinds of entities are left out")
    layout.lose(
        sum(bool(r.neighborhood or r.generation_prompts) for r in graph.rewrites),
        "rewrites have prompts for specificity or generation, which are left out",
    )
    layout.lose(
        len({f.relation for f in graph.facts}),
        "relation names are replaced by the slugs of their prompts at the next import",
    )
