"""Implications and Omega of several edits, pooled by method, and as paragraphs of a report.

Fractions of conclusions are always printed with their n, and with the two groups they consist of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel

from ...cypher.rows.closure import Kind
from ..formatting import number, pluralize
from ..schemas import Measure, Score
from .implications import ImplicationShareOut, TallyOut, implications, tally
from .mixed_chains import Chosen, MixedChainOut, MixedPage, mixed
from .omega import KINDS, WAYS, OmegaOut, kept_rules, omega

if TYPE_CHECKING:
    from ...cypher.run import Database


class WaysOut(BaseModel):
    """Recovery of the old objects by one kind of way, within the scores' longest chain.

    Attributes:
        chains, surviving: their numbers over all edits.
        deep: fraction of edits with nothing of the kind surviving.
        n: number of edits of `deep`; those with a missing probability are left out.
    """

    kind: Kind
    chains: int
    surviving: int
    deep: float | None
    n: int


class SummaryOut(BaseModel):
    """The implications of several edits, pooled: each conclusion of each edit counts once.

    Attributes:
        edits: number of edits.
        rules: number of rules.
    """

    model: str
    method: str
    measure: Measure
    edits: int
    rules: int
    stale: TallyOut
    propagated: TallyOut
    kept: TallyOut
    ways: list[WaysOut]

    def by(self, kind: Kind) -> WaysOut:
        """The ways of one kind."""
        return next(each for each in self.ways if each.kind == kind)


def by_method(db: Database, scores: Sequence[Score], measure: Measure) -> list[SummaryOut]:
    """One summary for each model and method, in the order of the scores.

    Edits without the measure, or whose data set has no rules, are left out.
    """
    groups: dict[tuple[str, str], list[Score]] = {}
    for score in scores:
        if measure in score.measures:
            groups.setdefault((score.model, score.method), []).append(score)
    found = [_pooled(db, group, measure) for group in groups.values()]
    return [each for each in found if each is not None]


def _pooled(db: Database, scores: Sequence[Score], measure: Measure) -> SummaryOut | None:
    rules = {dataset: kept_rules(db, dataset) for dataset in {s.dataset for s in scores}}
    used = [score for score in scores if rules[score.dataset]]
    if not used:
        return None
    omegas = [omega(db, score, measure, rules[score.dataset], most=0) for score in used]
    items = [
        item
        for score in used
        for item in implications(db, score, measure, rules[score.dataset]).items
    ]
    return SummaryOut(
        model=used[0].model,
        method=used[0].method,
        measure=measure,
        edits=len(used),
        rules=len({rule.id for score in used for rule in rules[score.dataset]}),
        stale=tally(items, "lost", "stale", "dropped"),
        propagated=tally(items, "due", "propagated", "missing"),
        kept=tally(items, "kept", "kept", "broken"),
        ways=[_ways(omegas, kind) for kind in KINDS],
    )


def _ways(omegas: Sequence[OmegaOut], kind: Kind) -> WaysOut:
    at = [each.at(kind) for each in omegas]
    deep = [each.value for each in at if each.value is not None]
    return WaysOut(
        kind=kind,
        chains=sum(each.chains for each in at),
        surviving=sum(each.surviving for each in at),
        deep=sum(deep) / len(deep) if deep else None,
        n=len(deep),
    )


def plain_share(share: ImplicationShareOut) -> str:
    """`0.500 (n = 4, 2 undefined)`."""
    left = f", {share.undefined} undefined" if share.undefined else ""
    return f"{number(share.value)} (n = {share.n}{left})"


def share_text(tally: TallyOut) -> str:
    """The fraction; then its groups, if some of the conclusions are facts of the data set."""
    if not tally.stated.n + tally.stated.undefined:
        return plain_share(tally)
    return (
        f"{plain_share(tally)}: {plain_share(tally.only_implied)} only by rules,"
        f" {plain_share(tally.stated)} also facts of the data set"
    )


STRONGEST = 3
"""Number of surviving chains over conclusions in a report."""


def implied_lines(db: Database, scores: Sequence[Score], measure: Measure) -> str:
    """A paragraph for each edit whose data set has rules; "" without any."""
    parts = []
    for score in scores:
        rules = kept_rules(db, score.dataset)
        if rules and measure in score.measures:
            found = omega(db, score, measure, rules)
            implied = implications(db, score, measure, rules)
            ways = "; ".join(
                f"{WAYS[kind]}: {found.at(kind).surviving} of {found.at(kind).chains} survive,"
                f" all cut up to {pluralize(found.deep[kind], 'fact')}"
                for kind in KINDS
            )
            parts.append(
                f"**{score.edit}**, by {pluralize(len(rules), 'rule')}, within"
                f" {pluralize(found.max_steps, 'fact')}. {ways}."
                f" Conclusions: stale {share_text(implied.stale)}, propagated"
                f" {share_text(implied.propagated)}, kept {share_text(implied.kept)}."
            )
            if found.at("both").surviving:
                chosen = Chosen(surviving=True, limit=STRONGEST)
                parts.append(_listed(mixed(db, score, measure, rules, chosen)))
    return "\n\n".join(parts)


def _listed(page: MixedPage) -> str:
    """The strongest surviving chains over conclusions, one an entry of a list."""
    head = f"Strongest of {pluralize(page.total, 'surviving chain')} over conclusions of rules:"
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
    steps = pluralize(item.steps or 0, "fact")
    return f"- {steps}, R {number(item.r_pre)} → R' {number(item.r_post)}: {links}"
