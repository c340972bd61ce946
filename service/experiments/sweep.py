"""A sweep as jobs: its cells are submitted as edits, all or none; its table is read off them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...cypher import rows
from ...loaders.records import digest
from .. import NUMBERS_VERSION
from ..base.errors import NotFoundError, UsageError
from ..graphs import datasets
from ..graphs.requests import of_one_kind
from ..models.edit import EditIn, Measure, Score
from ..models.experiment import SweepIn, SweepOut
from ..reports import by_kind
from ..reports import table as reports
from ..reports.comparison import compare
from ..scoring import metrics
from . import queue, submit

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..base.settings import Settings


LISTING = "GET /v1/sweeps"

CELLS = 10_000
"""Edits that one sweep may ask for."""
PART = 1000
"""Edits that one query reads."""


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


def post(db: Database, settings: Settings, sweep: SweepIn) -> str:
    """Post every cell; the sweep's id. The same sweep again finds the same one.

    Raises:
        as `submit.post`; then nothing was submitted.
    """
    posted = submit.post_all(db, settings, cells(db, sweep))
    posted_as = [each.edit for each in posted]
    # Not the edits' ids: those change when a worker has loaded the model.
    about = [sweep.digested(), datasets.graph_digest(db, sweep.graph), NUMBERS_VERSION]
    name = f"sweep-{digest(about, 10)}"
    db.write(
        bool, "jobs/merge_sweep", id=name, request=sweep.model_dump_json(), posted_as=posted_as
    )
    return name


def listing(db: Database) -> list[SweepOut]:
    """Every sweep with its counts, newest first; without tables."""
    return [_out(db, row) for row in db.read(rows.SweepRow, "jobs/sweeps")]


def page(db: Database, start: int, limit: int) -> tuple[list[SweepOut], int]:
    """Some of the sweeps with their counts, newest first, and how many there are in all."""
    found = db.read(rows.SweepRow, "jobs/sweeps")
    return [_out(db, row) for row in found[start : start + limit]], len(found)


def edits(db: Database, sweep: str, *, scores: bool) -> list[rows.PageEditRow]:
    """The edits of a sweep, oldest first.

    Args:
        scores: read the scores too; each is some kilobytes.

    Raises:
        NotFoundError: no such sweep.
    """
    row = _row(db, sweep)
    n_edits = sum(queue.counts(db, row.posted_as).values())
    return sorted(
        _edits(db, row.posted_as, n_edits, scores=scores), key=lambda e: (e.created_at, e.id)
    )


def scores(db: Database, sweep: str) -> list[Score]:
    """The scores of a sweep's edits, as far as they are scored.

    Raises:
        NotFoundError: no such sweep.
    """
    found = [each.score for each in edits(db, sweep, scores=True)]
    return metrics.completed(db, [Score.model_validate_json(each) for each in found if each])


def get(
    db: Database, sweep: str, measure: Measure = "likelihood", *, table: bool = True
) -> SweepOut:
    """A sweep with the table of the scored cells; without it where only counts are wanted.

    Raises:
        NotFoundError: no such sweep.
    """
    row = _row(db, sweep)
    out = _out(db, row).model_copy(update={"measure": measure})
    found = _edits(db, row.posted_as, sum(out.counts.values()), scores=table)
    out.edits = [each.id for each in found]
    out.failed = [
        {"edit": each.id, "method": each.method, "rewrite": each.rewrite, "status": each.status,
         "error": each.error or "", "remedy": each.remedy or ""}
        for each in found
        if each.status in ("failed", "cancelled")
    ]  # fmt: skip
    if not table:
        return out
    stored = [Score.model_validate_json(e.score) for e in found if e.score]
    scored = metrics.completed(db, stored)
    held = [s for s in scored if measure in s.measures]
    if means := by_kind.table_by_kind(scored, measure, db):
        out.caption, out.table = means.caption, reports.records(means.frame())
    elif held:
        compared = compare(db, held, measure)
        out.warnings = list(compared.warnings)
        if not compared.scores:
            return out
        out.caption = reports.caption(compared.scores, measure, families=compared.families)
        frame = reports.method_table(compared.scores, measure, compared.families)
        out.table = reports.records(frame)
    return out


def cancel(db: Database, sweep: str) -> SweepOut:
    """Cancel the cells of a sweep that are not scored yet.

    Raises:
        NotFoundError: no such sweep.
    """
    row = _row(db, sweep)
    for part in _parts(row.posted_as):
        queue.cancel_all(db, part)
    return _out(db, row)


def remove(db: Database, sweep: str) -> None:
    """Forget a sweep; its edits stay.

    Raises:
        NotFoundError: no such sweep.
    """
    db.write(int, "jobs/delete_sweep", id=_row(db, sweep).id)


def _row(db: Database, sweep: str) -> rows.SweepRow:
    found = db.read(rows.SweepRow, "jobs/sweeps", id=sweep)
    if not found:
        known = [row.id for row in db.read(rows.SweepRow, "jobs/sweeps")]
        raise NotFoundError("sweep", sweep, known, listing=LISTING)
    return found[0]


def _edits(
    db: Database, posted_as: Sequence[str], n_edits: int, *, scores: bool
) -> list[rows.PageEditRow]:
    """The edits of a sweep; submissions that turned out to mean the same are one.

    An edit may take its final id during the read, which then misses it: a second read finds it.

    Args:
        n_edits: how many edits the ids name.
    """
    found: dict[str, rows.PageEditRow] = {}
    for _ in range(2):
        found = {
            each.id: each
            for part in _parts(posted_as)
            for each in db.read(
                rows.PageEditRow, "edits/page_edits", posted_as=part, limit=PART, scores=scores
            )
        }
        if len(found) >= n_edits:
            break
    return list(found.values())


def _parts(posted_as: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(posted_as), PART):
        yield list(posted_as[start : start + PART])


def _out(db: Database, row: rows.SweepRow) -> SweepOut:
    return SweepOut(
        id=row.id,
        request=json.loads(row.request),
        created_at=row.created_at,
        counts=queue.counts(db, row.posted_as),
        edits=list(row.posted_as),
    )
