"""What an edit should change by the rules: conclusions that lose a premise, and those due now.

A rule's grounding with the edited fact in its old form says what followed before; with the new
form, what follows now. The other premise is a fact of the data set. What the model says of a
conclusion is read off the edit's graph; where nobody asked it is undefined, not 0: `thinkeval score
--implications` asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from thinkeval.cypher import rows
from thinkeval.loaders.rule_records import Rule
from thinkeval.service.rules.omega import kept_rules
from thinkeval.service.rules.schemas import Triple, rule_rows
from thinkeval.service.rules.store import StoredRule
from thinkeval.service.rules.verdicts import GOOD as GOOD
from thinkeval.service.rules.verdicts import MEANINGS as MEANINGS
from thinkeval.service.rules.verdicts import (
    GroundingOut,
    ImplicationOut,
    ImplicationsOut,
    PremiseOut,
    Side,
    tally,
    verdict,
)
from thinkeval.service.schemas import Measure, Score

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database


def implications(
    db: Database, score: Score, measure: Measure, rules: Sequence[StoredRule] | None = None
) -> ImplicationsOut:
    """The conclusions an edit bears on; lost ones first, then those due, then those kept.

    Args:
        rules: None for the kept ones of the edit's data set.
    """
    used = kept_rules(db, score.dataset) if rules is None else list(rules)
    found = read(db, score.dataset, _edited(score), used, edit=score.edit, measure=measure)
    by_triple: dict[Triple, list[rows.ImplicationRow]] = {}
    for row in found:
        by_triple.setdefault((row.subject, row.relation, row.conclusion), []).append(row)
    texts = {stored.id: stored.rule for stored in used}
    items = [_item(score, triple, ways, texts) for triple, ways in by_triple.items()]
    order = {"lost": 0, "due": 1, "kept": 2}
    items.sort(key=lambda i: (order[i.side], i.verdict is None, i.subject, i.relation, i.object))
    return ImplicationsOut(
        edit=score.edit,
        measure=measure,
        rules=len(used),
        stale=tally(items, "lost", "stale", "dropped"),
        taken_up=tally(items, "due", "taken up", "missing"),
        kept=tally(items, "kept", "kept", "harmed"),
        items=items,
    )


def read(
    db: Database,
    dataset: str,
    edited: tuple[str, str, str, str],
    rules: Sequence[StoredRule],
    *,
    edit: str | None = None,
    measure: Measure = "likelihood",
) -> list[rows.ImplicationRow]:
    """The groundings an edit touches; `edited` is subject, relation, old and new object."""
    if not rules:
        return []
    subject, relation, old, new = edited
    return db.read(
        rows.ImplicationRow,
        dataset=dataset,
        edit=edit,
        subject=subject,
        relation=relation,
        old=old,
        new=new,
        pre=f"{measure}_pre",
        post=f"{measure}_post",
        rules=rule_rows(rules),
    )


def _edited(score: Score) -> tuple[str, str, str, str]:
    return (score.subject, score.relation, score.target_true, score.target_new)


def _item(
    score: Score,
    triple: Triple,
    ways: Sequence[rows.ImplicationRow],
    rules: dict[str, Rule],
) -> ImplicationOut:
    sides = {row.side for row in ways}
    support = max(row.support for row in ways)
    side: Side = "kept" if support or len(sides) > 1 else "lost" if "old" in sides else "due"
    pre, post = ways[0].conclusion_pre, ways[0].conclusion_post
    return ImplicationOut(
        subject=triple[0],
        relation=triple[1],
        object=triple[2],
        side=side,
        stated=ways[0].known,
        support=support,
        pre=pre,
        post=post,
        verdict=verdict(side, pre, post),
        groundings=[_grounding(score, row, rules[row.rule].text()) for row in ways],
    )


def _grounding(score: Score, row: rows.ImplicationRow, text: str) -> GroundingOut:
    edited = PremiseOut(
        subject=score.subject,
        relation=score.relation,
        object=row.object,
        edited=True,
        pre=row.edited_pre,
        post=row.edited_post,
    )
    other = PremiseOut(
        subject=row.other_subject,
        relation=row.other_relation,
        object=row.other_object,
        edited=False,
        pre=row.other_pre,
        post=row.other_post,
    )
    premises = [edited, other] if row.place == 1 else [other, edited]
    form: Literal["old", "new"] = "old" if row.side == "old" else "new"
    return GroundingOut(rule=row.rule, text=text, form=form, premises=premises)
