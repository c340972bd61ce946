"""What a report says of an edit's rules, in a few lines of Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thinkeval.service.formatting import several
from thinkeval.service.rules.implications import implications
from thinkeval.service.rules.mixed_chains import Chosen, MixedChainOut, MixedPage, mixed
from thinkeval.service.rules.omega import KINDS, WAYS, kept_rules, omega
from thinkeval.service.rules.shares import number, share_text
from thinkeval.service.schemas import Measure, Score

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database

STRONGEST = 3
"""Surviving chains with implied links that a report names."""


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
                f"**{score.edit}**, by {several(len(rules), 'rule')}, within"
                f" {several(told.max_steps, 'fact')}. {ways}."
                f" Of what the edit bears on: stale {share_text(said.stale)}, taken up"
                f" {share_text(said.taken_up)}, kept {share_text(said.kept)}."
            )
            if told.at("both").surviving:
                chosen = Chosen(surviving=True, limit=STRONGEST)
                parts.append(_listed(mixed(db, score, measure, rules, chosen)))
    return "\n\n".join(parts)


def _listed(page: MixedPage) -> str:
    """The strongest surviving chains with implied links, one an entry of a list."""
    head = f"Strongest of {several(page.total, 'surviving chain')} with implied links:"
    return "\n".join([head, "", *(_entry(item) for item in page.items)])


def _entry(item: MixedChainOut) -> str:
    """`- 3 facts, R 0.200 → R' 0.025: ∴ S u B (0.200 → 0.100; If …); B t T (1.000 → 0.250)`."""
    links = "; ".join(
        f"{'∴ ' if link.implied else ''}{link.subject} {link.relation} {link.object}"
        f" ({number(link.pre)} → {number(link.post)}"
        + (f"; {link.proof.text}" if link.proof and link.proof.text else "")
        + ")"
        for link in item.links
    )
    steps = several(item.steps or 0, "fact")
    return f"- {steps}, R {number(item.r_pre)} → R' {number(item.r_post)}: {links}"
