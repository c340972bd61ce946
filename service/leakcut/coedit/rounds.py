"""A round of co-edits as a point of the frontier, read off the stored edit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....cypher import rows
from ....loaders.records import Fact, RewriteRequest
from ...schemas import Measure, Score
from ...scoring import metrics
from ..leaks import of_edit
from ..schemas import CoEditFact, CoEditIn, RoundOut
from .new_objects import NewObject

if TYPE_CHECKING:
    from ....cypher.run import Database

MEASURE: Measure = "likelihood"
"""Of all figures: taken of every edit, and without sampling noise."""

KEPT = 0.9
"""A round counts only if the first request keeps this part of its efficacy alone; a round is chosen
without an objective only if Preservation over facts not edited is at least this."""


@dataclass(frozen=True, slots=True)
class CoEdit:
    """A further fact to edit, and its request.

    Attributes:
        fact: its id within the data set.
        new: id of the fact with its new object.
    """

    fact: str
    new: Fact
    object: NewObject
    request: RewriteRequest
    added: int
    old: str


def point(
    db: Database,
    posted: CoEditIn,
    score: Score,
    number: int,
    coedits: Sequence[CoEdit],
    first: Sequence[RoundOut],
    anchors: int,
) -> RoundOut:
    """A point of the frontier.

    Args:
        score: of the round's edit.
        coedits: of this round and all before it.
        first: the edit alone; empty where this is it.
        anchors: facts that were edited to the object they have.
    """
    leaks = of_edit(db, score, MEASURE, posted.cut.max_steps)
    cost = _cost(db, score, coedits)
    ifr = score.get("ifr", MEASURE)
    facts = [_described(each, found) for each, found in zip(coedits, cost.coedits, strict=True)]
    installed = [fact.new_post for fact in facts if fact.new_post is not None]
    preservation = score.get("preservation", MEASURE)
    efficacy = score.number("efficacy", MEASURE)
    before = first[0].efficacy if first else efficacy
    alive = metrics.chain_rows(db, score, MEASURE, surviving=True)
    return RoundOut(
        number=number,
        edit=score.edit,
        facts=1 + len(coedits),
        anchors=anchors,
        coedits=facts,
        ifr=ifr.value if ifr else None,
        ifr_low=ifr.low if ifr else None,
        ifr_high=ifr.high if ifr else None,
        n_chains=ifr.n if ifr else 0,
        leaking=sum(chain.retention > posted.cut.leak for chain in leaks.counted),
        surviving=len(alive),
        efficacy=efficacy,
        coedit_efficacy=sum(installed) / len(installed) if installed else None,
        n_coedits=len(installed),
        preservation=preservation.value if preservation else None,
        n_preservation=preservation.n if preservation else 0,
        preservation_unedited=cost.preservation,
        n_preservation_unedited=cost.n_preservation,
        **{name: getattr(cost, name) for name in rows.Retention.model_fields},
        opened=_opened(db, posted, score, coedits),
        reaches=None not in (efficacy, before) and (efficacy or 0) >= KEPT * (before or 0),
        seconds=round(sum(score.seconds.values()), 3),
    )


def _cost(db: Database, score: Score, coedits: Sequence[CoEdit]) -> rows.CoEditRoundRow:
    (found,) = db.read(
        rows.CoEditRoundRow,
        "leakcut/round",
        graph=score.edit,
        subject=score.subject,
        object=score.target_true,
        relation=score.relation,
        max_steps=score.options.max_steps,
        bare=score.options.bare,
        pre=f"{MEASURE}_pre",
        post=f"{MEASURE}_post",
        known=score.options.counted["known"],
        edited=[
            {"fact": each.fact, "new": each.new.id, "subject": each.request.subject}
            for each in coedits
        ],
    )
    return found


def _described(each: CoEdit, found: rows.CoEditedFact) -> CoEditFact:
    return CoEditFact(
        id=each.fact,
        subject=each.request.subject,
        relation=each.request.relation,
        object=each.old,
        prompt=each.request.prompt,
        target_new=each.object.name,
        source=each.object.source,
        added=each.added,
        old_pre=found.old_pre,
        old_post=found.old_post,
        new_pre=found.new_pre,
        new_post=found.new_post,
    )


def _opened(db: Database, posted: CoEditIn, score: Score, coedits: Sequence[CoEdit]) -> int:
    """Co-edits whose new object leads to the old one by the facts of the edit's graph."""
    names = [each.object.name for each in coedits]
    if not names:
        return 0
    found = db.read(
        str, "leakcut/leading",
        graph=score.edit, object=score.target_true, max_steps=posted.cut.max_steps, names=names,
    )  # fmt: skip
    return len(found)
