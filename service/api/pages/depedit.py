"""What the page of DepEdit's protocol shows: knowledge sets, and the paper's tables over runs.

What the page of one knowledge set shows: facts by copy, implications, and a run's answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlencode

from thinkeval.cypher import rows
from thinkeval.loaders.knowledge_sets import QA, SETTINGS, Copy, Implication, KnowledgeSet
from thinkeval.service.depedit import job_queue, report, store, strategies
from thinkeval.service.depedit.metrics import TITLES, metrics_of_runs
from thinkeval.service.depedit.run import DEFAULT
from thinkeval.service.depedit.schemas import ROLES, MethodRow
from thinkeval.service.errors import NotFoundError, NothingStoredError, UsageError

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.service.cache import Cache

MEANINGS = {
    "CQ_DT": "each fact has a template of its own, and is asked for by the same",
    "CQ_UT": "all facts of a relation share one template",
    "ICQ_DT": "each fact is asked for by another template than it was taught by",
}
"""The settings, in words (`service.depedit.questions`)."""

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
    rows: Sequence[MethodRow]


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


Tables: TypeAlias = "Cache[list[MethodRow]]"


def values(db: Database, tables: Tables, chosen: Chosen) -> dict[str, Any]:
    """Values of the template `depedit.html`."""
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
        "groups": _groups(methods(db, tables, chosen, runs)),
        "tables": report.TABLES,
        "titles": TITLES,
        "captions": report.CAPTIONS,
        "formats": FORMATS,
        "jobs": job_queue.page(db, limit=5)[0],
        "form": _form(),
    }


def methods(
    db: Database, tables: Tables, chosen: Chosen, runs: Sequence[rows.ProtocolRunRow]
) -> list[MethodRow]:
    """Rows of the tables; empty without stored runs.

    Args:
        tables: computed rows by filter and stored runs: they take seconds to compute, and a stored
            run does not change.
        runs: all stored runs.
    """
    key = (chosen, *((run.id, run.created_at) for run in runs))
    return tables.get(key, lambda: _methods(db, chosen))


def _methods(db: Database, chosen: Chosen) -> list[MethodRow]:
    try:
        return report.methods(
            db,
            dataset=chosen.graph or None,
            setting=chosen.setting or None,
            model=chosen.model or None,
        )
    except NothingStoredError:
        return []


def download(
    db: Database, tables: Tables, chosen: Chosen, table: str, style: str
) -> tuple[str, str, str]:
    """(text, file name, media type) of one table as `thinkeval depedit report` writes it.

    Raises:
        UsageError: there is no such table or format.
    """
    if style not in FORMATS:
        raise UsageError(f"{style!r} is no format.", remedy=f"Use one of {', '.join(FORMATS)}.")
    _, suffix, media_type = FORMATS[style]
    text = report.text(methods(db, tables, chosen, store.list_runs(db)), [table], style)
    return text, f"depedit-{table}.{suffix}", media_type


def _fits(row: rows.KnowledgeSetRow, chosen: Chosen) -> bool:
    return chosen.graph in ("", row.dataset) and chosen.setting in ("", row.setting)


def _groups(found: Sequence[MethodRow]) -> list[Group]:
    def kind(row: MethodRow) -> tuple[str, str, str]:
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


BEFORE = "before"


@dataclass(frozen=True, slots=True)
class FactLine:
    """A specific fact: taught at first, and its new object in each copy (None: not updated)."""

    qa: QA
    updates: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class After:
    """What becomes of an implication in one copy: kept, updated, new or lost (or not yet there)."""

    change: str
    object: str | None
    premises: tuple[QA, ...]


@dataclass(frozen=True, slots=True)
class ImplicationLine:
    """An implication with the facts it follows from, and what becomes of it in each copy.

    Attributes:
        qa: as it is asked; its object only where it follows at first.
        premises: none where it does not follow at first.
    """

    qa: QA
    premises: tuple[QA, ...]
    after: tuple[After | None, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """What a model said to one question at one time.

    Attributes:
        right: None where nothing was to be said right, as the conclusion follows no more.
        same: whether it said what it had said before; None before, and where it was not asked.
    """

    change: str
    expected: str | None
    answer: str
    right: bool | None
    same: bool | None


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """One question, and what was said to it before the update and after each."""

    role: str
    asked: str
    said: dict[str, Said]


def set_values(
    db: Database, knowledge_set: str, *, run: str = "", copy: str = "", role: str = ""
) -> dict[str, Any]:
    """For `depedit_set.html`.

    Args:
        run: whose answers are shown; the newest where none is named.
        copy: `before`, or the number of an update from 1; all where empty.
        role: one of ROLES; all where empty.

    Raises:
        NotFoundError: there is no such set, run, copy or role.
    """
    knowledge = store.load_set(db, knowledge_set)
    runs = store.list_runs(db, sets=[knowledge_set])
    times = [BEFORE, *(str(i) for i in range(1, len(knowledge.copies) + 1))]
    _require("update", copy, times)
    _require("role", role, ROLES)
    _require("run", run, [each.id for each in runs])
    shown = run or (runs[-1].id if runs else "")
    answers = lines(store.answers_of(db, shown)) if shown else []
    picked = [copy] if copy else times
    return {
        "knowledge": knowledge,
        "rule": knowledge.rule.text(),
        "meanings": MEANINGS,
        "inits": INITS,
        "facts": fact_lines(knowledge),
        "implications": implication_lines(knowledge),
        "runs": runs,
        "metrics": metrics_of_runs(db, [each.id for each in runs]),
        "titles": TITLES,
        "run": next((each for each in runs if each.id == shown), None),
        "copy": copy,
        "role": role,
        "times": times,
        "picked": picked,
        "roles": ROLES,
        "answers": [
            line
            for line in answers
            if role in ("", line.role) and any(time in line.said for time in picked)
        ],
    }


def fact_lines(knowledge: KnowledgeSet) -> list[FactLine]:
    """The specific facts, in the set's order."""
    new = [{qa.key: qa.object for qa in copy.updates} for copy in knowledge.copies]
    return [
        FactLine(qa, tuple(objects.get(qa.key) for objects in new)) for qa in knowledge.specific
    ]


def implication_lines(knowledge: KnowledgeSet) -> list[ImplicationLine]:
    """The implications that follow at first, then those that follow only after some update."""
    first = {qa.key: qa for qa in knowledge.specific}
    held = {each.qa.key: each for each in knowledge.implications}
    asked = {key: each.qa for key, each in held.items()}
    for copy in knowledge.copies:
        for each in copy.updated:
            asked.setdefault(each.qa.key, each.qa)
    return [
        ImplicationLine(
            qa,
            premises=_premises(held[key], first) if key in held else (),
            after=tuple(_after(knowledge, copy, key, held) for copy in knowledge.copies),
        )
        for key, qa in asked.items()
    ]


def _after(
    knowledge: KnowledgeSet,
    copy: Copy,
    key: tuple[str, str],
    held: dict[tuple[str, str], Implication],
) -> After | None:
    facts = {qa.key: qa for qa in knowledge.after(copy)}
    for each in copy.updated:
        if each.qa.key == key:
            change = "updated" if key in held else "new"
            return After(change, each.qa.object, _premises(each, facts))
    if key not in held:
        return None
    if key in copy.lost:
        return After("lost", None, ())
    return After("kept", held[key].qa.object, ())


def _premises(implication: Implication, facts: dict[tuple[str, str], QA]) -> tuple[QA, ...]:
    return tuple(facts[key] for key in implication.premises if key in facts)


def lines(answers: Sequence[rows.AnsweredRow]) -> list[AnswerLine]:
    """Answers by question: those of the establish phase first, in their order."""
    found: dict[tuple[str, str, str], AnswerLine] = {}
    for row in answers:
        key = (row.role, row.subject, row.relation)
        line = found.setdefault(key, AnswerLine(row.role, row.asked, {}))
        line.said[BEFORE if row.copy is None else str(row.copy + 1)] = Said(
            row.change,
            row.expected,
            row.answer,
            right=None if row.expected is None else row.answer == row.expected,
            same=None if row.established is None else row.answer == row.established,
        )
    order = {role: i for i, role in enumerate(ROLES)}
    return sorted(found.values(), key=lambda line: order[line.role])


def _require(what: str, name: str, known: Sequence[str]) -> None:
    if name and name not in known:
        raise NotFoundError(what, name, known, listing="GET /depedit")
