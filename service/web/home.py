"""What the front page shows: data sets, a page of the recorded edits, and the form's choices."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from cypher import rows
from editing import methods as registry
from loaders import formats, graphs
from service import ingest
from service.edit_schemas import ENDED, Status
from service.errors import UsageError
from service.schemas import MEASURE_NAMES

if TYPE_CHECKING:
    from cypher.rows import PageEditRow
    from cypher.run import Database

STATUSES: tuple[str, ...] = get_args(Status)
SHOWN = ("ifr", "efficacy", "preservation")
PAGE = 25
COUNTED = 200
"""Chains are counted on the front page for data sets of at most so many rewrites."""

DEMO_GRAPH, DEMO_REWRITE, DEMO_METHOD = "hogwarts", "harry-potter--studied-at", "rome"


@dataclass(frozen=True, slots=True)
class Listed:
    """One edit of the list; `numbers` are IFR, efficacy and Preservation by the first measure."""

    edit: PageEditRow
    numbers: dict[str, tuple[float, int]]
    measure: str | None

    @property
    def live(self) -> bool:
        """Whether something may still happen to it."""
        return self.edit.status not in ENDED


@dataclass(frozen=True, slots=True)
class EditPage:
    """A page of edits, newest first; `older` is the query of the next page, or None."""

    items: list[Listed]
    total: int
    older: dict[str, str] | None


def edits(db: Database, chosen: dict[str, str], before: str = "", before_id: str = "") -> EditPage:
    """One page of the edits that fit.

    Args:
        chosen: any of graph, method, model, status, rewrite; empty values do not narrow.

    Raises:
        UsageError: there is no such status.
    """
    names = {"graph": "dataset"}
    where = {names.get(key, key): value for key, value in chosen.items() if value}
    if where.get("status", STATUSES[0]) not in STATUSES:
        raise UsageError(
            f"{where['status']!r} is not a status.", remedy=f"Use one of {', '.join(STATUSES)}."
        )
    found = db.read(
        rows.PageEditRow, **where, before=before or None, before_id=before_id, limit=PAGE + 1
    )
    total = db.read(rows.CountEditsRow, **where)[0].edits
    older = None
    if len(found) > PAGE:
        last = found[PAGE - 1]
        older = {"before": last.created_at, "before_id": last.id}
    return EditPage([_listed(row) for row in found[:PAGE]], total, older)


def _listed(row: PageEditRow) -> Listed:
    values = json.loads(row.score)["values"] if row.score else []
    held = {v["measure"] for v in values}
    measure = next((m for m in ("likelihood", "p", "likelihood_norm") if m in held), None)
    numbers = {
        v["metric"]: (v["value"], v["n"])
        for v in values
        if v["metric"] in SHOWN and v["measure"] == measure and v["step"] is None
    }
    return Listed(row, numbers, MEASURE_NAMES[measure] if measure else None)


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set graph; `chains` is None where counting them would keep the page waiting."""

    id: str
    n_facts: int
    n_entities: int
    n_rewrites: int
    chains: int | None


_counted: dict[tuple[str, str, str], int] = {}
"""Chains of a data set by id, content and time of storing: a stored data set does not change."""


def data_sets(db: Database) -> list[DataSet]:
    """The stored data sets."""
    stored = [g for g in ingest.list_graphs(db) if g.kind == "dataset"]
    return [DataSet(g.id, g.n_facts, g.n_entities, g.n_rewrites, _chains(db, g)) for g in stored]


def _chains(db: Database, graph: ingest.StoredGraph) -> int | None:
    if graph.n_rewrites > COUNTED:
        return None
    key = (graph.id, graph.created_at, str(graph.n_facts))
    if key not in _counted:
        rewrites = ingest.list_rewrites(db, graph.id)
        counts = ingest.chain_counts(db, graph.id, rewrites)
        _counted[key] = sum(sum(by_step.values()) for by_step in counts.values())
    return _counted[key]


def form(db: Database, stored: list[DataSet], asked: dict[str, str]) -> dict[str, Any]:
    """The choices of the form, with the demo edit (or what the address asks for) preselected."""
    ids = [g.id for g in stored]
    graph = asked.get("graph", "")
    if graph not in ids:
        graph = DEMO_GRAPH if DEMO_GRAPH in ids else (ids[0] if ids else "")
    rewrites = ingest.list_rewrites(db, graph) if graph else []
    wanted = asked.get("rewrite") or DEMO_REWRITE
    chosen = next((r.id for r in rewrites if r.id.startswith(wanted)), "")
    return {
        "graph": graph,
        "rewrites": rewrites,
        "rewrite": chosen,
        "methods": [registry.info(name) for name in registry.names()],
        "method": asked.get("method") or DEMO_METHOD,
        "model": asked.get("model") or "organism",
        "formats": list(formats.formats().values()),
        "shipped": [name for name in graphs.names() if name not in ids],
    }
