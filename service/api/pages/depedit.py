"""What the page of DepEdit's protocol shows: knowledge sets, and the paper's tables over runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from thinkeval.loaders.knowledge_sets import SETTINGS
from thinkeval.service.cache import Kept
from thinkeval.service.depedit import job_queue, report, store, strategies
from thinkeval.service.depedit.metrics import TITLES
from thinkeval.service.depedit.run import DEFAULT
from thinkeval.service.errors import NothingStoredError, UsageError

if TYPE_CHECKING:
    from thinkeval.cypher import rows
    from thinkeval.cypher.run import Database

MEANINGS = {
    "CQ_DT": "each fact has a template of its own, and is asked for by the same",
    "CQ_UT": "all facts of a relation share one template",
    "ICQ_DT": "each fact is asked for by another template than it was taught by",
}
"""The settings, in words (`service.depedit.wording`)."""

INITS = {
    "stored": "facts as the graph has them",
    "shuffled": "facts shuffled among their subjects, so that no model knows them",
    "file": "facts of a file",
}

FORMATS = {
    "markdown": ("Markdown", "md", "text/markdown"),
    "csv": ("CSV", "csv", "text/csv"),
    "latex": ("LaTeX", "tex", "application/x-tex"),
}
"""Downloads: what the page calls them, how the file ends, and its type."""

WRAPPED = ("finetune", "memit")
"""Editors that the form offers to wrap; the command line wraps others too."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of the tables that may be compared: one model, one setting, sets of one kind."""

    setting: str
    facts: str
    model: str
    rows: Sequence[report.Method]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the page is narrowed to; empty does not narrow."""

    graph: str = ""
    setting: str = ""
    model: str = ""

    @property
    def query(self) -> str:
        """As the query of an address."""
        pairs = (("graph", self.graph), ("setting", self.setting), ("model", self.model))
        return urlencode({key: value for key, value in pairs if value})


def values(db: Database, chosen: Chosen) -> dict[str, Any]:
    """For `depedit.html`."""
    every = store.list_sets(db)
    runs = store.list_runs(db)
    shown = [row for row in every if _fits(row, chosen)]
    return {
        "chosen": chosen,
        "sets": shown,
        "stored": len(every),
        "graphs": sorted({row.dataset for row in every if row.dataset}),
        "settings": SETTINGS,
        "models": sorted({run.model for run in runs}),
        "meanings": MEANINGS,
        "inits": INITS,
        "groups": _groups(methods(db, chosen, runs)),
        "tables": report.TABLES,
        "titles": TITLES,
        "captions": report.CAPTIONS,
        "formats": FORMATS,
        "jobs": job_queue.page(db, limit=5)[0],
        "form": _form(),
    }


_KEPT: Kept[list[report.Method]] = Kept(32)
"""Tables by what they are narrowed to and the runs there are: a stored run does not change."""


def methods(
    db: Database, chosen: Chosen, runs: Sequence[rows.ProtocolRunRow]
) -> list[report.Method]:
    """The rows of the tables; none where nothing was run. They take seconds, so they are kept.

    Args:
        runs: all that are stored.
    """
    key = (chosen, *((run.id, run.created_at) for run in runs))
    return _KEPT.get(key, lambda: _methods(db, chosen))


def _methods(db: Database, chosen: Chosen) -> list[report.Method]:
    try:
        return report.methods(
            db,
            dataset=chosen.graph or None,
            setting=chosen.setting or None,
            model=chosen.model or None,
        )
    except NothingStoredError:
        return []


def download(db: Database, chosen: Chosen, table: str, style: str) -> tuple[str, str, str]:
    """(text, file name, media type) of one table as `thinkeval depedit report` writes it.

    Raises:
        UsageError: there is no such table or format.
    """
    if style not in FORMATS:
        raise UsageError(f"{style!r} is no format.", remedy=f"Use one of {', '.join(FORMATS)}.")
    _, suffix, media_type = FORMATS[style]
    text = report.text(methods(db, chosen, store.list_runs(db)), [table], style)
    return text, f"depedit-{table}.{suffix}", media_type


def _fits(row: rows.KnowledgeSetRow, chosen: Chosen) -> bool:
    return chosen.graph in ("", row.dataset) and chosen.setting in ("", row.setting)


def _groups(found: Sequence[report.Method]) -> list[Group]:
    def kind(row: report.Method) -> tuple[str, str, str]:
        return row.setting, row.facts, row.model

    return [Group(*key, rows=list(rows)) for key, rows in groupby(found, key=kind)]


def _form() -> dict[str, Any]:
    """Strategies that may be ticked: each by itself, and those that wrap an editor with each."""
    offered: dict[str, str] = {}
    for name in strategies.names():
        for editor in WRAPPED if strategies.get(name).WRAPS else ("",):
            offered[f"{editor}+{name}" if editor else name] = strategies.summary(name)
    order = [*DEFAULT, *(name for name in offered if name not in DEFAULT)]
    return {"strategies": [{"name": n, "does": offered[n]} for n in order], "ticked": DEFAULT}
