"""The way of an edit on the demo graph, for tests that score it: a graph of one's own, a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.cypher import rows
from thinkeval.editing.models import weights_digest
from thinkeval.loaders.records import RewriteRequest
from thinkeval.service.graphs import datasets
from thinkeval.service.models.edit import Score
from thinkeval.service.scoring.request import ScoreRequest
from thinkeval.service.scoring.runtime import Runtime, RuntimeModel
from thinkeval.service.scoring.score import score_edit


@dataclass(frozen=True)
class Walk:
    """The demo graph under an id of a file's own, and the model that knows it."""

    runtime: Runtime
    prefix: str
    graph: str
    model: RuntimeModel
    rewrite: RewriteRequest
    seed: int

    def request(self, method: str, **changes: Any) -> ScoreRequest:
        values: dict[str, Any] = {
            "graph": self.graph,
            "model": self.model.source,
            "method": method,
            "seed": self.seed,
        }
        return ScoreRequest.of(**{"rewrite": self.rewrite} | values | changes)

    def score(self, method: str, **changes: Any) -> Score:
        return score_edit(self.runtime, self.request(method, **changes))

    def digest(self) -> str:
        return weights_digest(self.runtime.model(self.model.source, self.graph).loaded.model)

    def roles(self, score: Score) -> dict[str, rows.FactRow]:
        """The edited fact in both forms, by its role."""
        facts = self.runtime.db.read(rows.FactRow, "graph/facts", graph=score.edit)
        beside = ("fact", "subject", "outside")
        return {row.role: row for row in facts if row.role not in beside}


@contextmanager
def walked(runtime: Runtime, organism: RuntimeModel, seed: int) -> Iterator[Walk]:
    """A walk whose graphs and edits go with the block."""
    with own_graphs(runtime.db) as prefix:
        graph = hogwarts_as(runtime.db, f"{prefix}-hogwarts")
        stored = datasets.list_rewrites(runtime.db, graph)
        rewrite = next(r for r in stored if r.id.startswith("harry-potter--studied-at"))
        yield Walk(runtime, prefix, graph, organism, rewrite, seed)


def number(score: Score, metric: str, measure: str = "likelihood") -> float:
    """The value of a metric that must have been taken."""
    found = score.get(metric, measure)
    assert found is not None, f"{metric} of {measure} was not taken"
    return found.value
