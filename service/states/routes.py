"""Routes: chains that lead to the old object in the first state, in the second, or in both.

By likelihood a chain leads there if the product of its probabilities is above `known_chain` of the
request; by samples, if each of its facts was answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...cypher import rows
from ..schemas import Measure
from .schemas import RoutesOut

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..scoring.request import ScoreRequest


def routes(
    db: Database, requests: Mapping[str, ScoreRequest], measures: Sequence[Measure]
) -> dict[str, dict[Measure, RoutesOut]]:
    """The routes of each request by measure.

    Args:
        requests: by the edit that holds their graph, with the same options of scoring.
    """
    first = next(iter(requests.values()))
    cases = [
        {
            "id": edit, "graph": edit, "subject": request.rewrite.subject,
            "object": request.rewrite.target_true, "relation": request.rewrite.relation,
            "rewrite": None,
        }
        for edit, request in requests.items()
    ]  # fmt: skip
    out: dict[str, dict[Measure, RoutesOut]] = {edit: {} for edit in requests}
    for measure in measures:
        floor = 0.0 if measure == "p" else first.options.known_chain
        found = db.read(
            rows.RoutesRow,
            "states/routes",
            cases=cases,
            max_steps=first.max_steps,
            bare=first.bare,
            parallel=first.parallel,
            pre=f"{measure}_pre",
            post=f"{measure}_post",
            floor=floor,
        )
        for row in found:
            counts = row.model_dump(exclude={"id", "missing"})
            out[row.id][measure] = RoutesOut(**counts, floor=floor)
    return out
