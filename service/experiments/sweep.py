"""The kind of experiment `sweep`: several methods on several rewrite requests of a graph.

A sweep has no job of its own. Its cells are edits, submitted all or none, which any worker may
claim: several share a sweep, and a killed one loses one cell. Its status, numbers and tables are
read off them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...loaders.records import digest
from .. import NUMBERS_VERSION
from ..base.errors import NotFoundError, UsageError
from ..base.formatting import pluralize
from ..graphs import datasets
from ..graphs.requests import of_one_kind
from ..models.edit import EditIn, Measure, Score, Status
from ..models.experiment import Experiment, SweepIn, SweepOut
from ..reports.formats import Column, Table, frame_table
from ..scoring import metrics, record
from . import queue
from .edit import EDIT, READ_MOST, submit_all
from .kind import Kind, Prepared, Store
from .submit import EnqueueResult

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..base.settings import Settings


CELLS = 10_000
"""Edits that one sweep may ask for."""


def cells(db: Database, sweep: SweepIn) -> list[EditIn]:
    """The edits a sweep asks for: those of one model together, and of one rewrite within it.

    Raises:
        NotFoundError: no such graph.
        UsageError: it has no rewrites, or more cells than a sweep may have.
    """
    datasets.get_or_import(db, sweep.graph)
    stored = [] if sweep.rewrites else of_one_kind(datasets.list_rewrites(db, sweep.graph))
    names = sweep.rewrites or [r.id for r in stored]
    wanted = len(names) * len(sweep.models) * len(sweep.seeds) * len(sweep.methods)
    if wanted > CELLS:
        raise UsageError(
            f"The sweep asks for {wanted:,} edits; one sweep may ask for {CELLS:,}.",
            remedy="Post it in parts: fewer rewrites, models, seeds or methods at a time.",
        )
    if not names:
        raise UsageError(
            f"Graph {sweep.graph!r} has no rewrite requests.",
            remedy="Post edits with rewrites written out, or choose another graph.",
        )
    shared = sweep.model_dump(exclude={"rewrites", "models", "methods", "seeds"})
    return [
        EditIn(**shared, rewrite=rewrite, model=model, method=method, seed=seed, organism_seed=seed)
        for model in dict.fromkeys(sweep.models)
        for seed in dict.fromkeys(sweep.seeds)
        for rewrite in dict.fromkeys(names)
        for method in dict.fromkeys(sweep.methods)
    ]


def _prepare(db: Database, settings: Settings, sweep: SweepIn) -> Prepared[SweepIn]:
    """Name a sweep by its request, not by its edits: their ids change once they are claimed."""
    about = [sweep.digested(), datasets.get_or_import(db, sweep.graph).digest, NUMBERS_VERSION]
    name = f"sweep-{digest(about, 10)}"
    return Prepared(request=sweep, id=name, body=name, affinity="")


class SweepStore(Store[SweepOut]):
    """The recorded sweeps."""

    def submit(
        self, db: Database, settings: Settings, request: Any, *, key: str | None = None
    ) -> EnqueueResult:
        """Queue every cell that is not scored yet, all or none.

        Args:
            key: not needed: the same request is the same sweep.

        Raises:
            as `Store.submit`; then nothing was submitted.
        """
        id = self.kind.prepare(db, settings, request).id
        accepted = submit_all(db, settings, cells(db, request))
        self.record(db, id, request, [each.edit for each in accepted])
        known = all(each.outcome == "known" for each in accepted)
        return EnqueueResult(id, "known" if known else "queued")

    def record(self, db: Database, id: str, request: SweepIn, edits: Sequence[str]) -> None:
        """Record a sweep under its id with the ids of its edits, in the order of its cells."""
        db.write(
            bool, "jobs/merge_sweep",
            id=id, request=request.model_dump_json(), posted_as=list(edits),
        )  # fmt: skip

    def find(self, db: Database, id: str) -> SweepOut | None:
        """A sweep as far as it is done; None where there is none."""
        return read(db, id) if db.read(rows.SweepRow, "jobs/sweeps", id=id) else None

    def get(self, db: Database, id: str) -> Experiment[SweepOut]:
        """A sweep, with the status that follows from its edits.

        Raises:
            NotFoundError: there is none; close ones are suggested.
        """
        return self._experiment(read(db, id))

    def listing(
        self,
        db: Database,
        *,
        graph: str | None = None,
        edit: str | None = None,
        skip: int = 0,
        limit: int = 100,
        **filters: Any,
    ) -> list[Experiment[SweepOut]]:
        """Sweeps, newest first; without the reasons of failed edits."""
        found = [
            row
            for row in db.read(rows.SweepRow, "jobs/sweeps", edit=edit)
            if graph in (None, json.loads(row.request)["graph"])
        ]
        return [self._experiment(counted(db, row)) for row in found[skip : skip + limit]]

    def cancel(self, db: Database, id: str) -> Experiment[SweepOut]:
        """Cancel the edits of a sweep that are not scored yet; scores stay.

        Raises:
            NotFoundError: there is none.
        """
        for part in _parts(_row(db, id).posted_as):
            queue.cancel_all(db, part, EDIT.name, EDIT.again)
        return self.get(db, id)

    def _experiment(self, out: SweepOut) -> Experiment[SweepOut]:
        counts, total = out.counts, sum(out.counts.values())
        ended = total - counts["queued"] - counts["running"]
        lacking = ended - counts["succeeded"]
        return self.kind.shown(
            id=out.id, kind=self.kind.name, graph=out.graph, request=out.request,
            status=_status(counts), progress=ended / total if total else 1.0,
            stage=f"{ended} of {pluralize(total, 'edit')}", total=total, parts=out.edits,
            created_at=out.created_at,
            error=f"{lacking} of {pluralize(total, 'edit')} without a score" if lacking else None,
            remedy=self.kind.again if lacking else None,
            result=out if ended else None, links=self._links(out.id),
        )  # fmt: skip

    def remove(self, db: Database, settings: Settings, id: str) -> list[str]:
        """Delete a sweep; its edits stay."""
        db.write(int, "jobs/delete_sweep", id=id)
        return []


def _row(db: Database, id: str) -> rows.SweepRow:
    found = db.read(rows.SweepRow, "jobs/sweeps", id=id)
    if not found:
        known = [row.id for row in db.read(rows.SweepRow, "jobs/sweeps")]
        raise NotFoundError("sweep", id, known, listing="thinkeval results sweeps")
    return found[0]


def _status(counts: dict[Status, int]) -> Status:
    """The status of a sweep by the number of its edits in each."""
    ended = counts["succeeded"] + counts["failed"] + counts["cancelled"]
    if counts["running"] or (counts["queued"] and ended):
        return "running"
    if counts["queued"]:
        return "queued"
    if counts["cancelled"]:
        return "cancelled"
    return "failed" if counts["failed"] and not counts["succeeded"] else "succeeded"


def counted(db: Database, row: rows.SweepRow) -> SweepOut:
    """A sweep with the number of its edits by status."""
    request = json.loads(row.request)
    return SweepOut(
        id=row.id,
        graph=request["graph"],
        request=request,
        created_at=row.created_at,
        counts=queue.counts(db, row.posted_as),
        edits=list(row.posted_as),
    )


def read(db: Database, id: str) -> SweepOut:
    """A sweep with its edits by their present ids, and the reasons of those that failed.

    Raises:
        NotFoundError: there is none; close ones are suggested.
    """
    out = counted(db, _row(db, id))
    found = edits(db, out, scores=False)
    out.edits = [each.id for each in found]
    out.failed = [
        {"edit": each.id, "method": each.method, "rewrite": each.rewrite, "status": each.status,
         "error": each.error or "", "remedy": each.remedy or ""}
        for each in found
        if each.status in ("failed", "cancelled")
    ]  # fmt: skip
    return out


def edits(db: Database, sweep: SweepOut, *, scores: bool) -> list[rows.PageEditRow]:
    """The edits of a sweep, oldest first; submissions that turned out to mean the same are one.

    An edit may take its final id during the read, which then misses it: a second read finds it.

    Args:
        scores: read the scores too; each is some kilobytes.
    """
    found: dict[str, rows.PageEditRow] = {}
    for _ in range(2):
        found = {
            each.id: each
            for part in _parts(sweep.edits)
            for each in db.read(
                rows.PageEditRow, "edits/page_edits", posted_as=part, limit=READ_MOST, scores=scores
            )
        }
        if len(found) >= sum(sweep.counts.values()):
            break
    return sorted(found.values(), key=lambda each: (each.created_at, each.id))


def scores(db: Database, sweep: SweepOut) -> list[Score]:
    """The scores of a sweep's edits, as far as they are scored."""
    found = [each for each in edits(db, sweep, scores=True) if each.score]
    return metrics.completed(db, [record.read_score(each.id, each.score or "") for each in found])


def _parts(posted_as: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(posted_as), READ_MOST):
        yield list(posted_as[start : start + READ_MOST])


FAILED: list[Column[dict[str, str]]] = [
    Column("method", lambda row: row["method"]),
    Column("rewrite", lambda row: row["rewrite"], whole=True),
    Column("status", lambda row: row["status"]),
    Column("reason", lambda row: row["error"]),
    Column("edit", lambda row: row["edit"], optional=1),
]
SHOWN = ("Model", "Method", "Efficacy", "IFR", "Preservation", "Subject retention", "rewrites")
"""Columns of the table of methods for readers; files have all of them."""


def _tables(db: Database, out: SweepOut, measure: Measure | None = None) -> list[Table[Any]]:
    """The methods over common rewrites, their forms, and the edits without a score."""
    from ..reports import checks
    from ..reports.comparison import families
    from ..reports.forms import tables_over_edits

    failed = [Table("failed", "Edits without a score", FAILED, out.failed)] if out.failed else []
    scored = scores(db, out)
    table = methods_table(db, scored, measure)
    asked = [score for score in scored if score.forms]
    forms = tables_over_edits(asked, families(db, asked)) if asked else []
    checked = [score for score in scored if score.checks]
    if checked:
        forms += checks.tables_over_edits(db, checked, families(db, checked))
    return [*([table] if table else []), *forms, *failed]


def methods_table(
    db: Database, scored: Sequence[Score], measure: Measure | None = None
) -> Table[Any] | None:
    """One row a model and method; None where no edit is scored.

    Raises:
        UsageError: no edit has the measure.
    """
    from ..reports import by_kind  # imports numpy
    from ..reports import table as reports
    from ..reports.comparison import compare

    taken = list(dict.fromkeys(m for score in scored for m in score.measures))
    if measure is None:
        measure = "likelihood" if "likelihood" in taken or not taken else taken[0]
    if means := by_kind.table_by_kind(scored, measure, db):
        table = frame_table(means.frame(), means.note)
        return replace(table, name="methods", title=means.title, rules=means.rules)
    if scored and measure not in taken:
        raise UsageError(
            f"No edit of the sweep was measured by {measure!r}.",
            remedy=f"It has {' and '.join(taken)}; or submit it again with samples.",
        )
    compared = compare(db, [score for score in scored if measure in score.measures], measure)
    if not compared.scores:
        return None
    frame = reports.method_table(compared.scores, measure, compared.families)
    caption = reports.caption(compared.scores, measure, SHOWN, compared.families)
    table = reports.methods(frame, caption)
    shown = [column for column in table.columns if column.header in SHOWN]
    title = "Methods, over the rewrites that all of them have"
    note = " ".join(compared.warnings)
    return replace(
        table, title=title, columns=shown, values=table.columns, note=note, rules=table.note
    )


def _title(out: SweepOut) -> str:
    methods = out.request["methods"]
    return f"{', '.join(methods)} on {out.graph}"


def _sentences(out: SweepOut, measure: Measure | None = None) -> list[str]:
    counted = ", ".join(f"{n} {status}" for status, n in out.counts.items() if n)
    return [f"{pluralize(sum(out.counts.values()), 'edit')}: {counted}."]


LISTED: list[Column[SweepOut]] = [
    Column("id", lambda out: out.id, whole=True),
    Column("methods", lambda out: ", ".join(out.request["methods"])),
    Column("graph", lambda out: out.graph, optional=1),
    Column("edits", lambda out: sum(out.counts.values())),
    Column("scored", lambda out: out.counts["succeeded"]),
    Column("failed", lambda out: out.counts["failed"]),
]

SWEEP = Kind(
    name="sweep",
    plural="sweeps",
    noun="sweep",
    about="Scores every method on every rewrite request; stored scores are found again.",
    request=SweepIn,
    result=SweepOut,
    prepare=_prepare,
    run=None,
    started_by="thinkeval sweep FILE",
    title=_title,
    listed=LISTED,
    sentences=_sentences,
    tables=lambda out, measure: (),
    further=_tables,
    next=lambda out: [f"thinkeval report {' '.join(out.edits)}"] if len(out.edits) <= 5 else [],
    again="Submit it again: edits that are scored are not repeated.",
    stored=SweepStore,
)
