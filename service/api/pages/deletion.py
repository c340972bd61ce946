"""Deletion of edits and data sets from the web UI, with dependent data, and reasons against it.

The web UI asks for confirmation and lists the deleted data; it deletes no data set that is in use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....cypher import rows
from ...errors import ConflictError
from ...formatting import pluralize
from ...graphs import datasets, delete
from ...schemas import ENDED
from ...scoring import deltas, record

if TYPE_CHECKING:
    from ....cypher.run import Database
    from ...settings import Settings


@dataclass(frozen=True, slots=True)
class EditDeletion:
    """The data that are deleted with an edit.

    Attributes:
        facts, entities: of its edit graph; 0 if there is none.
        update_bytes: size of its saved update on this machine; None if none is saved.
        live: it is queued or running, and must be cancelled first.
    """

    edit: rows.GetEditRow
    facts: int
    entities: int
    update_bytes: int | None
    live: bool


@dataclass(frozen=True, slots=True)
class DataSetDeletion:
    """The data that are deleted with a data set, and those derived from it."""

    graph: rows.GraphRow
    rewrites: int
    derived: rows.DependentsRow

    @property
    def used(self) -> bool:
        """True if edits or knowledge sets use it; model graphs and rules are deleted with it."""
        return bool(self.derived.edits or self.derived.sets)


def edit_deletion(db: Database, settings: Settings, edit: str) -> EditDeletion:
    """List the data to be deleted with an edit, by any id that it has had.

    Raises:
        NotFoundError: there is none.
    """
    row = record.get_edit(db, edit)
    graph = next(iter(db.read(rows.GraphRow, "graph/get_graph", graph=row.id)), None)
    saved = deltas.path_of(settings, row.id)
    return EditDeletion(
        row,
        facts=graph.n_facts if graph else 0,
        entities=graph.n_entities if graph else 0,
        update_bytes=saved.stat().st_size if saved.is_file() else None,
        live=row.status not in ENDED,
    )


def data_set_deletion(db: Database, graph: str) -> DataSetDeletion:
    """List the data to be deleted with a data set, and the data that use it.

    Raises:
        NotFoundError: there is no such data set.
    """
    datasets.require_graph(db, graph)
    return DataSetDeletion(
        db.read(rows.GraphRow, "graph/get_graph", graph=graph)[0],
        rewrites=len(datasets.list_rewrites(db, graph)),
        derived=db.read(rows.DependentsRow, "graph/dependents", graph=graph)[0],
    )


def delete_data_set(db: Database, graph: str) -> None:
    """Delete an unused data set with its rules and model graphs.

    Raises:
        NotFoundError: there is no such data set.
        ConflictError: edits or knowledge sets use it.
    """
    derived = data_set_deletion(db, graph).derived
    if derived.edits or derived.sets:
        raise ConflictError(
            f"{graph!r} is used by {pluralize(len(derived.edits), 'edit')} and"
            f" {pluralize(len(derived.sets), 'knowledge set')}.",
            remedy="Delete those first.",
        )
    delete.delete_graph(db, graph, with_dependents=True)
