"""Edits as experiments: submitted, one or thousands; found, listed and deleted.

An edit has one `:Edit` node, which is its job too. It is submitted under a digest of its request;
once a worker has loaded the model it gets its final id, and each of its ids finds it. Submitting
the same again finds the same edit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...cypher.errors import IncompleteWriteError
from ..errors import NotFoundError
from ..experiments.kind import Prepared, Store
from ..experiments.store import write_rewrites
from ..graphs import datasets
from ..jobs import queue, submit
from ..jobs.submit import EnqueueResult, enqueue
from ..schemas import EditIn, Score
from ..scoring import append, deltas, record
from ..scoring.forget import refusal
from ..scoring.request import body_digest, posted_id
from ..scoring.runtime import parse
from .schemas import EditOut

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ...loaders.records import RewriteRequest
    from ..settings import Settings

READ_MOST = 1000
"""Edits that one query reads."""


def prepare(db: Database, settings: Settings, request: EditIn) -> Prepared[EditIn]:
    """Check one request; see `prepare_all`."""
    return prepare_all(db, settings, [request])[0]


def prepare_all(
    db: Database, settings: Settings, requests: Sequence[EditIn]
) -> list[Prepared[EditIn]]:
    """Check requests for edits of one data set, in their order.

    Shared resources (the data set, a rewrite, a model with a method) are looked up once.

    Raises:
        NotFoundError, UsageError, EditingError: a request cannot be scored.
    """
    content: str | None = None
    found: dict[str, RewriteRequest] = {}
    checked: set[tuple[str, ...]] = set()
    prepared = []
    for each in requests:
        about = (each.method, each.model, each.hparams or "")
        if about not in checked:
            submit.check(settings, each)
            checked.add(about)
        content = content or datasets.get_or_import(db, each.graph).digest
        named = repr(each.rewrite)
        if named not in found:
            found[named] = submit.rewrite_of(db, each)
        rewrite = found[named]
        append.check(each, rewrite)
        refusal.check(rewrite, each)
        prepared.append(
            Prepared(
                request=each.model_copy(update={"rewrite": rewrite.id}),
                id=posted_id(each, rewrite, content),
                body=body_digest(each, rewrite),
                affinity=submit.affinity(each),
                rewrites=[rewrite],
            )
        )
    return prepared


def submit_all(
    db: Database, settings: Settings, requests: Sequence[EditIn], *, key: str | None = None
) -> list[EnqueueResult]:
    """Queue edits of one data set, all of them or none; the outcome of each, in their order.

    Args:
        key: the client's idempotency key, for a single request.

    Raises:
        as `Store.submit`.
    """
    if not requests:
        return []
    prepared = prepare_all(db, settings, requests)
    edits = list({each.id: each for each in prepared}.values())
    graph = requests[0].graph
    rewrites = list({each.rewrites[0].id: each.rewrites[0] for each in edits}.values())

    def write(tx: Tx) -> list[EnqueueResult]:
        write_rewrites(tx, graph, rewrites)
        jobs = [
            {"id": each.id, "request": each.request.model_dump_json(), "affinity": each.affinity}
            for each in edits
        ]
        accepted = enqueue(
            tx.run, settings, queue.EDIT, jobs,
            key=key, body=edits[0].body if key else None, again=requests[0].force,
        )  # fmt: skip
        described = [
            {
                "id": one.edit,
                "model": parse(each.request.model, seed=each.request.organism_seed).name,
                "method": each.request.method,
                "rewrite": each.request.rewrite,
            }
            for each, one in zip(edits, accepted, strict=True)
            if one.outcome != "known"
        ]
        if described:
            try:
                tx.run(rows.WrittenRow, "edits/describe", dataset=graph, rows=described)
            except IncompleteWriteError as error:  # the graph was deleted meanwhile
                raise NotFoundError(
                    "graph of a data set", graph, [], listing="thinkeval graphs"
                ) from error
        return accepted

    accepted = db.atomically(write)
    outcomes = {each.id: one for each, one in zip(edits, accepted, strict=True)}
    return [outcomes[each.id] for each in prepared]


class EditStore(Store[Score]):
    """The recorded edits; a result is a score."""

    def submit(
        self, db: Database, settings: Settings, request: Any, *, key: str | None = None
    ) -> EnqueueResult:
        """Queue an edit; raises as `Store.submit`."""
        return submit_all(db, settings, [request], key=key)[0]

    def find(self, db: Database, id: str) -> Score | None:
        """The score of an edit, by any id that it has had; None while there is none."""
        return record.stored_score(db, id)

    def get(self, db: Database, id: str) -> EditOut:
        """An edit, by any id that it has had, with its score once it has one.

        One query reads all of it: between two, the worker may end the edit.

        Raises:
            NotFoundError: there is none; close ones are suggested.
        """
        row = record.get_edit(db, id)
        return self._shown(row, result=record.score_of(db, row))

    def listing(
        self,
        db: Database,
        *,
        graph: str | None = None,
        edit: str | None = None,
        skip: int = 0,
        limit: int = 100,
        **filters: Any,
    ) -> list[Any]:
        """Recorded edits, newest first, without their scores; filters as `EditFilters`."""
        ids = None if edit is None else [edit]
        found = db.read(
            rows.PageEditRow, "edits/page_edits",
            posted_as=ids, dataset=graph, skip=skip, limit=limit, **filters,
        )  # fmt: skip
        return [self._shown(row) for row in found]

    def _shown(self, row: rows.GetEditRow | rows.PageEditRow, **more: Any) -> EditOut:
        columns = asdict(row)
        links = self._links(row.id)
        links |= {
            name: f"{links['self']}/{name}" for name in ("score", "chains", "leakage", "graph")
        }
        shown = {name: columns[name] for name in EditOut.model_fields if name in columns}
        shown |= {"kind": self.kind.name, "graph": row.dataset, "links": links}
        return EditOut.model_validate(shown | {"request": json.loads(row.request or "{}")} | more)

    def remove(self, db: Database, settings: Settings, id: str) -> list[str]:
        """Delete a recorded edit with its graph, score and saved update."""
        removed = record.delete(db, id)
        deltas.remove(settings, removed)
        return [removed]


def job_of(db: Database, edit: str) -> rows.JobRow:
    """The status of an edit's job, found by any id it ever had.

    Raises:
        NotFoundError: there is none; close ones are suggested.
    """
    found = queue.find(db, queue.EDIT, edit)
    if found is None:
        raise record.unknown(db, edit)
    return found
