"""Values of DepEdit's two templates: the overview, and one knowledge set.

The overview lists knowledge sets and the paper's tables over runs; a set shows its facts by copy,
its implications and the answers of a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlencode

from ....cypher import rows
from ....loaders.knowledge_sets import QA, SETTINGS, Copy, Implication, KnowledgeSet
from ...base.errors import NotFoundError, NothingStoredError, UsageError
from ...depedit import report, store, strategies
from ...depedit.kind import DEPEDIT
from ...depedit.protocol import DEFAULT
from ...depedit.report import TITLES, metrics_of_runs
from ...models.depedit import ROLES, MethodRow
from ...reports.formats import Column

if TYPE_CHECKING:
    from ....cypher.rows.depedit import Role
    from ....cypher.run import Database
    from ...base.cache import Cache


MEANINGS = {
    "CQ_DT": "each fact has its own template, used for teaching and asking",
    "CQ_UT": "all facts of a relation share one template",
    "ICQ_DT": "each fact is asked with another template than it was taught with",
}
"""Meaning of the settings (`service.depedit.questions`)."""

INITS = {
    "stored": "facts as the graph has them",
    "shuffled": "facts shuffled among their subjects, so that no model knows them",
    "file": "facts of a file",
}

RULE: Column[rows.KnowledgeSetRow] = Column("rule", lambda row: row.text)
HEADINGS = {
    "specificity": "Facts: taught and preserved",
    "implications": "Implications of the facts",
}
FORMATS = {
    "markdown": ("Markdown", "md", "text/markdown"),
    "csv": ("CSV", "csv", "text/csv"),
    "latex": ("LaTeX", "tex", "application/x-tex"),
}
"""Formats of downloads: label, suffix of the file, media type."""

WRAPPED = ("finetune", "memit")
"""Editors that the form offers to wrap; the command line can wrap others."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The filter of the overview; empty fields do not filter."""

    graph: str = ""
    setting: str = ""
    model: str = ""

    @property
    def query(self) -> str:
        """The filter as the query of an address."""
        pairs = (("graph", self.graph), ("setting", self.setting), ("model", self.model))
        return urlencode({key: value for key, value in pairs if value})


Tables: TypeAlias = "Cache[list[MethodRow]]"


def values(db: Database, tables: Tables, chosen: Chosen) -> dict[str, Any]:
    """Values of the template `depedit.html`."""
    every = store.list_sets(db)
    runs = store.list_runs(db)
    shown = [row for row in every if _fits(row, chosen)]
    found = methods(db, tables, chosen, runs)
    listed = report.sets_table("Knowledge sets", shown)
    return {
        "chosen": chosen,
        "sets": shown,
        "stored": len(every),
        "graphs": sorted({row.dataset for row in every if row.dataset}),
        "settings": SETTINGS,
        "models": sorted({run.model for run in runs}),
        "meanings": MEANINGS,
        "inits": INITS,
        "listed": replace(listed, columns=[listed.columns[0], RULE, *listed.columns[1:]]),
        "tables": [report.table(found, name) for name in report.TABLES] if found else [],
        "headings": HEADINGS,
        "formats": FORMATS,
        "protocols": DEPEDIT.store.listing(db, limit=5)[:5],
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
    """(text, file name, media type) of one table, as `thinkeval lab depedit report` writes it.

    Raises:
        UsageError: there is no such table or format.
    """
    if style not in FORMATS:
        raise UsageError(f"{style!r} is not a format.", remedy=f"Use one of {', '.join(FORMATS)}.")
    _, suffix, media_type = FORMATS[style]
    text = report.text(methods(db, tables, chosen, store.list_runs(db)), [table], style)
    return text, f"depedit-{table}.{suffix}", media_type


def _fits(row: rows.KnowledgeSetRow, chosen: Chosen) -> bool:
    return chosen.graph in ("", row.dataset) and chosen.setting in ("", row.setting)


def _form() -> dict[str, Any]:
    """Strategies that the form offers; one that wraps an editor is listed with each editor."""
    offered: dict[str, str] = {}
    for name in strategies.names():
        for editor in WRAPPED if strategies.get(name).WRAPS else ("",):
            offered[f"{editor}+{name}" if editor else name] = strategies.summary(name)
    order = [*DEFAULT, *(name for name in offered if name not in DEFAULT)]
    return {"strategies": [{"name": n, "does": offered[n]} for n in order], "ticked": DEFAULT}


BEFORE = "before"


@dataclass(frozen=True, slots=True)
class FactLine:
    """A specific fact as established, and its new object in each copy (None: not updated)."""

    qa: QA
    updates: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class After:
    """State of an implication after the update of one copy: kept, updated, new or lost."""

    change: str
    object: str | None
    premises: tuple[QA, ...]


@dataclass(frozen=True, slots=True)
class ImplicationLine:
    """An implication with its premises, and its state after the update of each copy.

    Attributes:
        qa: its question; the object is that of the established facts, if it follows from them.
        premises: empty if it does not follow from the established facts.
    """

    qa: QA
    premises: tuple[QA, ...]
    after: tuple[After | None, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """A model's answer to one question at one time.

    Attributes:
        right: None if no answer is right, because the conclusion does not follow any more.
        same: True if the answer is the one before the update; None before it, or without one.
    """

    change: str
    expected: str | None
    answer: str
    right: bool | None
    same: bool | None


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """One question, and the answers to it before the update and after each."""

    role: Role
    asked: str
    answers: dict[str, Answered]


def set_values(
    db: Database, knowledge_set: str, *, run: str = "", copy: str = "", role: str = ""
) -> dict[str, Any]:
    """Values of the template `depedit_set.html`.

    Args:
        run: the run whose answers are shown; "" for the newest.
        copy: `before`, or the number of an update from 1; "" for all.
        role: one of ROLES; "" for all.

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
            if role in ("", line.role) and any(time in line.answers for time in picked)
        ],
    }


def fact_lines(knowledge: KnowledgeSet) -> list[FactLine]:
    """The specific facts, in the set's order."""
    new = [{qa.key: qa.object for qa in copy.updates} for copy in knowledge.copies]
    return [
        FactLine(qa, tuple(objects.get(qa.key) for objects in new)) for qa in knowledge.specific
    ]


def implication_lines(knowledge: KnowledgeSet) -> list[ImplicationLine]:
    """Implications of the established facts, then those that follow only after some update."""
    first = {qa.key: qa for qa in knowledge.specific}
    established = {each.qa.key: each for each in knowledge.implications}
    asked = {key: each.qa for key, each in established.items()}
    for copy in knowledge.copies:
        for each in copy.updated:
            asked.setdefault(each.qa.key, each.qa)
    return [
        ImplicationLine(
            qa,
            premises=_premises(established[key], first) if key in established else (),
            after=tuple(_after(knowledge, copy, key, established) for copy in knowledge.copies),
        )
        for key, qa in asked.items()
    ]


def _after(
    knowledge: KnowledgeSet,
    copy: Copy,
    key: tuple[str, str],
    established: dict[tuple[str, str], Implication],
) -> After | None:
    facts = {qa.key: qa for qa in knowledge.after(copy)}
    for each in copy.updated:
        if each.qa.key == key:
            change = "updated" if key in established else "new"
            return After(change, each.qa.object, _premises(each, facts))
    if key not in established:
        return None
    if key in copy.lost:
        return After("lost", None, ())
    return After("kept", established[key].qa.object, ())


def _premises(implication: Implication, facts: dict[tuple[str, str], QA]) -> tuple[QA, ...]:
    return tuple(facts[key] for key in implication.premises if key in facts)


def lines(answers: Sequence[rows.AnsweredRow]) -> list[AnswerLine]:
    """Answers by question, in the order of the roles."""
    found: dict[tuple[str, str, str], AnswerLine] = {}
    for row in answers:
        key = (row.role, row.subject, row.relation)
        line = found.setdefault(key, AnswerLine(row.role, row.asked, {}))
        line.answers[BEFORE if row.copy is None else str(row.copy + 1)] = Answered(
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
