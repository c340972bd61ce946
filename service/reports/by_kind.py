"""The table of requests that replace no object: of those to append, or of those to forget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...loaders.records import RequestKind
from ..schemas import Measure, Score
from . import appended, forgetting

if TYPE_CHECKING:
    from ...cypher.run import Database
    from .means import MeansTable


def table(
    scores: Sequence[Score],
    measure: Measure,
    db: Database | None = None,
    *,
    kind: RequestKind = "replace",
    all_requests: bool = False,
) -> MeansTable | None:
    """Return the table of scores that are all of one kind; None for those that replace an object.

    Args:
        db: to count proofs by rules of forgotten facts; None: they are not counted.
        kind: of the requests where there is no score.

    Raises:
        NothingStoredError: there is no score, and the kind is another than to replace.
    """
    kinds = {score.kind for score in scores} or {kind}
    if kinds == {"append"}:
        return appended.table(scores, all_requests=all_requests)
    if kinds == {"forget"}:
        proofs = forgetting.surviving_proofs(db, scores, measure) if db else {}
        return forgetting.table(scores, measure, proofs, all_requests=all_requests)
    return None
