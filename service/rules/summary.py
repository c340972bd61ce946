"""What rules say of several edits together: shares over all their conclusions, ways over all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel

from thinkeval.service.rules.implications import implications
from thinkeval.service.rules.omega import KINDS, Kind, OmegaOut, kept_rules, omega
from thinkeval.service.rules.verdicts import TallyOut, tally
from thinkeval.service.schemas import Measure, Score

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database


class WaysOut(BaseModel):
    """How the old objects come back by one kind of way, within the scores' longest chain.

    Attributes:
        chains, surviving: over all edits.
        deep: share of edits by which nothing of the kind survives.
        n: edits that `deep` is taken over; those with a missing probability are left out.
    """

    kind: Kind
    chains: int
    surviving: int
    deep: float | None
    n: int


class SummaryOut(BaseModel):
    """The implications of several edits, pooled: each conclusion of each edit counts once.

    Attributes:
        edits: how many they are.
        rules: how many rules were used.
    """

    model: str
    method: str
    measure: Measure
    edits: int
    rules: int
    stale: TallyOut
    taken_up: TallyOut
    kept: TallyOut
    ways: list[WaysOut]

    def by(self, kind: Kind) -> WaysOut:
        """The ways of one kind."""
        return next(each for each in self.ways if each.kind == kind)


def by_method(db: Database, scores: Sequence[Score], measure: Measure) -> list[SummaryOut]:
    """One summary a model and method, in the order of the scores.

    Edits whose data set has no rules, or that were not taken by the measure, are left out.
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
    told = [omega(db, score, measure, rules[score.dataset], most=0) for score in used]
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
        taken_up=tally(items, "due", "taken up", "missing"),
        kept=tally(items, "kept", "kept", "harmed"),
        ways=[_ways(told, kind) for kind in KINDS],
    )


def _ways(told: Sequence[OmegaOut], kind: Kind) -> WaysOut:
    at = [each.at(kind) for each in told]
    deep = [each.value for each in at if each.value is not None]
    return WaysOut(
        kind=kind,
        chains=sum(each.chains for each in at),
        surviving=sum(each.surviving for each in at),
        deep=sum(deep) / len(deep) if deep else None,
        n=len(deep),
    )
