"""The values of the template of one scored edit, and of its list of chains alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from thinkeval.cypher import rows
from thinkeval.cypher.metric_options import displays
from thinkeval.service.api.pages import edit, implied
from thinkeval.service.api.pages.commands import commands
from thinkeval.service.api.pages.edit import FIRST, Chains, Shown
from thinkeval.service.reports.browser import chain_link, guide_command, question_links
from thinkeval.service.reports.edit import measure_of
from thinkeval.service.reports.score_lines import lines
from thinkeval.service.reports.table import STEPS
from thinkeval.service.schemas import MEASURE_NAMES, Measure, Score
from thinkeval.service.scoring import metrics

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database

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
    told = edit.chains(db, score, by, shown)
    longer = replace(shown, at_most=shown.at_most + FIRST)
    links = [chain_link(browser, score, chain) for chain in told.shown] if browser else []
    return {
        "score": score,
        "measure": by,
        "told": told,
        "links": links,
        "more": f"/edits/{score.edit}?{query(by, longer)}",
    }


def values(
    db: Database,
    score: Score,
    measure: Measure | None,
    shown: Shown,
    *,
    browser: str,
    base: str,
) -> dict[str, Any]:
    """For `edit.html`; `base` is the service's address, `browser` that of Neo4j Browser or ""."""
    listed = chain_values(db, score, measure, shown, browser)
    by, told = listed["measure"], listed["told"]
    return (
        listed
        | implied.values(db, score, by)
        | {
            "shown": shown,
            "measures": MEASURE_NAMES,
            "display": displays(),
            "lines": lines(score),
            "verdict": verdict(score, by, told),
            "ways": told.ways,
            "leaks": metrics.leakage_rows(db, score, by),
            "graph": edit.drawing(db, score, by, told),
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
            f" {efficacy.value:.3f}"
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
