"""The stored scores of requests to append, as a table takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import NothingStoredError
from ...graphs.datasets import require_graph
from ...schemas import Score
from ...scoring import record
from ...scoring.append.variants import variant_of

if TYPE_CHECKING:
    from ....cypher.run import Database


def stored(db: Database, graph: str | None = None, model: str | None = None) -> list[Score]:
    """The newest score of each request, model, method and variant, oldest first.

    Only those that are entries of a table (`record.whole`).

    Raises:
        NotFoundError: there is no such graph.
        NothingStoredError: no request to append of it is scored.
    """
    newest: dict[tuple[object, ...], Score] = {}
    for row in record.scored_rows(db, "append", graph=graph, model=model):
        score = record.whole(row)
        if score is None or score.append is None:
            continue
        weights = (score.append.alpha, score.append.beta, score.append.gamma)
        variant = variant_of(score.append)
        key = (score.dataset, score.rewrite, score.model, score.method, variant, weights)
        newest[key] = score
    if not newest:
        if graph is not None:
            require_graph(db, graph)
        raise NothingStoredError(
            f"No request to append{f' of graph {graph!r}' if graph else ''} is scored.",
            remedy="Make requests with `thinkeval peak build GRAPH`, or import a PEAK file; then"
            " `thinkeval peak sweep -g GRAPH`.",
        )
    return list(newest.values())
