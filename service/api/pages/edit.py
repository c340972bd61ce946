"""What the page of one scored edit shows: its chains, filtered, and its graph, laid out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from thinkeval.service.reports.edit import ChainFilter, graph_of
from thinkeval.service.reports.table import STEPS
from thinkeval.service.schemas import Measure, Score
from thinkeval.service.scoring import metrics

if TYPE_CHECKING:
    from thinkeval.cypher.rows import ScoredChainRow
    from thinkeval.cypher.run import Database

FIRST = 50
"""Chains shown at once; a page of all 206 chains of a KnowGIC edit has thousands of boxes."""

FEW, FEW_CUT = 10, 5
"""Surviving and cut chains that are drawn until the reader asks for all: more cannot be read."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Which chains are shown: the filter of REST, any choice of lengths, and how many at most."""

    filter: ChainFilter = field(default_factory=ChainFilter)
    steps: frozenset[int] = field(default=frozenset(STEPS))
    at_most: int = FIRST

    def fits(self, chain: ScoredChainRow) -> bool:
        """Whether a chain is shown. One without a ratio (R = 0) has no strength to compare."""
        return chain.steps in self.steps and self.filter.fits(chain)


@dataclass(frozen=True, slots=True)
class Chains:
    """The chains of an edit, strongest first: all of them, and those found by the filter."""

    all: Sequence[ScoredChainRow]
    found: Sequence[ScoredChainRow]
    at_most: int

    @property
    def shown(self) -> Sequence[ScoredChainRow]:
        """What is written out."""
        return self.found[: self.at_most]

    @property
    def surviving(self) -> int:
        """How many of those found survive."""
        return sum(chain.surviving for chain in self.found)

    @property
    def by_step(self) -> dict[int, int]:
        """Number of chains of each length, before filtering."""
        counts = Counter(chain.steps for chain in self.all)
        return {step: counts[step] for step in STEPS}

    @property
    def drawn(self) -> dict[str, dict[str, bool]]:
        """What the drawing shows of the chains found: `few`, the strongest of them, and `all`.

        Each is {id of a fact that a chain passes: whether one that passes it survives}.
        """
        alive = [chain for chain in self.found if chain.surviving]
        cut = sorted((c for c in self.found if not c.surviving), key=lambda c: -c.r_pre)
        few = [*alive[:FEW], *cut[:FEW_CUT]]
        return {"few": _passed(few, alive), "all": _passed(self.found, alive)}

    @property
    def ways(self) -> list[str]:
        """Whom the old object comes back by: the first entity of surviving chains, in order."""
        first = (chain.entities[1] for chain in self.all if chain.surviving and chain.steps > 1)
        return list(dict.fromkeys(first))


def _passed(some: Sequence[ScoredChainRow], alive: Sequence[ScoredChainRow]) -> dict[str, bool]:
    surviving = {link.id for chain in alive for link in chain.links}
    return {link.id: link.id in surviving for chain in some for link in chain.links}


def chains(db: Database, score: Score, measure: Measure, shown: Shown) -> Chains:
    """The chains of a scored edit."""
    every = metrics.chain_rows(db, score, measure)
    return Chains(every, [chain for chain in every if shown.fits(chain)], shown.at_most)


def drawing(db: Database, score: Score, measure: Measure, told: Chains) -> dict[str, Any]:
    """The graph as REST gives it, each node with the column it is drawn in.

    That is the fewest facts that lead to it on a chain; the old object stands last.
    """
    columns: dict[str, int] = {score.subject: 0}
    for chain in told.all:
        for at, name in enumerate(chain.entities[:-1]):
            columns[name] = min(at, columns.get(name, at))
    columns[score.target_true] = max(columns.values()) + 1
    graph = graph_of(db, score, measure, told.all).model_dump()
    for node in graph["nodes"]:
        node["column"] = columns.get(node["id"], 1)
    for edge in graph["edges"]:
        edge["asked"] = edge.pop("prompt").replace("{}", edge["source"])
    return graph
