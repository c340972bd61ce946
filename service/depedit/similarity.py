"""Similarity of the gradients of a set's facts, in the four kinds of pairs of DepEdit's table 5.

premises & implication   both premises of each implication with it
similar surface form     facts of one relation with one template
original & rephrased     a fact with its prompt, and with another cloze of the graph
random                   facts of different relations that share no entity
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from ...loaders.knowledge_sets import QA, KnowledgeSet
from ...loaders.records import SUBJECT_SLOT, RewriteRequest, unique
from .editor import request
from .questions import templates

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...editing.mend.similarity import Parameters
    from ..scoring.runtime import Runtime, RuntimeModel

KINDS = (
    "premises & implication",
    "similar surface form",
    "original & rephrased",
    "random",
)


@dataclass(frozen=True, slots=True)
class Similarity:
    """The cosines of one kind of pairs: mean, standard deviation (None below 2), number."""

    kind: str
    mean: float | None
    sd: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Pairs:
    """Facts and pairs of them to compare.

    Attributes:
        facts: each once, with its prompt.
        by_kind: {kind: indices into `facts`}.
    """

    facts: tuple[QA, ...]
    by_kind: dict[str, tuple[tuple[int, int], ...]]


def pairs_of(
    knowledge: KnowledgeSet,
    wordings: dict[str, tuple[str, ...]],
    *,
    most: int = 24,
    seed: int = 0,
) -> Pairs:
    """The pairs of a set, drawn with the seed.

    Args:
        wordings: {relation: its clozes}, for rephrasing; a relation with one cloze has no pair.
        most: maximum number of pairs of each kind.
    """
    by_key = {qa.key: qa for qa in knowledge.specific}
    specific = list(knowledge.specific)
    facts = [*specific, *knowledge.unrelated]
    implied = [
        (by_key[premise], implication.qa)
        for implication in knowledge.implications
        for premise in implication.premises
        if premise in by_key
    ]
    alike = [
        # The same template for both, whatever the set's setting, makes the pair similar.
        (a, replace(b, prompt=a.prompt))
        for a, b in itertools.combinations(specific, 2)
        if a.relation == b.relation
    ]
    rephrased = [
        (qa, replace(qa, prompt=other))
        for qa in facts
        for other in unique((qa.asked, *wordings.get(qa.relation, ())))
        if other != qa.prompt and other.count(SUBJECT_SLOT) == 1
    ]
    apart = [
        (a, b)
        for a, b in itertools.combinations(facts, 2)
        if a.relation != b.relation and not {a.subject, a.object} & {b.subject, b.object}
    ]
    place: dict[QA, int] = {}
    chosen: dict[str, tuple[tuple[int, int], ...]] = {}
    for kind, pairs in zip(KINDS, (implied, alike, rephrased, apart), strict=True):
        drawn = Random(f"{seed}|{kind}").sample(pairs, min(most, len(pairs)))
        chosen[kind] = tuple((_place(place, a), _place(place, b)) for a, b in drawn)
    return Pairs(tuple(place), chosen)


def _place(place: dict[QA, int], qa: QA) -> int:
    plain = replace(qa, asked=qa.prompt)
    return place.setdefault(plain, len(place))


def similarities(
    runtime: Runtime,
    model: RuntimeModel,
    pairs: Pairs,
    *,
    parameters: Parameters = "linear",
) -> list[Similarity]:
    """Mean, spread and number of each kind's cosines.

    Raises:
        EditingError: a fact the model cannot read, or gradients that do not fit.
    """
    from ...editing.mend import similarity

    loaded = model.loaded
    requests: list[RewriteRequest] = [
        replace(request(qa), id=str(i)) for i, qa in enumerate(pairs.facts)
    ]
    flat = [pair for kind in KINDS for pair in pairs.by_kind[kind]]
    values = iter(
        similarity.cosines(
            loaded.model,
            loaded.tokenizer,
            similarity.rows_of(loaded.tokenizer, requests),
            flat,
            parameters=parameters,
            done=lambda done, total: runtime.progress(done, total, "gradients"),
        )
    )
    by_kind = {kind: [next(values) for _ in pairs.by_kind[kind]] for kind in KINDS}
    return [_summary(kind, found) for kind, found in by_kind.items()]


def _summary(kind: str, found: Sequence[float | None]) -> Similarity:
    defined = [value for value in found if value is not None]
    return Similarity(
        kind,
        fmean(defined) if defined else None,
        stdev(defined) if len(defined) > 1 else None,
        len(defined),
    )


def wordings(db: Database, graph: str) -> dict[str, tuple[str, ...]]:
    """{relation: its clozes in the graph}."""
    from ..graphs.datasets import stored_graph

    found = templates(stored_graph(db, graph).facts)
    return {relation: tuple(sorted(texts)) for relation, texts in found.items()}
