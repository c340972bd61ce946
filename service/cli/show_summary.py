"""How the implications of several edits look in a terminal: one row a method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from thinkeval.service.cli.options import emit_table, several
from thinkeval.service.rules.omega import KINDS
from thinkeval.service.rules.shares import plain_share
from thinkeval.service.schemas import MEASURE_NAMES

if TYPE_CHECKING:
    from thinkeval.service.rules.summary import SummaryOut

NOTE = (
    "stale: no longer follows, yet the model gives it; of those only the rules say, and of those"
    " that the data set states too. come back: ways that survive, of all, by chains, by rules, by"
    " both. deep: share of edits where nothing survives."
)


def show_summaries(told: Mapping[str, SummaryOut]) -> None:
    """By label: stale, taken up and kept with their n; how the old objects come back."""
    if not told:
        return
    first = next(iter(told.values()))
    rows = [
        [
            label,
            each.edits,
            plain_share(each.stale.only_implied),
            plain_share(each.stale.stated),
            plain_share(each.taken_up),
            plain_share(each.kept),
            *(f"{each.by(kind).surviving} of {each.by(kind).chains}" for kind in KINDS),
            " / ".join(
                "–" if each.by(kind).deep is None else f"{each.by(kind).deep:.2f}" for kind in KINDS
            ),
        ]
        for label, each in told.items()
    ]
    emit_table(
        f"Implications by {several(first.rules, 'rule')} ({MEASURE_NAMES[first.measure]})",
        [
            "", "edits", "stale, by rules only", "stale, stated too", "taken up", "kept",
            "come back: paths", "rules", "both", "deep: paths / rules / both",
        ],
        rows,
        note=NOTE,
    )  # fmt: skip
