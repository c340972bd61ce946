"""A graph of any size whose degrees are as uneven as those of real knowledge graphs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate

from thinkeval.loaders.records import (
    Entity,
    Fact,
    ImportReport,
    KnowledgeGraph,
    LoadedGraph,
    RewriteRequest,
)

MEAN_DEGREE = 4.5
REVERSED = 0.15
ZIPF = 0.8
"""The exponent of the popularity of objects: at 1e5 facts the most popular has about 2,000."""
N_RELATIONS = 200


def hub_facts(n_facts: int, seed: int = 0) -> list[Fact]:
    """Facts with log-normal out-degree, Zipf in-degree and 15 % of them stated the other way too.

    Every ordered pair of entities has at most one fact; no entity has one about itself.
    """
    rng = random.Random(seed)
    entities = range(max(round(n_facts / MEAN_DEGREE), 3))
    talkative = list(accumulate(rng.lognormvariate(0, 1) for _ in entities))
    popular = list(accumulate(1 / (rank + 1) ** ZIPF for rank in entities))
    by_rank = rng.sample(entities, len(entities))
    pairs: dict[tuple[int, int], None] = {}
    n_forward = round(n_facts / (1 + REVERSED))
    while len(pairs) < n_forward:
        (subject,) = rng.choices(entities, cum_weights=talkative)
        (rank,) = rng.choices(entities, cum_weights=popular)
        if subject != by_rank[rank]:
            pairs[subject, by_rank[rank]] = None
    forward = list(pairs)
    rng.shuffle(forward)
    for subject, object_ in forward:
        if len(pairs) == n_facts:
            break
        pairs[object_, subject] = None
    return [_fact(s, rng.randrange(N_RELATIONS), o) for s, o in pairs]


def loaded(graph: str, facts: Sequence[Fact]) -> LoadedGraph:
    """The facts as a data set with one rewrite request, of its first fact."""
    first, second, *_ = facts
    request = RewriteRequest(
        "first", graph, first.prompt, first.subject, first.relation, first.object, second.object
    )
    made = KnowledgeGraph(graph, tuple(entities_of(facts)), tuple(facts), (request,))
    return LoadedGraph(made, ImportReport("-", "-", {}, {}))


def entities_of(facts: Sequence[Fact]) -> list[Entity]:
    """Every subject and object, once."""
    names = dict.fromkeys(name for fact in facts for name in (fact.subject, fact.object))
    return [Entity(name) for name in names]


def _fact(subject: int, relation: int, object_: int) -> Fact:
    return Fact(
        subject=f"entity {subject}",
        relation=f"relation-{relation}",
        object=f"entity {object_}",
        prompt=f"{{}} has the relation {relation} to",
        questions=(f"What has entity {subject} the relation {relation} to?",),
    )
