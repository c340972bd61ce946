"""What the page of one scored edit shows: its chains, filtered, and its graph, laid out.

The page's section on rules: does the old object come back, what is stale, what is due.

The result_values of the template of one scored edit, and of its list of chains alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from thinkeval.cypher import rows
from thinkeval.cypher.metric_options import displays
from thinkeval.service.api.pages.commands import commands
from thinkeval.service.formatting import number
from thinkeval.service.reports.browser import chain_link, guide_command, question_links
from thinkeval.service.reports.edit import ChainFilter, graph_of, measure_of
from thinkeval.service.reports.score_lines import lines
from thinkeval.service.reports.table import STEPS
from thinkeval.service.rules.implications import GOOD, MEANINGS, implications
from thinkeval.service.rules.mixed_chains import Chosen, mixed
from thinkeval.service.rules.omega import KINDS, WAYS, kept_rules, omega
from thinkeval.service.schemas import MEASURE_NAMES, Measure, Score
from thinkeval.service.scoring import metrics

if TYPE_CHECKING:
    from thinkeval.cypher.rows import ScoredChainRow
    from thinkeval.cypher.run import Database

FIRST = 50
"""Chains shown at once; a page of all 206 chains of a KnowGIC edit has thousands of boxes."""

FEW, FEW_CUT = 10, 5
"""Surviving and cut chains that are drawn until the reader asks for all: more cannot be read."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Which chains are shown: the filter of REST, any choice of lengths, and how many at most."""

    filter: ChainFilter = field(default_factory=ChainFilter)
    steps: frozenset[int] = field(default=frozenset(STEPS))
    at_most: int = FIRST

    def fits(self, chain: ScoredChainRow) -> bool:
        """Whether a chain is shown. One without a ratio (R = 0) has no strength to compare."""
        return chain.steps in self.steps and self.filter.fits(chain)


@dataclass(frozen=True, slots=True)
class Chains:
    """The chains of an edit, strongest first: all of them, and those found by the filter."""

    all: Sequence[ScoredChainRow]
    found: Sequence[ScoredChainRow]
    at_most: int

    @property
    def shown(self) -> Sequence[ScoredChainRow]:
        """What is written out."""
        return self.found[: self.at_most]

    @property
    def surviving(self) -> int:
        """How many of those found survive."""
        return sum(chain.surviving for chain in self.found)

    @property
    def by_step(self) -> dict[int, int]:
        """Number of chains of each length, before filtering."""
        counts = Counter(chain.steps for chain in self.all)
        return {step: counts[step] for step in STEPS}

    @property
    def drawn(self) -> dict[str, dict[str, bool]]:
        """What the drawing shows of the chains found: `few`, the strongest of them, and `all`.

        Each is {id of a fact that a chain passes: whether one that passes it survives}.
        """
        alive = [chain for chain in self.found if chain.surviving]
        cut = sorted((c for c in self.found if not c.surviving), key=lambda c: -c.r_pre)
        few = [*alive[:FEW], *cut[:FEW_CUT]]
        return {"few": _passed(few, alive), "all": _passed(self.found, alive)}

    @property
    def ways(self) -> list[str]:
        """Whom the old object comes back by: the first entity of surviving chains, in order."""
        first = (chain.entities[1] for chain in self.all if chain.surviving and chain.steps > 1)
        return list(dict.fromkeys(first))


def _passed(some: Sequence[ScoredChainRow], alive: Sequence[ScoredChainRow]) -> dict[str, bool]:
    surviving = {link.id for chain in alive for link in chain.links}
    return {link.id: link.id in surviving for chain in some for link in chain.links}


def chains(db: Database, score: Score, measure: Measure, shown: Shown) -> Chains:
    """The chains of a scored edit."""
    every = metrics.chain_rows(db, score, measure)
    return Chains(every, [chain for chain in every if shown.fits(chain)], shown.at_most)


def drawing(db: Database, score: Score, measure: Measure, told: Chains) -> dict[str, Any]:
    """The graph as REST gives it, each node with the column it is drawn in.

    That is the fewest facts that lead to it on a chain; the old object stands last.
    """
    columns: dict[str, int] = {score.subject: 0}
    for chain in told.all:
        for at, name in enumerate(chain.entities[:-1]):
            columns[name] = min(at, columns.get(name, at))
    columns[score.target_true] = max(columns.values()) + 1
    graph = graph_of(db, score, measure, told.all).model_dump()
    for node in graph["nodes"]:
        node["column"] = columns.get(node["id"], 1)
    for edge in graph["edges"]:
        edge["asked"] = edge.pop("prompt").replace("{}", edge["source"])
    return graph


IMPLIED_FIRST = 20
"""Conclusions that are shown at once; the others unfold."""
MIXED = 10
"""Chains over facts and conclusions that are shown; REST and the command line list all of them."""

SIDES = {
    "lost": "it no longer follows",
    "due": "it follows now",
    "kept": "it follows as before",
}


def implied_values(db: Database, score: Score, measure: Measure) -> dict[str, Any]:
    """For `_implications.html`; without rules there is no section.

    `come` is a sentence for whoever has not read what Omega is.
    """
    rules = kept_rules(db, score.dataset)
    if not rules:
        return {"implied": None}
    told = omega(db, score, measure, rules)
    return {
        "implied": implications(db, score, measure, rules),
        "omega": told,
        "mixed": mixed(db, score, measure, rules, Chosen(surviving=True, limit=MIXED)),
        "example": rules[0].rule.text(),
        "come": _come(score, {kind: told.at(kind).surviving for kind in KINDS}),
        "ways_by": WAYS,
        "sides": SIDES,
        "good": GOOD,
        "verdict_meanings": MEANINGS,
        "implied_first": IMPLIED_FIRST,
    }


def _come(score: Score, surviving: dict[Any, int]) -> str:
    alive = [WAYS[kind] for kind in KINDS if surviving[kind]]
    if not alive:
        return f"{score.target_true} does not come back: neither by chains nor by rules."
    listed = alive[0] if len(alive) == 1 else f"{', by '.join(alive[:-1])}, and by {alive[-1]}"
    return f"{score.target_true} still comes back by {listed}."


FIGURES = (("leakage", "leakage graph"), ("chain", "strongest surviving chain"))

_TOLD = (
    "model", "method", "hparams_digest", "covariance_corpus", "graph_digest", "probe", "seed",
    "strength", "versions", "created_at",
)  # fmt: skip


def query(measure: str, shown: Shown) -> str:
    """What is shown as the query of an address; what is at its default is left out."""
    picked = shown.filter
    pairs: list[tuple[str, object]] = [("measure", measure)]
    if shown.steps != frozenset(STEPS):
        pairs += [("steps", step) for step in sorted(shown.steps)]
    if picked.min_ratio:
        pairs.append(("min_ratio", picked.min_ratio))
    if picked.fact:
        pairs.append(("fact", picked.fact))
    if picked.surviving:
        pairs.append(("surviving", "true"))
    if shown.at_most != FIRST:
        pairs.append(("show", shown.at_most))
    return urlencode(pairs)


def chain_values(
    db: Database, score: Score, measure: Measure | None, shown: Shown, browser: str
) -> dict[str, Any]:
    """For `_chains.html`: the chains found, and for each that is shown a link to Neo4j Browser."""
    by = measure_of(score, measure)
    told = chains(db, score, by, shown)
    longer = replace(shown, at_most=shown.at_most + FIRST)
    links = [chain_link(browser, score, chain) for chain in told.shown] if browser else []
    return {
        "score": score,
        "measure": by,
        "told": told,
        "links": links,
        "more": f"/edits/{score.edit}?{query(by, longer)}",
    }


def result_values(
    db: Database,
    score: Score,
    measure: Measure | None,
    shown: Shown,
    *,
    browser: str,
    base: str,
) -> dict[str, Any]:
    """For `html`; `base` is the service's address, `browser` that of Neo4j Browser or ""."""
    listed = chain_values(db, score, measure, shown, browser)
    by, told = listed["measure"], listed["told"]
    return (
        listed
        | implied_values(db, score, by)
        | {
            "shown": shown,
            "measures": MEASURE_NAMES,
            "display": displays(),
            "lines": lines(score),
            "verdict": verdict(score, by, told),
            "ways": told.ways,
            "leaks": metrics.leakage_rows(db, score, by),
            "graph": drawing(db, score, by, told),
            "others": _others(db, score),
            "figures": FIGURES,
            "commands": commands(score, base),
            "questions": question_links(browser, score, by) if browser else [],
            "guide": guide_command(base, score.edit),
            "provenance": [
                (key, _plain(score.provenance[key])) for key in _TOLD if score.provenance.get(key)
            ],
            "whole": json.dumps(score.provenance, indent=1, ensure_ascii=False, default=str),
        }
    )


def verdict(score: Score, measure: Measure, told: Chains) -> str:
    """The score in two sentences, for whoever has not read what the numbers mean."""
    efficacy = score.get("efficacy", measure)
    installed = "the edit's own fact was not asked"
    if efficacy is not None:
        how = "took" if efficacy.value > 0.5 else "did not take"
        installed = (
            f"the edit {how}: asked directly, the model says {score.target_new} with probability"
            f" {number(efficacy.value)}"
        )
    alive, whole = sum(chain.surviving for chain in told.all), len(told.all)
    if not whole:
        left = "no chain leads to the old object, so nothing can leak"
    elif not alive:
        left = f"none of the {whole} chains leads to {score.target_true} any more"
    else:
        left = f"{alive} of {whole} chains still lead to {score.target_true}"
    return f"{installed[0].upper()}{installed[1:]}. {left[0].upper()}{left[1:]}."


def _others(db: Database, score: Score) -> list[rows.PageEditRow]:
    """Newest scored edits of the same rewrite, one a method and model."""
    found = db.read(
        rows.PageEditRow,
        dataset=score.dataset,
        rewrite=score.rewrite,
        status="succeeded",
        limit=100,
    )
    newest: dict[tuple[str, str], rows.PageEditRow] = {}
    for row in found:
        if row.id != score.edit:
            newest.setdefault((row.method, row.model), row)
    return sorted(newest.values(), key=lambda row: (row.model != score.model, row.method))[:20]


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {each}" for key, each in value.items() if each is not None)
    return str(value)
