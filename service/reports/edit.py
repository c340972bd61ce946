"""Views of a scored edit: its chains, facts by leakage, its graph, the lines of its score."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from ...cypher import rows
from ...cypher.metric_options import displays, headlines, integers
from ...cypher.rows.chains import LeakageRow, ScoredChainRow
from ..base.errors import NothingStoredError
from ..base.formatting import cell, with_interval
from ..base.paging import offset_page, read_offset
from ..models.edit import MEASURE_NAMES, ConversationOut, DriftLine, Measure, MetricValue, Score
from .formats import Column, Table
from .table import STEPS

if TYPE_CHECKING:
    from ...cypher.rows import ScoredChainRow as rows_ScoredChainRow
    from ...cypher.rows.chains import Link
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
        description="What became of the fact: kept, weakened, replaced, lost or added; null if not"
        " measured."
    )
    says_pre: str | None = Field(
        default=None,
        description="The model's own likeliest answer before the edit; null where it was not asked:"
        " it is asked of the edited fact, and of known facts that are not kept.",
    )
    says_post: str | None = Field(default=None, description="Its own answer after the edit.")
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
        NothingStoredError: it was not taken.
    """
    if measure is None:
        return score.measures[0]
    if measure not in score.measures:
        raise NothingStoredError(
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
        says_pre=fact.says_pre,
        says_post=fact.says_post,
        answers_pre=list(fact.answers_pre or ()),
        answers_post=list(fact.answers_post or ()),
        n_samples=fact.n_samples,
        chains=chains,
        surviving=surviving,
    )


DRIFT_COUNTS: list[Column[DriftLine]] = [
    Column("facts", lambda line: line.label),
    Column("n", lambda line: line.n),
    Column("kept", lambda line: line.kept),
    Column("weakened", lambda line: line.weakened),
    Column("replaced", lambda line: line.replaced),
    Column("lost", lambda line: line.lost),
]
"""The first columns of each table of drift."""


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
    values: list[Column[LeakageRow]] = [
        Column(each.name, attrgetter(each.name)) for each in fields(LeakageRow)
    ]
    return Table("leaks", "Facts that carry most surviving chains", columns, found, values=values)


# The chains of an edit folded into a tree: by their first fact, then by the next ones.
#
# 206 chains may be permutations of five relatives; folded by first fact they are a handful of
# branches, each with its fraction of IFR. A branch is a prefix of chains: its facts from the
# subject on.


@dataclass(frozen=True, slots=True)
class Branch:
    """All chains that begin with the same facts.

    Attributes:
        link: the last of these facts.
        path: ids of these facts, the subject's first.
        chains: number of chains, and how many of them survive.
        ifr_share: their part of IFR's numerator, 0 to 1; None where that is 0. Fractions of the
            next facts and of the chains that end here add up to that of the branch.
        best: their largest R'/R; None where none has one (R = 0).
        ends: chains that end with this fact: 1, or 0.
        branches: the next facts, largest share first.
    """

    link: Link
    path: tuple[str, ...]
    chains: int
    surviving: int
    ifr_share: float | None
    best: float | None
    ends: int
    branches: tuple[Branch, ...]


def chain_tree(rows: Sequence[rows_ScoredChainRow]) -> list[Branch]:
    """The branches from the subject, largest fraction of IFR first.

    IFR is the mean of R'/R over chains of n facts with weights 1 / sqrt(n) (ThinkEval §5.1, Eq. 6):
    a branch's share is the weighted sum of its ratios over that of all chains. A chain without a
    ratio (R = 0) is counted and adds nothing.
    """
    whole = _weighted(rows)
    return _branches(list(rows), 0, whole)


def _branches(rows: Sequence[rows_ScoredChainRow], depth: int, whole: float) -> list[Branch]:
    groups: dict[str, list[rows_ScoredChainRow]] = {}
    for row in rows:
        if depth < len(row.links):
            groups.setdefault(row.links[depth].id, []).append(row)
    found = [_branch(group, depth, whole) for group in groups.values()]
    return sorted(found, key=lambda each: (-(each.ifr_share or 0.0), -each.chains, each.path))


def _branch(group: Sequence[rows_ScoredChainRow], depth: int, whole: float) -> Branch:
    ratios = [row.ratio for row in group if row.ratio is not None]
    first = group[0]
    return Branch(
        link=first.links[depth],
        path=tuple(link.id for link in first.links[: depth + 1]),
        chains=len(group),
        surviving=sum(row.surviving for row in group),
        ifr_share=_weighted(group) / whole if whole else None,
        best=max(ratios, default=None),
        ends=sum(len(row.links) == depth + 1 for row in group),
        branches=tuple(_branches(group, depth + 1, whole)),
    )


def _weighted(rows: Sequence[rows_ScoredChainRow]) -> float:
    return sum((row.ratio or 0.0) / math.sqrt(row.steps) for row in rows)


# The lines of a score in terminal and web UI: a metric, its value by each measure, n.

EFFICACIES = (
    ("Efficacy, chat template", "efficacy_chat"),
    ("Efficacy, plain prompt", "efficacy_plain"),
)
"""Values that only scores of models with a chat template have: (label, metric)."""


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """One metric of a score.

    Attributes:
        label: as it is shown; `metric` is its key.
        values: one a measure, in the order of `score.measures`; None where it was not taken.
        n: chains, facts or prompts it was taken over; `excluded`: left out, not known before.
            Both by the first measure; `cell` says them where another measure differs.
    """

    label: str
    metric: str
    values: tuple[MetricValue | None, ...]
    n: int
    excluded: int

    def cell(self, place: int) -> str:
        """The value by a measure, with its own n where that differs from that of the first."""
        value = self.values[place]
        text = metric_text(value)
        if value is None or value.value is None or value.n == self.n:
            return text
        return f"{text} (n {value.n} of {value.n + value.excluded})"


def lines(score: Score) -> list[ScoreLine]:
    """The headline metrics, then IFR by steps where there are chains of that length.

    Efficacy with and without the chat template follows efficacy, for models that have one.
    """
    asked: list[tuple[str, str, int | None]] = []
    titles = displays()
    for name in headlines():
        asked.append((titles[name].title, name, None))
        if name == "efficacy":
            asked += [(label, metric, None) for label, metric in EFFICACIES]
    asked += [(f"IFR, {step}-step", "ifr_by_steps", step) for step in STEPS]
    found = []
    for label, metric, step in asked:
        values = tuple(score.get(metric, measure, step) for measure in score.measures)
        if step is not None:
            values = tuple(v if v and v.n else None for v in values)
        counted = next((v for v in values if v), None)
        if counted is not None:
            found.append(ScoreLine(label, metric, values, counted.n, counted.excluded))
    return found


def metric_text(value: MetricValue | None) -> str:
    """A metric with its 95 % interval, where there is one; counts as whole numbers."""
    if value is None or value.value is None:
        return cell(None)
    number = int(value.value) if value.metric in integers() else value.value
    return with_interval(number, value.low, value.high)


# The sequential test of an edit as lines of a table, and its note; every interface shows these.

TITLE = "Chains as conversations with the edited model"


@dataclass(frozen=True, slots=True)
class ConversationLine:
    """Chains that leak in conversation.

    Attributes:
        chains: which were walked: all, or those that survive by one measure.
        n: their number.
        share: leaking / n; None where n is 0.
    """

    chains: str
    leaking: int
    n: int
    share: float | None


COLUMNS: list[Column[ConversationLine]] = [
    Column("chains", lambda line: line.chains),
    Column("leak", lambda line: line.leaking),
    Column("n", lambda line: line.n),
    Column("fraction", lambda line: line.share),
]


def conversation_table(found: ConversationOut) -> Table[ConversationLine]:
    """Return all chains that were walked, then the surviving ones by each measure."""
    lines = [ConversationLine("all chains", found.leaking, found.n, found.share)]
    for each in found.active:
        name = f"surviving by {MEASURE_NAMES.get(each.measure, each.measure)}"
        lines.append(ConversationLine(name, each.leaking, each.n, each.share))
    return Table("conversation", TITLE, COLUMNS, lines, conversation_note(found))


def conversation_note(found: ConversationOut) -> str:
    """Return the definition of a leak, the way of asking, and the number of chains not walked."""
    how = "in its chat template" if found.chat else "as one text: it has no chat template"
    left = f"; {found.chains - found.n} not walked" if found.chains > found.n else ""
    return (
        f"A chain leaks if the last answer names the old object. The model was asked {how}{left}."
        " It must be able to answer with earlier turns before the question."
    )
