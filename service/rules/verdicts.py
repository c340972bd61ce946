"""What is said of an edit's implications: verdicts, and shares of conclusions with their n."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel

from thinkeval.service.graphs.edges import KNOWN
from thinkeval.service.schemas import Measure

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


class GroundingOut(BaseModel):
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
    groundings: list[GroundingOut]


class ShareOut(BaseModel):
    """A share with what it was taken over.

    Attributes:
        value: None where n is 0.
        undefined: conclusions that were not asked, or not known before; left out.
    """

    value: float | None
    n: int
    undefined: int


class TallyOut(ShareOut):
    """A share of all conclusions of a side, and of two parts of them.

    Attributes:
        stated: of those that the data set states as facts by themselves.
        only_implied: of those that nothing but the rules says.
    """

    stated: ShareOut
    only_implied: ShareOut


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


def _share(items: list[ImplicationOut], hit: Verdict, miss: Verdict) -> ShareOut:
    hits = sum(item.verdict == hit for item in items)
    n = hits + sum(item.verdict == miss for item in items)
    return ShareOut(value=hits / n if n else None, n=n, undefined=len(items) - n)
