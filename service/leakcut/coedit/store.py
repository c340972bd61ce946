"""Stored co-edits: found by id, by graph or by an edit that is one of their rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....cypher import rows
from ....loaders.records import digest, slug
from ... import NUMBERS_VERSION
from ...errors import NotFoundError
from ...graphs import datasets
from ..schemas import CoEditIn, CoEditOut

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ....cypher.sending import Tx
    from ....loaders.records import RewriteRequest
    from ...leases import Lease

LISTING = "thinkeval coedits"


def id_of(db: Database, posted: CoEditIn, rewrite: RewriteRequest) -> str:
    """The id of a co-edit: the same for the same request of the same graph."""
    body = posted.model_dump(mode="json", exclude={"force", "rewrite"})
    about = [body, rewrite.identity, datasets.dataset(db, posted.graph).digest, NUMBERS_VERSION]
    return f"coedit-{slug(posted.method)}-{slug(rewrite.subject)[:32]}-{digest(about, 10)}"


def save(db: Database, out: CoEditOut, lease: Lease | None = None) -> None:
    """Store a co-edit; a stored one of its id is replaced.

    Raises:
        LeaseLostError, JobInterrupt: it belongs to another worker, or shall be cancelled.
    """

    def write(tx: Tx) -> None:
        if lease is not None:
            lease.hold(tx.run)
        tx.run(
            rows.WrittenRow,
            "leakcut/merge_coedit",
            id=out.id,
            graph=out.graph,
            rewrite=out.rewrite,
            model=out.model,
            method=out.method,
            request=CoEditIn.model_validate(out.request).model_dump_json(),
            outcome=out.model_dump_json(exclude={"reused", "created_at"}),
            rows=[{"edit": row.edit, "number": row.number} for row in out.rounds],
        )

    db.atomically(write)


def get(db: Database, id: str) -> CoEditOut:
    """A stored co-edit.

    Raises:
        NotFoundError: there is none; close ones are suggested.
    """
    found = db.read(rows.CoEditRow, "leakcut/coedits", id=id)
    if not found:
        known = [row.id for row in db.read(rows.CoEditRow, "leakcut/coedits", limit=1000)]
        raise NotFoundError("co-edit", id, known, listing=LISTING)
    return shown(found[0])


def shown(row: rows.CoEditRow) -> CoEditOut:
    """A stored co-edit as every interface shows it."""
    out = CoEditOut.model_validate_json(row.outcome)
    return out.model_copy(update={"created_at": row.created_at})


def page(
    db: Database,
    *,
    graph: str | None = None,
    edit: str | None = None,
    skip: int = 0,
    limit: int = 100,
) -> list[CoEditOut]:
    """Stored co-edits, newest first.

    Args:
        edit: only those with this edit as a round.
    """
    found = db.read(
        rows.CoEditRow, "leakcut/coedits", graph=graph, edit=edit, skip=skip, limit=limit
    )
    return [shown(row) for row in found]
