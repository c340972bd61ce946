"""Routes: chains that lead to the old object in the first state, in the second, or in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.service.schemas import KNOWN_CHAIN, Measure
from thinkeval.service.states.schemas import RoutesOut

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.service.scoring.request import ScoreRequest

FLOOR = KNOWN_CHAIN
"""Product of likelihoods above which a chain leads to its object; of sampled fractions it is 0."""


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
        floor = 0.0 if measure == "p" else FLOOR
        found = db.read(
            rows.RoutesRow,
            cases=cases,
            max_steps=first.max_steps,
            bare=first.bare,
            parallel=first.parallel,
            pre=f"{measure}_pre",
            post=f"{measure}_post",
            floor=floor,
        )
        for row in found:
            out[row.id][measure] = RoutesOut(
                chains=row.chains, before=row.before, after=row.after, opened=row.opened,
                closed=row.closed, floor=floor,
            )  # fmt: skip
    return out
