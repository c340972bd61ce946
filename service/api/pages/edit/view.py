"""Values shared by every tab of a scored edit, and the parameters of its address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from ....reports.edit import measure_of
from ....reports.leakage_map.selection import Selection
from ....reports.verdict import Verdict, judged
from ....schemas import MEASURE_NAMES, Measure, Score
from ....scoring import metrics

if TYPE_CHECKING:
    from .....cypher.rows import ScoredChainRow
    from .....cypher.run import Database

DRAWN = 8
"""Surviving chains that the map draws at first."""

LISTED = 10
"""Rows of a list at first: more would be longer than a screen."""

TABS = {
    "": "Map",
    "chains": "Chains",
    "facts": "Facts",
    "next": "What else to edit",
    "asked": "How it was asked",
    "rules": "Rules",
    "neo4j": "Neo4j",
    "export": "Export",
}
"""Tabs by the last part of their address."""

OF_APPENDED = ("", "asked", "neo4j", "export")
"""Tabs of an edit that appends an answer: it has no old object that could leak."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The parameters of an address.

    Attributes:
        draw: surviving chains that the map draws at most; `show`: rows of a list.
    """

    measure: Measure | None = None
    selection: Selection = field(default_factory=Selection)
    draw: int = DRAWN
    show: int = LISTED

    def query(self, **changed: object) -> str:
        """These parameters as the query of an address; defaults are left out."""
        pairs: dict[str, object] = {}
        if self.measure is not None:
            pairs["measure"] = self.measure
        if self.draw != DRAWN:
            pairs["draw"] = self.draw
        if self.show != LISTED:
            pairs["show"] = self.show
        selected = self.selection.query()
        both = urlencode(pairs | changed)
        return "&".join(text for text in (both, selected) if text)


@dataclass(frozen=True, slots=True)
class View:
    """One edit by one measure, as all tabs need it.

    Attributes:
        rows: all its chains, surviving first, then by part of IFR; empty for an appended answer.
    """

    db: Database
    score: Score
    measure: Measure
    asked: Asked
    rows: Sequence[ScoredChainRow]
    judged: Verdict

    @property
    def path(self) -> str:
        """Address of the first screen."""
        return f"/edits/{quote(self.score.edit, safe='')}"

    def address(self, tab: str = "", query: str = "") -> str:
        """Address of a tab."""
        path = f"{self.path}/{tab}" if tab else self.path
        return f"{path}?{query}" if query else path

    def values(self, tab: str) -> dict[str, Any]:
        """Values of `edit/frame.html`."""
        chosen = self.asked.measure
        query = urlencode({"measure": chosen}) if chosen else ""
        shown = OF_APPENDED if self.score.append else tuple(TABS)
        return {
            "score": self.score,
            "measure": self.measure,
            "measures": MEASURE_NAMES,
            "judged": self.judged,
            "tab": tab,
            "tabs": [(self.address(key, query), TABS[key], key == tab) for key in shown],
            "path": self.path,
        }


def view(db: Database, score: Score, asked: Asked) -> View:
    """The view that an address asks for.

    Raises:
        UsageError: the measure was not taken.
    """
    measure = measure_of(score, asked.measure)
    rows = [] if score.append else metrics.chain_rows(db, score, measure)
    return View(db, score, measure, asked, rows, judged(db, score, measure, rows))
