"""Omega(G): recovery of the old object by chains and rules, and the mixed chains that do so."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field

from ...cypher.rows.chains import StoredTriple
from ...cypher.rows.closure import Kind, OmegaRow
from ..base.paging import CURSOR, LIMIT, OFFSET, offset_page, read_offset
from ..graphs import datasets
from ..models.edit import Measure, Score
from . import closure
from . import closure as forward
from .engine import Best, by_conclusion, cone, solve_sizes
from .proofs import Prover
from .schemas import ClosureOptions, ProofOut, Triple
from .store import StoredRule, kept_rules

if TYPE_CHECKING:
    from ...cypher.run import Database


KINDS: tuple[Kind, ...] = ("paths", "rules", "both")
WAYS: dict[Kind, str] = {
    "paths": "chains of facts",
    "rules": "rules",
    "both": "chains and rules together",
}


class OmegaOut(BaseModel):
    """Ω of an edit up to n facts: by paths, by rules, by both."""

    edit: str = Field(description="Id of the edit.")
    measure: Measure = Field(
        description="The measure: likelihood, p (share of sampled answers), or likelihood_norm."
    )
    rules: int = Field(
        description="Number of rules; without any, only chains recover the old object."
    )
    threshold: float = Field(description="A chain survives where R' > threshold · R.")
    max_steps: int = Field(description="Longest chain that is counted, in facts.")
    items: list[OmegaRow] = Field(description="The items of this page, in order.")
    deep: dict[Kind, int] = Field(
        description="{kind: the largest n up to which nothing of the kind survives}."
    )
    note: str | None = Field(
        default=None,
        description="Conclusions that could not be counted, with the reason; the values of rules"
        " and both are null then.",
    )
    proofs: list[ProofOut] = Field(
        default=[],
        description="Proofs of the old fact from others by rules, strongest before the edit first.",
    )

    def at(self, kind: Kind, step: int | None = None) -> OmegaRow:
        """The value of one kind; by default up to the score's longest chain."""
        step = step or self.max_steps
        return next(item for item in self.items if (item.kind, item.step) == (kind, step))


def omega(
    db: Database,
    score: Score,
    measure: Measure,
    rules: Sequence[StoredRule] | None = None,
    *,
    most: int = 5,
) -> OmegaOut:
    """Compute Omega: recovery of the old object by chains and rules after an edit.

    Args:
        rules: None for the kept rules of the edit's data set.
        most: maximum number of proofs.

    Raises:
        NotFoundError: the edit's graph is not stored.
        UsageError: the closure is too large.
    """
    datasets.require_graph(db, score.edit, kind="edit")
    used = kept_rules(db, score.dataset) if rules is None else list(rules)
    threshold = score.options.threshold_for(measure)
    with closure.transaction(db, score.edit, used) as tx:
        found = closure.within(tx, db, score.edit, used, ClosureOptions(measure=measure))
        items = tx.run(
            OmegaRow,
            "closure/omega",
            graph=score.edit,
            subject=score.subject,
            object=score.target_true,
            relation=score.relation,
            max_steps=score.options.max_steps,
            bare=score.options.bare,
            parallel=score.options.parallel,
            pre=f"{measure}_pre",
            post=f"{measure}_post",
            threshold=threshold,
            **score.options.counted,
        )
    if found.note:
        items = [i if i.kind == "paths" else replace(i, value=None) for i in items]
    return OmegaOut(
        edit=score.edit,
        measure=measure,
        rules=len(used),
        threshold=threshold,
        max_steps=score.options.max_steps,
        items=items,
        deep={kind: _deep(items, kind) for kind in KINDS},
        note=found.note,
        proofs=_proofs(found, score)[:most],
    )


def _deep(items: Sequence[OmegaRow], kind: Kind) -> int:
    """The largest n up to which nothing survives; values decrease with n."""
    return max((item.step for item in items if item.kind == kind and item.value == 1), default=0)


def _proofs(found: closure.Closure, score: Score) -> list[ProofOut]:
    """Proofs of the old fact that do not use the new one."""
    goal = (score.subject, score.relation, score.target_true)
    new = (score.subject, score.relation, score.target_new)
    facts = [a for a in found.atoms.values() if not a.implied and closure.triple_of(a) != new]
    sides = (closure.probabilities(facts, "pre"), closure.probabilities(facts, "post"))
    ways = [g for g in found.groundings if new not in (*g.premises, g.conclusion)]
    triples = {closure.triple_of(atom) for atom in facts}
    return Prover(ways, triples, sides, found.rules).proofs(goal)


# Mixed chains, over facts and conclusions: the paths and proofs that recover the old object.
#
# Omega counts them (`omega`, kind `both`); this file lists each with its links, and each implied
# link with its rule and premises. Steps are facts, as everywhere in Omega.


@dataclass(frozen=True, kw_only=True)
class MixedLinkOut(StoredTriple):
    """A link of a chain: a fact or a conclusion, with the conclusion's proof."""

    implied: Annotated[bool, Field(description="Whether it is a conclusion, not a fact.")]
    facts: Annotated[
        int | None,
        Field(
            description="Number of the chain's facts it represents; null if the chain has no"
            " strength."
        ),
    ]
    pre: Annotated[
        float | None,
        Field(
            description="Before the edit: a fact's probability, or strength of the best proof"
            " with that many facts."
        ),
    ]
    post: Annotated[
        float | None,
        Field(
            description="After the edit: a fact's probability, or strength of the best proof with"
            " that many facts."
        ),
    ]
    ratio: Annotated[float | None, Field(description="Post / pre; null if pre is 0.")] = None
    proof: Annotated[
        ProofOut | None,
        Field(
            description="Strongest proof of a conclusion after the edit with that number of"
            " facts; null for a fact. Its `strength_pre` may be below `pre`, which is that of the"
            " best proof before the edit."
        ),
    ] = None


class MixedChainOut(BaseModel):
    """A chain with at least one conclusion among its links, in its strongest form."""

    steps: int | None = Field(
        description="Number of its facts. null, like strengths and verdict, if one was not probed."
    )
    entities: list[str] = Field(description="Names, from the subject to the old object.")
    r_pre: float | None = Field(description="Strength with that number of facts before the edit.")
    r_post: float | None = Field(description="Strength with that number of facts after the edit.")
    ratio: float | None = Field(description="r_post / r_pre; null if r_pre is 0.")
    surviving: bool | None = Field(
        description="True if it survives the edit; null if a part was not probed."
    )
    links: list[MixedLinkOut] = Field(description="The links in order: facts and conclusions.")


class MixedPage(BaseModel):
    """Chains over conclusions, strongest after the edit first."""

    edit: str = Field(description="Id of the edit.")
    measure: Measure = Field(
        description="The measure: likelihood, p (share of sampled answers), or likelihood_norm."
    )
    rules: int = Field(description="Number of rules.")
    threshold: float = Field(description="A chain survives where R' > threshold · R.")
    max_steps: int = Field(
        description="Maximum number of facts; longer forms of a chain are ignored."
    )
    looked_at: int = Field(description="Number of chains with the chosen steps, surviving or not.")
    total: int = Field(description="Number of those that match the filters, on all pages.")
    surviving: int = Field(description="Number of those that survive.")
    items: list[MixedChainOut] = Field(description="The items of this page, in order.")
    note: str | None = Field(
        default=None, description="Conclusions that no chain is counted over, with the reason."
    )
    next: str | None = Field(default=None, description="Cursor of the next page.")


class Chosen(BaseModel):
    """Filter of the chains over conclusions; `steps` counts facts."""

    surviving: bool = Field(default=False, description="Only chains that survive the edit.")
    steps: int | None = Field(
        default=None, ge=1, le=5, description="Only chains of this number of facts."
    )
    max_steps: int = Field(
        default=5, ge=1, le=5, description="Only chains of at most this many facts."
    )
    limit: int | None = Field(default=None, ge=1, description=LIMIT)
    cursor: str | None = Field(default=None, pattern=OFFSET, description=CURSOR)


def mixed(
    db: Database,
    score: Score,
    measure: Measure,
    rules: Sequence[StoredRule] | None = None,
    chosen: Chosen | None = None,
) -> MixedPage:
    """The chains over conclusions that recover the old object.

    Args:
        rules: None for the kept rules of the edit's data set.

    Raises:
        NotFoundError: the edit's graph is not stored.
        UsageError: the closure is too large.
    """
    chosen = chosen or Chosen()
    datasets.require_graph(db, score.edit, kind="edit")
    used = kept_rules(db, score.dataset) if rules is None else list(rules)
    threshold = score.options.threshold_for(measure)
    most = min(chosen.max_steps, score.options.max_steps)
    with forward.transaction(db, score.edit, used) as tx:
        closure = forward.within(tx, db, score.edit, used, ClosureOptions(measure=measure))
        found = tx.run(
            MixedChainOut,
            "closure/mixed",
            graph=score.edit,
            subject=score.subject,
            object=score.target_true,
            relation=score.relation,
            max_steps=most,
            pre=f"{measure}_pre",
            post=f"{measure}_post",
            threshold=threshold,
            known_chain=score.options.counted["known_chain"],
        )
    looked_at = [row for row in found if chosen.steps in (None, row.steps)]
    fitting = [row for row in looked_at if row.surviving or not chosen.surviving]
    shown, following = offset_page(fitting, read_offset(chosen.cursor), chosen.limit)
    proofs = _Proofs(closure, shown)
    return MixedPage(
        edit=score.edit,
        measure=measure,
        rules=len(used),
        threshold=threshold,
        max_steps=most,
        looked_at=len(looked_at),
        total=len(fitting),
        surviving=sum(bool(row.surviving) for row in fitting),
        items=[_proved(row, proofs) for row in shown],
        note=closure.note,
        next=following,
    )


def _proved(chain: MixedChainOut, proofs: _Proofs) -> MixedChainOut:
    """Return a chain with the ratio and the proof of each link."""
    links = [
        replace(
            link,
            ratio=link.post / link.pre if link.pre and link.post is not None else None,
            proof=proofs.of(link),
        )
        for link in chain.links
    ]
    return chain.model_copy(update={"links": links})


class _Proofs:
    """The strongest proofs after an edit, by number of facts, of the listed links.

    They exclude the edited fact in either form, like the strengths that a closure stores by size.
    """

    def __init__(self, closure: forward.Closure, shown: Sequence[MixedChainOut]) -> None:
        facts = [atom for atom in closure.atoms.values() if not atom.implied]
        self.pre = forward.probabilities(facts, "pre")
        self.post = forward.probabilities(facts, "post")
        self.texts = {stored.id: stored.rule.text() for stored in closure.rules}
        edited = {forward.triple_of(f) for f in facts if f.role in forward.EDITED}
        ways = by_conclusion(closure.groundings)
        goals = {_triple(link) for row in shown for link in row.links if link.implied}
        needed = {t: found for goal in goals for t, found in cone(ways, goal).items()}
        self.sized = solve_sizes(needed, self.post, edited)

    def of(self, link: MixedLinkOut) -> ProofOut | None:
        """The proof of an implied link; None for a fact."""
        if not link.implied or link.facts is None:
            return None
        best = self.sized[_triple(link)].get(link.facts)
        return None if best is None else self._shown(_triple(link), best)

    def _shown(self, triple: Triple, proof: Best[float]) -> ProofOut:
        way = proof.way
        if way is None:
            pre, post = self.pre.get(triple), self.post.get(triple)
            return _out(triple, pre, post)
        parts = [self._shown(t, p) for t, p in zip(way.premises, proof.premises, strict=True)]
        before = [part.strength_pre for part in parts]
        known = [value for value in before if value is not None]
        pre = math.prod(known) * way.factor if len(known) == len(parts) else None
        return _out(triple, pre, proof.value).model_copy(
            update={
                "implied": True,
                "leaves": sum(part.leaves for part in parts),
                "rule": way.rule,
                "text": self.texts.get(way.rule),
                "premises": parts,
            }
        )


def _out(triple: Triple, pre: float | None, post: float | None) -> ProofOut:
    subject, relation, object_ = triple
    return ProofOut(
        subject=subject, relation=relation, object=object_, implied=False,
        strength_pre=pre, strength_post=post,
    )  # fmt: skip


def _triple(link: MixedLinkOut) -> Triple:
    return (link.subject, link.relation, link.object)
