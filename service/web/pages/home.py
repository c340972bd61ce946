"""Values of the front page: data sets, one page of the edits, and the choices of the form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from ....cypher import rows
from ....editing import registry
from ....loaders import graphs
from ...base.errors import UsageError
from ...base.paging import offset_page, read_offset
from ...experiments import queue
from ...graphs import datasets
from ...models.edit import ENDED, Score, Status
from ...reports.verdict import in_a_word
from ...rules import store as rule_store
from ...scoring import metrics, record
from ...scoring.request import posted

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ...base.cache import Cache
    from ...reports.verdict import Part


STATUSES: tuple[str, ...] = get_args(Status)
SHOWN = ("ifr", "ifr_beyond_subject", "preservation")
PAGE = 30
PART, MOST = 900, 3600
"""Edits that one query reads for a search or an order, and how many are searched at most."""
Sort = Literal[
    "", "ifr", "-ifr", "ifr_beyond_subject", "-ifr_beyond_subject", "preservation", "-preservation",
    "method", "-method", "model", "-model",
]  # fmt: skip
OF_ROWS = ("method", "model")
"""Orders by what a row has without its score."""
COUNTED = 200
"""Maximum number of rewrites of a data set whose chains are counted."""

DEMO_GRAPH, DEMO_REWRITE, DEMO_METHOD = "hogwarts", "harry-potter--studied-at", "rome"


@dataclass(frozen=True, slots=True)
class Listed:
    """One edit of the list.

    Attributes:
        numbers: the metrics of `SHOWN` with their n, by the first measure; undefined is None.
        note: strength or sequence, if the edit is not a plain one.
        word: the verdict in one word; None without a score.
    """

    edit: rows.PageEditRow
    numbers: dict[str, tuple[float | None, int]]
    note: str
    word: Part | None = None

    @property
    def live(self) -> bool:
        """True if it is queued or running."""
        return self.edit.status not in ENDED


@dataclass(frozen=True, slots=True)
class EditPage:
    """A page of edits, newest first.

    Attributes:
        older: cursor of the next page, or None.
        none_yet: the list is empty because nothing was scored yet, not because of the filter.
    """

    items: list[Listed]
    total: int
    older: str | None
    none_yet: bool

    @property
    def by_fact(self) -> list[list[Listed]]:
        """The edits of each fact, that of the newest edit first."""
        found: dict[tuple[str, str], list[Listed]] = {}
        for item in self.items:
            found.setdefault((item.edit.dataset, item.edit.rewrite), []).append(item)
        return list(found.values())


def edits(
    db: Database,
    chosen: dict[str, str],
    cursor: str | None = None,
    *,
    text: str = "",
    sort: Sort = "",
) -> EditPage:
    """One page of the edits that the filter accepts; of a co-edit only its first round.

    Args:
        chosen: any of graph, method, model, status, rewrite; empty values do not filter.
        text: words that the fact, an object, the method, the model or the id contains.
        sort: a metric, with "-" before it for the largest first; empty for the newest first. Of
            more than `MOST` edits only the newest are searched and sorted.

    Raises:
        UsageError: there is no such status, or the cursor is invalid.
    """
    names = {"graph": "dataset"}
    where: dict[str, Any] = {names.get(key, key): value for key, value in chosen.items() if value}
    if where.get("status", STATUSES[0]) not in STATUSES:
        raise UsageError(
            f"{where['status']!r} is not a status.", remedy=f"Use one of {', '.join(STATUSES)}."
        )
    where["rounds"] = False
    if text.strip() or sort:
        return _ordered(db, where, cursor, text, sort)
    start = read_offset(cursor)
    wanted = {"skip": start, "limit": PAGE, "scores": True, **where}
    found = db.read(rows.PageEditRow, "edits/page_edits", **wanted)
    total = db.read(int, "edits/count_edits", **where)[0]
    older = str(start + PAGE) if start + PAGE < total else None
    # After loading a data set the list is filtered by it, which the user did not choose.
    none_yet = not total and (
        set(where) <= {"dataset", "rounds"} or not any(queue.counts(db).values())
    )
    return EditPage(_with_scores(db, found), total, older, none_yet)


def _with_scores(db: Database, found: Sequence[rows.PageEditRow]) -> list[Listed]:
    stored = {row.id: score for row in found if (score := record.readable(row.score))}
    of = dict(zip(stored, metrics.completed(db, list(stored.values())), strict=True))
    return [_listed(row, of.get(row.id)) for row in found]


def _ordered(
    db: Database, where: dict[str, Any], cursor: str | None, text: str, sort: Sort
) -> EditPage:
    """One page of the edits that fit a text, in the order of a metric; pages are by offset."""
    words = text.lower().split()
    by, down = sort.removeprefix("-"), sort.startswith("-")
    scores = bool(by) and by not in OF_ROWS
    found = [
        row for row in _newest(db, where, scores=scores) if all(w in _text(row) for w in words)
    ]
    if by in OF_ROWS:
        found.sort(key=lambda row: getattr(row, by), reverse=down)
    elif by:
        values = {row.id: _stored(row, by) for row in found}
        found.sort(key=lambda row: _last(values[row.id], -1 if down else 1))
    start = read_offset(cursor)
    shown, older = offset_page(found, start, PAGE)
    if not scores and shown:
        # Scores are kilobytes each, so only those that are shown are read.
        ids = [row.id for row in shown]
        read = db.read(rows.PageEditRow, "edits/page_edits", posted_as=ids, limit=PAGE, scores=True)
        by_id = {row.id: row for row in read}
        shown = [by_id.get(row.id, row) for row in shown]
    return EditPage(_with_scores(db, shown), len(found), older, none_yet=False)


def _newest(db: Database, where: dict[str, Any], *, scores: bool) -> list[rows.PageEditRow]:
    found: list[rows.PageEditRow] = []
    for start in range(0, MOST, PART):
        wanted = {"skip": start, "limit": PART, "scores": scores, **where}
        part = db.read(rows.PageEditRow, "edits/page_edits", **wanted)
        found += part
        if len(part) < PART:
            break
    return found


def _text(row: rows.PageEditRow) -> str:
    fact = row.prompt.replace("{}", row.subject)
    parts = (fact, row.target_true, row.target_new, row.method, row.model, row.dataset, row.id)
    return " ".join(parts).lower()


def _stored(row: rows.PageEditRow, metric: str) -> float | None:
    """The metric that the list shows of an edit; None where it is undefined or not taken."""
    score = record.readable(row.score)
    value = score.get(metric, score.measures[0]) if score and score.measures else None
    return value.value if value and value.n else None


def _last(value: float | None, sign: int) -> tuple[bool, float]:
    """A key that puts edits without the metric last in either order."""
    return value is None, sign * (value or 0.0)


def _listed(row: rows.PageEditRow, score: Score | None) -> Listed:
    if score is None or not score.measures:
        return Listed(row, {}, "" if score is None else _note(score))
    found = {name: score.get(name, score.measures[0]) for name in SHOWN}
    numbers = {name: (value.value, value.n) for name, value in found.items() if value}
    return Listed(row, numbers, _note(score), in_a_word(score, score.measures[0]))


def _note(score: Score) -> str:
    strength = score.provenance.get("strength", 1)
    notes = [f"strength {strength:g}"] if strength != 1 else []
    if score.sequence:
        edited = score.sequence["edited"]
        together = score.sequence["batch"] == edited
        notes.append(f"with {edited - 1} others" if together else f"after {edited} edits")
    return ", ".join(notes)


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set graph.

    Attributes:
        chains: by rewrite, if their counts are cached.
        countable: True if a script of the front page requests the counts.
    """

    id: str
    n_facts: int
    n_entities: int
    n_rewrites: int
    chains: dict[str, int] | None

    @property
    def countable(self) -> bool:
        """True if there are few enough rewrites to count their chains quickly."""
        return self.chains is None and self.n_rewrites <= COUNTED


def data_sets(db: Database, counts: Cache[dict[str, int]]) -> list[DataSet]:
    """The stored data sets, with chain counts only where they are cached.

    Args:
        counts: the cache that `chain_counts` fills.
    """
    stored = db.read(rows.GraphRow, "graph/list_graphs", kind="dataset")
    rewrites = datasets.count_rewrites(db)
    return [
        DataSet(g.graph, g.n_facts, g.n_entities, rewrites[g.graph], counts.peek(_key(g)))
        for g in stored
    ]


def chain_counts(db: Database, counts: Cache[dict[str, int]], graph: str) -> dict[str, int]:
    """{rewrite: chains} of a data set; counting them may take a second, so it is cached.

    Raises:
        NotFoundError: there is no such data set.
    """
    stored = datasets.require_graph(db, graph)

    def counted() -> dict[str, int]:
        found = datasets.chain_counts(db, graph, datasets.list_rewrites(db, graph))
        return {rewrite: sum(by_steps.values()) for rewrite, by_steps in found.items()}

    return counts.get(_key(stored), counted)


def _key(graph: rows.GraphRow | rows.GraphRow) -> tuple[str, str, int]:
    """Identity of a stored data set: its content does not change after it was stored."""
    return graph.graph, graph.created_at, graph.n_facts


@dataclass(frozen=True, slots=True)
class Used:
    """Choices with which forms begin: those of the newest edit, or of the demo without any."""

    graph: str = DEMO_GRAPH
    rewrite: str = DEMO_REWRITE
    model: str = "organism"
    method: str = DEMO_METHOD

    def graph_of(self, sets: Sequence[str], asked: str = "") -> str:
        """The graph that was asked for, or else the one used last, or the first; "" of none."""
        return asked or next((name for name in (self.graph, *sets) if name in sets), "")


def last_used(db: Database) -> Used:
    """The choices of the newest edit, as a form takes them."""
    found = db.read(rows.PageEditRow, "edits/page_edits", limit=1, scores=True, rounds=False)
    if not found:
        return Used()
    (row,) = found
    score = record.readable(row.score)
    asked = posted(score) if score else json.loads(row.request or "{}")
    return Used(row.dataset, row.rewrite, asked.get("model", Used().model), row.method)


def form(db: Database, stored: list[DataSet], preset: dict[str, str]) -> dict[str, Any]:
    """Choices of the form: those in the address, or else those of the newest edit."""
    ids = [g.id for g in stored]
    used = last_used(db)
    asked = preset.get("graph", "")
    graph = used.graph_of(ids, asked if asked in ids else "")
    rewrites = datasets.list_rewrites(db, graph) if graph else []
    wanted = preset.get("rewrite") or used.rewrite
    chosen = next((r.id for r in rewrites if r.id.startswith(wanted)), "")
    counts = next((g.chains for g in stored if g.id == graph), None)
    return {
        "graph": graph,
        "chains": counts or {},
        "rewrites": rewrites,
        "rewrite": chosen,
        "rules": rules(db, graph),
        "methods": [registry.info(name) for name in registry.names()],
        "method": preset.get("method") or used.method,
        "model": preset.get("model") or used.model,
        "shipped": [name for name in graphs.names() if name not in ids],
    }


def rules(db: Database, graph: str) -> dict[str, Any]:
    """Values of `_rules_choice.html`: the rules that an edit of the graph can be checked with.

    Raises:
        NotFoundError: there is no such data set.
    """
    stored = rule_store.rules_of(db, graph, status=("kept", "candidate")) if graph else []
    kept = [each for each in stored if each.status == "kept"]
    return {
        "graph": graph,
        "n": len(kept),
        "candidates": len(stored) - len(kept),
        "example": kept[0].rule.text() if kept else "",
    }
