"""Values of the template of one scored edit: chains, graph, section on rules, commands, provenance.

`chain_values` are those of its list of chains alone, which the filters replace.
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
from thinkeval.service.api.pages.append import append_values, summary
from thinkeval.service.api.pages.commands import commands
from thinkeval.service.api.pages.leak_cut import CutAsked, cut_values, marked
from thinkeval.service.formatting import number, percent, several
from thinkeval.service.reports.browser import chain_link, guide_command, question_links
from thinkeval.service.reports.conversation_lines import (
    TITLE,
    conversation_lines,
    conversation_note,
)
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
"""Chains shown at first: the 206 chains of a KnowGIC edit would be thousands of boxes."""

RETAINED = 0.8
"""Below this subject retention the result says that the model forgot the subject."""

FEW, FEW_CUT = 10, 5
"""Surviving and cut chains that are drawn at first: a drawing of more is unreadable."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Filter of the chains: that of REST, a set of lengths, and a maximum number."""

    filter: ChainFilter = field(default_factory=ChainFilter)
    steps: frozenset[int] = field(default=frozenset(STEPS))
    at_most: int = FIRST

    def fits(self, chain: ScoredChainRow) -> bool:
        """Whether the filter accepts a chain. One without a ratio (R = 0) has no strength."""
        return chain.steps in self.steps and self.filter.fits(chain)


@dataclass(frozen=True, slots=True)
class Chains:
    """The chains of an edit, strongest first: all of them, and those that the filter accepts."""

    all: Sequence[ScoredChainRow]
    found: Sequence[ScoredChainRow]
    at_most: int

    @property
    def shown(self) -> Sequence[ScoredChainRow]:
        """The chains that are listed."""
        return self.found[: self.at_most]

    @property
    def surviving(self) -> int:
        """Number of surviving chains among those found."""
        return sum(chain.surviving for chain in self.found)

    @property
    def by_step(self) -> dict[int, int]:
        """Number of chains of each length, before filtering."""
        counts = Counter(chain.steps for chain in self.all)
        return {step: counts[step] for step in STEPS}

    @property
    def drawn(self) -> dict[str, dict[str, bool]]:
        """Facts of the chains found, for the drawing: `few`, of the strongest chains, and `all`.

        Each is {id of a fact on a chain: whether a surviving chain contains it}.
        """
        alive = [chain for chain in self.found if chain.surviving]
        cut = sorted((c for c in self.found if not c.surviving), key=lambda c: -c.r_pre)
        few = [*alive[:FEW], *cut[:FEW_CUT]]
        return {"few": _passed(few, alive), "all": _passed(self.found, alive)}

    @property
    def ways(self) -> list[str]:
        """First entities of the surviving chains, through which the old object leaks."""
        first = (chain.entities[1] for chain in self.all if chain.surviving and chain.steps > 1)
        return list(dict.fromkeys(first))


def _passed(some: Sequence[ScoredChainRow], alive: Sequence[ScoredChainRow]) -> dict[str, bool]:
    surviving = {link.id for chain in alive for link in chain.links}
    return {link.id: link.id in surviving for chain in some for link in chain.links}


def chains(db: Database, score: Score, measure: Measure, shown: Shown) -> Chains:
    """The chains of a scored edit."""
    every = metrics.chain_rows(db, score, measure)
    return Chains(every, [chain for chain in every if shown.fits(chain)], shown.at_most)


def drawing(db: Database, score: Score, measure: Measure, found: Chains) -> dict[str, Any]:
    """The graph as REST returns it, each node with the column of its drawing.

    The column is the smallest number of facts that lead to the node on a chain; the old object has
    the last column.
    """
    columns: dict[str, int] = {score.subject: 0}
    for chain in found.all:
        for at, name in enumerate(chain.entities[:-1]):
            columns[name] = min(at, columns.get(name, at))
    columns[score.target_true] = max(columns.values()) + 1
    graph = graph_of(db, score, measure, found.all).model_dump()
    for node in graph["nodes"]:
        node["column"] = columns.get(node["id"], 1)
    for edge in graph["edges"]:
        edge["asked"] = edge.pop("prompt").replace("{}", edge["source"])
    return graph


IMPLIED_FIRST = 20
"""Conclusions shown at first; the others unfold."""
MIXED = 10
"""Chains with implied links that are shown; REST and the command line list all of them."""

SIDES = {
    "lost": "it no longer follows",
    "due": "it follows now",
    "kept": "it follows as before",
}


def implied_values(db: Database, score: Score, measure: Measure) -> dict[str, Any]:
    """Values of `_implications.html`; without rules there is no such section.

    `recovery` summarises Omega in one sentence.
    """
    rules = kept_rules(db, score.dataset)
    if not rules:
        return {"implied": None}
    recovered = omega(db, score, measure, rules)
    return {
        "implied": implications(db, score, measure, rules),
        "omega": recovered,
        "mixed": mixed(db, score, measure, rules, Chosen(surviving=True, limit=MIXED)),
        "example": rules[0].rule.text(),
        "recovery": _recovery(score, {kind: recovered.at(kind).surviving for kind in KINDS}),
        "ways_by": WAYS,
        "sides": SIDES,
        "good": GOOD,
        "verdict_meanings": MEANINGS,
        "implied_first": IMPLIED_FIRST,
    }


def _recovery(score: Score, surviving: dict[Any, int]) -> str:
    alive = [WAYS[kind] for kind in KINDS if surviving[kind]]
    if not alive:
        return f"{score.target_true} is not recovered: neither by chains nor by rules."
    listed = alive[0] if len(alive) == 1 else f"{', by '.join(alive[:-1])}, and by {alive[-1]}"
    return f"{score.target_true} is still recovered by {listed}."


FIGURES = (("leakage", "leakage graph"), ("chain", "strongest surviving chain"))

_PROVENANCE = (
    "model", "method", "hparams_digest", "covariance_corpus", "graph_digest", "probe", "seed",
    "strength", "versions", "created_at",
)  # fmt: skip


def query(measure: str, shown: Shown) -> str:
    """Measure and filter as the query of an address; defaults are left out."""
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
    """Values of `_chains.html`: the chains found, with a link to Neo4j Browser for each listed."""
    by = measure_of(score, measure)
    found = chains(db, score, by, shown)
    longer = replace(shown, at_most=shown.at_most + FIRST)
    links = [chain_link(browser, score, chain) for chain in found.shown] if browser else []
    return {
        "score": score,
        "measure": by,
        "chains": found,
        "links": links,
        "more": f"/edits/{score.edit}?{query(by, longer)}",
    }


def result_values(
    db: Database,
    score: Score,
    measure: Measure | None,
    shown: Shown,
    asked: CutAsked,
    *,
    browser: str,
    base: str,
) -> dict[str, Any]:
    """Values of `edit.html`.

    Args:
        asked: of the section on what else to edit.
        browser: address of Neo4j Browser; "" if it is unknown.
        base: address of the service.
    """
    listed = chain_values(db, score, measure, shown, browser)
    by, found = listed["measure"], listed["chains"]
    cut = cut_values(db, score, by, asked, browser)
    return (
        listed
        | cut
        | implied_values(db, score, by)
        | append_values(db, score)
        | {
            "shown": shown,
            "measures": MEASURE_NAMES,
            "display": displays(),
            "lines": lines(score),
            "conversation": conversation_values(score),
            "verdict": summary(score) if score.append else verdict(score, by, found),
            "ways": found.ways,
            "leaks": metrics.leakage_rows(db, score, by),
            "graph": marked(drawing(db, score, by, found), score.edit, cut["cut"]),
            "others": _others(db, score),
            "figures": FIGURES,
            "commands": commands(score, base),
            "questions": question_links(browser, score, by) if browser else [],
            "guide": guide_command(base, score.edit),
            "provenance": [
                (key, _plain(score.provenance[key]))
                for key in _PROVENANCE
                if score.provenance.get(key)
            ],
            "whole": json.dumps(score.provenance, indent=1, ensure_ascii=False, default=str),
        }
    )


def conversation_values(score: Score) -> dict[str, Any] | None:
    """Values of `_conversation.html`; None where the chains were not walked."""
    found = score.conversation
    if found is None:
        return None
    return {"title": TITLE, "lines": conversation_lines(found), "note": conversation_note(found)}


def verdict(score: Score, measure: Measure, found: Chains) -> str:
    """Summary of the score in a few sentences."""
    efficacy = score.number("efficacy", measure)
    installed = "the edited fact was not probed"
    if efficacy is not None:
        outcome = "succeeded" if efficacy > 0.5 else "did not succeed"
        installed = (
            f"the edit {outcome}: asked directly, the model answers {score.target_new} with"
            f" probability {number(efficacy)}"
        )
    alive, whole = sum(chain.surviving for chain in found.all), len(found.all)
    if not whole:
        left = "no chain leads to the old object, so nothing can leak"
    elif not alive:
        left = f"none of the {whole} chains leads to {score.target_true} any more"
    else:
        left = f"{alive} of {whole} chains still lead to {score.target_true}"
    forgotten = _forgotten(score, measure)
    return f"{installed[0].upper()}{installed[1:]}. {left[0].upper()}{left[1:]}.{forgotten}"


def _forgotten(score: Score, measure: Measure) -> str:
    """A sentence where the model lost much of what it knew about the subject; else empty."""
    retention = score.get("subject_retention", measure)
    ifr, beyond = (score.number(name, measure) for name in ("ifr", "ifr_beyond_subject"))
    if retention is None or retention.value is None or retention.value >= RETAINED:
        return ""
    return (
        f" The model also forgot the subject: of {several(retention.n, 'other fact')} about"
        f" {score.subject} on the chains {percent(retention.value)} of the probability is left on"
        f" average. IFR is {number(ifr)}; had they been kept, it would be {number(beyond)}."
    )


def _others(db: Database, score: Score) -> list[rows.PageEditRow]:
    """Newest scored edits of the same rewrite, one per method and model."""
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
