"""Values of `_leak_cut.html`: the leak cut, beside the result of a scored edit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....editing import registry
from ...errors import NotFoundError, UsageError
from ...leakcut import words
from ...leakcut.coedit.kind import COEDIT
from ...leakcut.request import edit_cut
from ...leakcut.schemas import CutIn, CutOut, KeyKind
from ...reports.browser import cut_link
from ...schemas import Measure, Score
from ...scoring.posting import posted

if TYPE_CHECKING:
    from ....cypher.run import Database

SECONDS = 2.0
"""Longest time of the solver: a page waits for it."""

OPEN = 10
"""Open chains that are listed; REST has all."""

KEYS: Mapping[KeyKind, str] = {
    "auto": "as the method needs",
    "subject": "one fact a subject",
    "off": "any facts",
}
"""Choices of the form."""


@dataclass(frozen=True, slots=True)
class CutAsked:
    """The options of the form; `lock` has facts or subjects, separated by `;`."""

    leak: float = 0.1
    keys: KeyKind = "auto"
    lock: str = ""

    @property
    def options(self) -> CutIn:
        """The request of the cut; its other cuts are not listed."""
        locks = tuple(name.strip() for name in self.lock.split(";") if name.strip())
        return CutIn(leak=self.leak, keys=self.keys, lock=locks, alternatives=0, seconds=SECONDS)


def cut_values(
    db: Database, score: Score, measure: Measure, asked: CutAsked, browser: str
) -> dict[str, Any]:
    """Values of the section.

    Args:
        browser: address of Neo4j Browser; "" if it is unknown.
    """
    values: dict[str, Any] = {"cut_asked": asked, "cut_keys": KEYS, "cut": None, "co_edit": None}
    if score.append is not None:
        return values
    values |= {"coedits": COEDIT.store.page(db, edit=score.edit)}
    try:
        cut = edit_cut(db, score, measure, asked.options)
    except (NotFoundError, UsageError) as error:
        return values | {"cut_problem": f"{error.detail} {error.remedy}"}
    return values | {
        "cut": cut,
        "cut_headline": words.headline(cut),
        "cut_limits": words.limits(cut),
        "cut_forecast": words.forecast(cut),
        "cut_step": words.next_step(cut, score),
        "co_edit": _request(score, cut),
        "cut_open": cut.open[:OPEN],
        "cut_link": _link(browser, score, cut) if browser and cut.facts else None,
    }


def _request(score: Score, cut: CutOut) -> str | None:
    """The body of `POST /v1/coedits` that begins with this edit; None if it cannot begin one.

    That is a round of a co-edit or sequence, a scaled update, a control, a change of the prompt,
    and a cut by another measure than co-edits take: it may list other facts.
    """
    if cut.measure != words.MEASURE or not cut.facts:
        return None
    whole = score.sequence is None and score.provenance.get("strength", 1) == 1
    if not whole or score.kind != "replace" or score.method not in registry.names():
        return None
    if registry.info(score.method).kind != "weights":
        return None
    return json.dumps(posted(score) | {"cut": words.asked(cut)})


def _link(browser: str, score: Score, cut: CutOut) -> str:
    facts = [fact.id for fact in cut.facts]
    return cut_link(browser, score, facts, measure=cut.measure, leak=cut.options.leak)


def marked(graph: dict[str, Any], edit: str, cut: CutOut | None) -> dict[str, Any]:
    """The drawing's graph; `next` is True for each fact of the leak cut."""
    chosen = {f"{edit}|{fact.id}" for fact in cut.facts} if cut else set()
    for edge in graph["edges"]:
        edge["next"] = edge["id"] in chosen
    return graph
