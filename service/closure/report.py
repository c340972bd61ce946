"""What a report says of an edit's rules, in a few lines of Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from service.closure.implications import TallyOut, implications
from service.closure.omega import KINDS, WAYS, kept_rules, omega
from service.schemas import Measure, Score

if TYPE_CHECKING:
    from cypher.run import Database


def implied_lines(db: Database, scores: Sequence[Score], measure: Measure) -> str:
    """A paragraph for each edit whose data set has rules; "" where none has."""
    parts = []
    for score in scores:
        rules = kept_rules(db, score.dataset)
        if rules and measure in score.measures:
            told = omega(db, score, measure, rules)
            said = implications(db, score, measure, rules)
            ways = "; ".join(
                f"{WAYS[kind]}: {told.at(kind).surviving} of {told.at(kind).chains} survive,"
                f" deep-edited up to {told.deep[kind]}"
                for kind in KINDS
            )
            parts.append(
                f"**{score.edit}**, by {len(rules)} rules, within {told.max_steps} facts. {ways}."
                f" Of what the edit bears on: stale {_share(said.stale)}, taken up"
                f" {_share(said.taken_up)}, kept {_share(said.kept)}."
            )
    return "\n\n".join(parts)


def _share(tally: TallyOut) -> str:
    value = "–" if tally.value is None else f"{tally.value:.3f}"
    left = f", {tally.undefined} undefined" if tally.undefined else ""
    return f"{value} (n = {tally.n}{left})"
