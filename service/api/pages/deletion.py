"""What goes when an edit or a data set is deleted from the page, and deleting a data set.

The page asks first, and says what goes; it deletes no data set that something stored still uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinkeval.cypher import rows
from thinkeval.service.errors import ConflictError
from thinkeval.service.formatting import several
from thinkeval.service.graphs import datasets, delete
from thinkeval.service.schemas import ENDED
from thinkeval.service.scoring import deltas, record

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.service.settings import Settings


@dataclass(frozen=True, slots=True)
class EditGoing:
    """An edit that is to go.

    Attributes:
        facts, entities: of the graph that it produced; 0 where there is none.
        update_bytes: size of its saved update here; None where none is saved.
        live: it waits or runs, and must be cancelled first.
    """

    edit: rows.GetEditRow
    facts: int
    entities: int
    update_bytes: int | None
    live: bool


@dataclass(frozen=True, slots=True)
class DataSetGoing:
    """A data set that is to go, and what was made of it."""

    graph: rows.GetGraphRow
    rewrites: int
    made: rows.DependentsRow

    @property
    def used(self) -> bool:
        """Whether edits or knowledge sets need it; what models know of it and rules go with it."""
        return bool(self.made.edits or self.made.sets)


def edit_going(db: Database, settings: Settings, edit: str) -> EditGoing:
    """What would go with an edit, by any id it ever had.

    Raises:
        NotFoundError: there is none.
    """
    found = db.read(rows.GetEditRow, id=edit)
    if not found:
        raise record.unknown(db, edit)
    row = found[0]
    graph = next(iter(db.read(rows.GetGraphRow, graph=row.id)), None)
    saved = deltas.path_of(settings, row.id)
    return EditGoing(
        row,
        facts=graph.n_facts if graph else 0,
        entities=graph.n_entities if graph else 0,
        update_bytes=saved.stat().st_size if saved.is_file() else None,
        live=row.status not in ENDED,
    )


def data_set_going(db: Database, graph: str) -> DataSetGoing:
    """What would go with a data set, and what keeps it.

    Raises:
        NotFoundError: there is no such data set.
    """
    datasets.require_graph(db, graph)
    return DataSetGoing(
        db.read(rows.GetGraphRow, graph=graph)[0],
        rewrites=len(datasets.list_rewrites(db, graph)),
        made=db.read(rows.DependentsRow, graph=graph)[0],
    )


def delete_data_set(db: Database, graph: str) -> None:
    """Delete a data set that nothing uses, with its rules and what models know of it.

    Raises:
        NotFoundError: there is no such data set.
        ConflictError: edits or knowledge sets use it.
    """
    made = data_set_going(db, graph).made
    if made.edits or made.sets:
        raise ConflictError(
            f"{graph!r} is used by {several(len(made.edits), 'edit')} and"
            f" {several(len(made.sets), 'knowledge set')}.",
            remedy="Delete those first.",
        )
    delete.delete_graph(db, graph, with_dependents=True)
