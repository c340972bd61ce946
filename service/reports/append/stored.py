"""The stored scores of requests to append, as a table takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.service.errors import NothingStoredError
from thinkeval.service.graphs.datasets import require_graph
from thinkeval.service.schemas import Score
from thinkeval.service.scoring.append.variants import variant_of

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database


def stored(db: Database, graph: str | None = None, model: str | None = None) -> list[Score]:
    """The newest score of each request, model, method and variant, oldest first.

    Scores at another strength are points of a curve, and those within a sequence are of several
    edits: both are left out.

    Raises:
        NotFoundError: there is no such graph.
        NothingStoredError: no request to append of it is scored.
    """
    newest: dict[tuple[object, ...], Score] = {}
    for row in db.read(rows.EditRow, dataset=graph, model=model, status="succeeded"):
        if not row.score or '"append":{' not in row.score.replace('"append": {', '"append":{'):
            continue
        score = Score.model_validate_json(row.score)
        if score.append is None or score.sequence or score.provenance.get("strength", 1) != 1:
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
