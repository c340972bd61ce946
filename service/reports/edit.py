"""Views of a scored edit: pages of chains, facts by leakage, its graph to draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from ...cypher import rows
from ...cypher.rows.chains import LeakageRow, ScoredChainRow
from ..errors import UsageError
from ..paging import offset_page, read_offset
from ..schemas import Measure, Score
from .formats import Column, Table

if TYPE_CHECKING:
    from ...cypher.run import Database


class ChainPage(BaseModel):
    """Chains: the surviving ones first, then the largest part of IFR."""

    items: list[ScoredChainRow] = Field(description="The items of this page, in order.")
    next: str | None = Field(
        default=None, description="`cursor` of the next page; null on the last one."
    )
    total: int = Field(description="Chains that fit the filters, on all pages.")
    surviving: int = Field(description="Number of the chains that survive.")
    measure: Measure = Field(
        description="The measure: likelihood, p (share of sampled answers), or likelihood_norm."
    )
    max_steps: int = Field(description="Longest chain that is counted, in facts.")


class LeakPage(BaseModel):
    """Facts on surviving chains, most leakage first."""

    items: list[LeakageRow] = Field(description="The items of this page, in order.")
    measure: Measure = Field(
        description="The measure: likelihood, p (share of sampled answers), or likelihood_norm."
    )


class NodeOut(BaseModel):
    """An entity; `role` is subject, target_true, target_new or entity."""

    id: str = Field(description="Id of the entity.")
    name: str = Field(description="Name of the entity.")
    role: str = Field(description="subject, target_true, target_new or entity.")


class EdgeOut(BaseModel):
    """A fact of the edit's graph."""

    id: str = Field(description="Id of the fact.")
    source: str = Field(description="Id of the subject's node.")
    target: str = Field(description="Id of the object's node.")
    relation: str = Field(description="Relation of the fact.")
    prompt: str = Field(description="The fact's cloze, with `{}` for the subject.")
    question: str | None = Field(description="The fact's question; null without one.")
    role: str = Field(description="fact, target_true, target_new or implication.")
    pre: float | None = Field(
        description="Probability before the edit, 0 to 1; null where it was not measured."
    )
    post: float | None = Field(
        description="Probability after the edit, 0 to 1; null where it was not measured."
    )
    ratio: float | None = Field(description="Post / pre; null where pre is 0.")
    change: str | None = Field(
        description="Effect of the edit on the fact: kept, weakened, removed or added; null if not"
        " measured."
    )
    answers_pre: list[str] = Field(default=[], description="Sampled answers of the unedited model.")
    answers_post: list[str] = Field(default=[], description="Sampled answers of the edited model.")
    n_samples: int | None = Field(
        default=None,
        description="Number of decided answers that p_pre is a fraction of; null without any.",
    )
    chains: int = Field(default=0, description="Chains through it, and how many of them survive.")
    surviving: int = Field(default=0, description="Number of surviving chains through it.")


class GraphOut(BaseModel):
    """The graph of an edit, to draw."""

    nodes: list[NodeOut] = Field(description="The entities.")
    edges: list[EdgeOut] = Field(description="The facts.")
    measure: Measure = Field(
        description="The measure: likelihood, p (share of sampled answers), or likelihood_norm."
    )


class ChainFilter(BaseModel):
    """A selection of an edit's chains."""

    surviving: bool = Field(default=False, description="Only chains that survive the edit.")
    steps: int | None = Field(
        default=None, ge=1, le=5, description="Only chains of this number of facts."
    )
    max_steps: int = Field(
        default=5, ge=1, le=5, description="Only chains of at most this many facts."
    )
    min_ratio: float = Field(
        default=0.0, ge=0, description="Only chains with a retention R'/R of at least this."
    )
    fact: str | None = Field(
        default=None, max_length=500, description="Only chains through the fact of this id."
    )

    def fits(self, chain: ScoredChainRow) -> bool:
        """Return True if a chain is to be shown."""
        return (
            (chain.surviving or not self.surviving)
            and self.steps in (None, chain.steps)
            and chain.steps <= self.max_steps
            and (self.min_ratio == 0 or (chain.ratio or 0.0) >= self.min_ratio)
            and (self.fact is None or any(link.id == self.fact for link in chain.links))
        )


def measure_of(score: Score, measure: Measure | None) -> Measure:
    """The measure asked for; by default the first that was taken.

    Raises:
        UsageError: it was not taken.
    """
    if measure is None:
        return score.measures[0]
    if measure not in score.measures:
        raise UsageError(
            f"Edit {score.edit!r} was not measured by {measure!r}.",
            remedy=f"It has {' and '.join(score.measures)}; or score it again with samples.",
        )
    return measure


def chain_page(
    found: Sequence[ScoredChainRow],
    measure: Measure,
    chosen: ChainFilter,
    *,
    limit: int,
    cursor: str | None,
) -> ChainPage:
    """One page of an edit's chains.

    Raises:
        UsageError: the cursor is malformed.
    """
    fitting = [chain for chain in found if chosen.fits(chain)]
    shown, following = offset_page(fitting, read_offset(cursor), limit)
    return ChainPage(
        items=shown,
        next=following,
        total=len(fitting),
        surviving=sum(chain.surviving for chain in fitting),
        measure=measure,
        max_steps=chosen.max_steps,
    )


def graph_of(
    db: Database, score: Score, measure: Measure, chains: Sequence[ScoredChainRow]
) -> GraphOut:
    """The edit's graph: every fact in its scope, with both sides and its part in the chains."""
    through = Counter(link.id for chain in chains for link in chain.links)
    alive = Counter(link.id for c in chains if c.surviving for link in c.links)
    roles = {
        score.target_new: "target_new",
        score.target_true: "target_true",
        score.subject: "subject",
    }
    # Probes of implications are on no chain; the web UI lists them separately.
    found = db.read(rows.FactRow, "graph/facts", graph=score.edit)
    known = score.options.counted["known"]
    facts = [fact for fact in found if fact.role != "implication"]
    names = dict.fromkeys(name for fact in facts for name in (fact.subject, fact.object))
    return GraphOut(
        nodes=[NodeOut(id=n, name=n, role=roles.get(n, "entity")) for n in names],
        edges=[_edge(fact, measure, known, through[fact.id], alive[fact.id]) for fact in facts],
        measure=measure,
    )


def _edge(
    fact: rows.FactRow, measure: Measure, known: float, chains: int, surviving: int
) -> EdgeOut:
    pre, post = (getattr(fact, f"{measure}_{side}") for side in ("pre", "post"))
    return EdgeOut(
        id=fact.id,
        source=fact.subject,
        target=fact.object,
        relation=fact.relation,
        prompt=fact.prompt,
        question=fact.question,
        role=fact.role,
        pre=pre,
        post=post,
        ratio=post / pre if pre and pre >= known and post is not None else None,
        change=fact.change,
        answers_pre=list(fact.answers_pre or ()),
        answers_post=list(fact.answers_post or ()),
        n_samples=fact.n_samples,
        chains=chains,
        surviving=surviving,
    )


def leakage_table(
    found: Sequence[LeakageRow], link: Callable[[LeakageRow], str] | None = None
) -> Table[LeakageRow]:
    """Return the facts that carry most surviving chains: what to edit next.

    Args:
        link: address of a fact's page.
    """
    columns: list[Column[LeakageRow]] = [
        Column("fact", lambda r: f"{r.subject} {r.relation} {r.object}", link=link),
        Column("surviving chains", lambda r: r.chains),
        Column("of chains", lambda r: r.share, optional=1),
        Column("of IFR", lambda r: r.ifr_share),
        Column("pre", lambda r: r.pre, optional=2),
        Column("post", lambda r: r.post, optional=2),
    ]
    return Table("leaks", "Facts that carry most surviving chains", columns, found)
