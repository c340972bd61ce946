"""Mean P of correct and false answers before and after, by method and variant (PEAK, Fig. 2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....cypher import rows
from ...schemas import Score
from ...scoring.append.variants import BY_NAME
from .table import AppendTable, Mean, groups, mean

if TYPE_CHECKING:
    from ....cypher.run import Database

KINDS = ("correct", "hard", "random")
SHOWN = tuple(variant.name for variant in BY_NAME.values())
"""The variants of the figure: bare, "+" and APP."""


def by_row(
    db: Database, scores: Sequence[Score], found: AppendTable
) -> dict[str, dict[str, tuple[Mean, Mean]]]:
    """{name of the row: {kind of answer: mean P over requests before and after}}.

    P of a request is the mean over its answers of that kind at the edit prompt; all answers, also
    those that the filter drops.
    """
    stored = {
        row.edit: row
        for row in db.read(
            rows.MeanProbabilitiesRow,
            "append/mean_probabilities",
            edits=[score.edit for score in scores],
        )
    }
    edits: dict[tuple[str, str, str], list[rows.MeanProbabilitiesRow]] = defaultdict(list)
    for key, requests in groups(scores).items():
        edits[key] = [stored[s.edit] for s in requests.values() if s.edit in stored]
    return {
        row.name: {
            kind: (
                mean([getattr(each, f"{kind}_pre") for each in edits[row.key]]),
                mean([getattr(each, f"{kind}_post") for each in edits[row.key]]),
            )
            for kind in KINDS
        }
        for row in found.rows
        if row.variant in SHOWN
    }
