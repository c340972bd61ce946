"""What an edit should change by the rules: conclusions that lose a premise, and those due now.

A rule's grounding with the edited fact in its old form says what followed before; with the new
form, what follows now. The other premise is a fact of the data set. What the model says of a
conclusion is read off the edit's graph; where nobody asked it is undefined, not 0: `thinkeval score
--implications` asks.

What is said of an edit's implications: verdicts, and shares of conclusions with their n.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from thinkeval.cypher import rows
from thinkeval.loaders.rule_records import Rule
from thinkeval.service.graphs.edges import KNOWN
from thinkeval.service.rules.omega import kept_rules
from thinkeval.service.rules.schemas import Triple, rule_rows
from thinkeval.service.rules.store import StoredRule
from thinkeval.service.schemas import Measure, Score

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database

GIVEN = 0.5
"""The model gives a conclusion that is due from this probability on, and still gives an old one
from this part of its probability before the edit on."""

Side = Literal["lost", "due", "kept"]
Verdict = Literal["stale", "dropped", "taken up", "missing", "kept", "harmed", "not known"]

MEANINGS: dict[Verdict, str] = {
    "stale": "it no longer follows, yet the model still gives it",
    "dropped": "it no longer follows, and the model gave it up",
    "taken up": "it follows now, and the model gives it",
    "missing": "it follows now, yet the model does not give it",
    "kept": "it still follows, and the model still gives it",
    "harmed": "it still follows, yet the model gave it up",
    "not known": "the model did not give it before the edit",
}
GOOD: tuple[Verdict, ...] = ("dropped", "taken up", "kept")


class PremiseOut(BaseModel):
    """A premise with its probabilities; None where the model was not asked."""

    subject: str
    relation: str
    object: str
    edited: bool
    pre: float | None
    post: float | None


class ImplicationGroundingOut(BaseModel):
    """By which rule a conclusion follows, or followed; premises in the rule's order.

    Attributes:
        form: `old` or `new`: with which object of the edited fact.
    """

    rule: str
    text: str
    form: Literal["old", "new"]
    premises: list[PremiseOut]


class ImplicationOut(BaseModel):
    """A conclusion that the edit bears on.

    Attributes:
        side: `lost`: it followed from the old object only. `due`: it follows from the new object,
            and from nothing before. `kept`: it follows either way, or from other facts too.
        stated: whether the data set has it as a fact.
        support: other groundings of it, without the edited fact.
        verdict: None where the model was not asked.
    """

    subject: str
    relation: str
    object: str
    side: Side
    stated: bool
    support: int
    pre: float | None
    post: float | None
    verdict: Verdict | None
    groundings: list[ImplicationGroundingOut]


class ImplicationShareOut(BaseModel):
    """A share with what it was taken over.

    Attributes:
        value: None where n is 0.
        undefined: conclusions that were not asked, or not known before; left out.
    """

    value: float | None
    n: int
    undefined: int


class TallyOut(ImplicationShareOut):
    """A share of all conclusions of a side, and of two parts of them.

    Attributes:
        stated: of those that the data set states as facts by themselves.
        only_implied: of those that nothing but the rules says.
    """

    stated: ImplicationShareOut
    only_implied: ImplicationShareOut


class ImplicationsOut(BaseModel):
    """What the rules say of an edit.

    Attributes:
        stale: of conclusions that lost their premise, the share the model still gives; good: 0.
            What the data set states too (`stale.stated`) may be right to stay.
        taken_up: of conclusions due now, the share the model gives; good: 1.
        kept: of conclusions that follow either way, the share the model still gives; good: 1.
    """

    edit: str
    measure: Measure
    rules: int
    stale: TallyOut
    taken_up: TallyOut
    kept: TallyOut
    items: list[ImplicationOut]


def verdict(side: Side, pre: float | None, post: float | None) -> Verdict | None:
    """What became of a conclusion; None where the model was not asked."""
    if pre is None or post is None:
        return None
    if side == "due":
        return "taken up" if post >= GIVEN else "missing"
    if pre < KNOWN:
        return "not known"
    still = post >= GIVEN * pre
    if side == "lost":
        return "stale" if still else "dropped"
    return "kept" if still else "harmed"


def tally(items: Iterable[ImplicationOut], side: Side, hit: Verdict, miss: Verdict) -> TallyOut:
    """The share with the verdict `hit` of a side's conclusions with `hit` or `miss`."""
    mine = [item for item in items if item.side == side]
    stated, rest = ([i for i in mine if i.stated == which] for which in (True, False))
    whole = _share(mine, hit, miss)
    return TallyOut(
        **whole.model_dump(), stated=_share(stated, hit, miss), only_implied=_share(rest, hit, miss)
    )


def _share(items: list[ImplicationOut], hit: Verdict, miss: Verdict) -> ImplicationShareOut:
    hits = sum(item.verdict == hit for item in items)
    n = hits + sum(item.verdict == miss for item in items)
    return ImplicationShareOut(value=hits / n if n else None, n=n, undefined=len(items) - n)


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


def _grounding(score: Score, row: rows.ImplicationRow, text: str) -> ImplicationGroundingOut:
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
    return ImplicationGroundingOut(rule=row.rule, text=text, form=form, premises=premises)
