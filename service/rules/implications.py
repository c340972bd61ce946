"""Implications of an edit: conclusions lost or newly entailed, and their summary over edits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from ...cypher import rows
from ...cypher.rows.closure import Kind
from ...loaders.rule_records import Rule
from ..base.formatting import number, pluralize
from ..models.edit import KNOWN, Measure, ProbedFact, Score
from .omega import KINDS, WAYS, Chosen, MixedChainOut, MixedPage, OmegaOut, mixed, omega
from .schemas import Triple, rule_rows
from .store import StoredRule, kept_rules

if TYPE_CHECKING:
    from ...cypher.run import Database


# A rule's grounding with the old form of the edited fact entails a conclusion before the edit,
# one with the new form after it. The other premise is a fact of the data set. The probabilities
# of a conclusion are those of the edit's graph. Without a probe they are undefined, not 0;
# `thinkeval score --implications` probes them.

GIVEN = 0.5
"""Minimum probability of a newly entailed conclusion that counts as propagated, and minimum
fraction of its pre-edit probability from which an old conclusion still counts as answered."""

Side = Literal["lost", "due", "kept"]
Verdict = Literal["stale", "dropped", "propagated", "missing", "kept", "broken", "not known"]

MEANINGS: dict[Verdict, str] = {
    "stale": "no longer entailed, but still answered",
    "dropped": "no longer entailed, and no longer answered",
    "propagated": "newly entailed, and answered",
    "missing": "newly entailed, but not answered",
    "kept": "still entailed, and still answered",
    "broken": "still entailed, but no longer answered",
    "not known": "not answered before the edit either",
}
GOOD: tuple[Verdict, ...] = ("dropped", "propagated", "kept")


class PremiseOut(ProbedFact):
    """A premise with its probabilities; None without a probe."""

    edited: bool = Field(description="Whether it is the edited fact.")


class ImplicationGroundingOut(BaseModel):
    """A rule that entails a conclusion now or entailed it before; premises in the rule's order."""

    rule: str = Field(description="Id of the rule.")
    text: str = Field(description="The rule as a sentence.")
    form: Literal["old", "new"] = Field(description="Object of the edited fact, `old` or `new`.")
    premises: list[PremiseOut] = Field(description="The premises, in the rule's order.")


class ImplicationOut(ProbedFact):
    """A conclusion with the edited fact among its premises."""

    side: Side = Field(
        description="`lost`: entailed by the old object only. `due`: newly entailed, by the new"
        " object. `kept`: entailed by both, or by other facts too."
    )
    stated: bool = Field(description="True if the data set has it as a fact.")
    support: int = Field(description="Number of its other groundings, without the edited fact.")
    verdict: Verdict | None = Field(description="Null without a probe.")
    groundings: list[ImplicationGroundingOut] = Field(
        description="The rules that entail it, now or before the edit."
    )


class ImplicationShareOut(BaseModel):
    """A fraction of conclusions."""

    value: float | None = Field(description="The fraction; null where n is 0.")
    n: int = Field(description="Number of conclusions with a verdict.")
    undefined: int = Field(
        description="Number of conclusions left out: not probed, or not known before the edit."
    )


class TallyOut(ImplicationShareOut):
    """A fraction of all conclusions of a side, and the same for two groups of them."""

    stated: ImplicationShareOut = Field(description="Conclusions that are facts of the data set.")
    only_implied: ImplicationShareOut = Field(description="Conclusions that are not.")


class ImplicationsOut(BaseModel):
    """Implications of an edit by the rules."""

    edit: str = Field(description="Id of the edit.")
    measure: Measure = Field(
        description="The measure: likelihood, p (share of sampled answers), or likelihood_norm."
    )
    rules: int = Field(description="Number of rules.")
    stale: TallyOut = Field(
        description="Fraction of conclusions without a premise that are still answered; best: 0."
        " Those that are facts of the data set (`stale.stated`) may rightly remain."
    )
    propagated: TallyOut = Field(
        description="Fraction of newly entailed conclusions that are answered; best: 1."
    )
    kept: TallyOut = Field(
        description="Fraction of conclusions entailed before and after that are still answered;"
        " best: 1."
    )
    items: list[ImplicationOut] = Field(description="The conclusions, by verdict.")


def verdict(side: Side, pre: float | None, post: float | None) -> Verdict | None:
    """Verdict on a conclusion; None without a probe."""
    if pre is None or post is None:
        return None
    if side == "due":
        return "propagated" if post >= GIVEN else "missing"
    if pre < KNOWN:
        return "not known"
    still = post >= GIVEN * pre
    if side == "lost":
        return "stale" if still else "dropped"
    return "kept" if still else "broken"


def tally(items: Iterable[ImplicationOut], side: Side, hit: Verdict, miss: Verdict) -> TallyOut:
    """Fraction `hit` of the conclusions of a side with the verdict `hit` or `miss`."""
    mine = [item for item in items if item.side == side]
    stated, rest = ([i for i in mine if i.stated == which] for which in (True, False))
    whole = _fraction(mine, hit, miss)
    return TallyOut(
        **whole.model_dump(),
        stated=_fraction(stated, hit, miss),
        only_implied=_fraction(rest, hit, miss),
    )


def _fraction(items: list[ImplicationOut], hit: Verdict, miss: Verdict) -> ImplicationShareOut:
    hits = sum(item.verdict == hit for item in items)
    n = hits + sum(item.verdict == miss for item in items)
    return ImplicationShareOut(value=hits / n if n else None, n=n, undefined=len(items) - n)


def implications(
    db: Database, score: Score, measure: Measure, rules: Sequence[StoredRule] | None = None
) -> ImplicationsOut:
    """The implications of an edit: lost ones first, then newly entailed ones, then kept ones.

    Args:
        rules: None for the kept rules of the edit's data set.
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
        propagated=tally(items, "due", "propagated", "missing"),
        kept=tally(items, "kept", "kept", "broken"),
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
    """The groundings that contain the edited fact: subject, relation, old and new object.

    The new object of a fact that is forgotten is "": it entails nothing.
    """
    if not rules:
        return []
    subject, relation, old, new = edited
    return db.read(
        rows.ImplicationRow,
        "closure/implications",
        dataset=dataset,
        edit=edit,
        subject=subject,
        relation=relation,
        old=old,
        new=new or None,
        pre=f"{measure}_pre",
        post=f"{measure}_post",
        rules=rule_rows(rules),
    )


def other_premise(row: rows.ImplicationRow) -> Triple | None:
    """The premise beside the edited fact; None for a rule with one premise."""
    if row.other_subject is None or row.other_relation is None or row.other_object is None:
        return None
    return (row.other_subject, row.other_relation, row.other_object)


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
    premises = [edited]
    if (triple := other_premise(row)) is not None:
        subject, relation, object_ = triple
        other = PremiseOut(
            subject=subject, relation=relation, object=object_, edited=False,
            pre=row.other_pre, post=row.other_post,
        )  # fmt: skip
        premises = [edited, other] if row.place == 1 else [other, edited]
    form: Literal["old", "new"] = "old" if row.side == "old" else "new"
    return ImplicationGroundingOut(rule=row.rule, text=text, form=form, premises=premises)


# Implications and Omega of several edits, pooled by method, and as paragraphs of a report.
#
# Fractions of conclusions are always printed with their n, and with the two groups they consist
# of.


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
