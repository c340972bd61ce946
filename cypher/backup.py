"""The content of a database as lines of JSON, and a database from such lines.

Every node and every relationship is read with all it has, so that a kind that is added later is
backed up too. A node is the line `[labels, properties]`, its place the number of the line; a
relationship is `[start, end, type, properties]`, where start and end are places.

Neo4j has no snapshots: a transaction sees the commits of others. So a record is read before those
that it refers to (`ORDER`): when it is finished, these were committed before. What was finished at
the start must be there, unchanged, at the end (backup/finished), and no fact of a graph may be
missing. One transaction reads all: ids of nodes that are deleted
meanwhile are not used again before it ends.
"""

from __future__ import annotations

import base64
import json
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from types import NoneType
from typing import TYPE_CHECKING, Any

from . import migrations, rows
from .driver import neo4j
from .errors import ChangedError, GraphError, NotEmptyError, ParameterError

if TYPE_CHECKING:
    from .run import Database
    from .sending import Tx

ORDER = (("Sweep", "Job"), ("Experiment",), ("Edit",), ("Graph",))
"""Labels in the order in which they are read; a node with labels of several is read at the last.
All other nodes follow."""
LEFT_OUT = ("Schema", "Worker")
"""Labels that are not read: the version, which the manifest has, and processes of a machine."""
PAGE, PAGE_CHARACTERS = 1000, 4_000_000
"""Lines, and characters, that one transaction of a restore writes at most."""

Tick = Callable[[int], None]
"""Called with the number of nodes and relationships so far."""


@dataclass
class Counts:
    """Numbers of nodes by label, and of relationships by type.

    Attributes:
        n_nodes: of all nodes; one may have several labels, or none.
    """

    nodes: Counter[str] = field(default_factory=Counter)
    relationships: Counter[str] = field(default_factory=Counter)
    n_nodes: int = 0

    @property
    def n_relationships(self) -> int:
        """Number of relationships; each has one type."""
        return self.relationships.total()

    def add_node(self, labels: Iterable[str]) -> None:
        """Count a node."""
        self.nodes.update(labels)
        self.n_nodes += 1


class Reading:
    """The lines of a database, read in one transaction.

    Attributes:
        counts: of the lines so far.
        unfinished: ids of graphs that were being written, which are left out with their entities.
    """

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.counts = Counts()
        self.unfinished: list[str] = []
        self._places = array("q")
        self._graphs: dict[str, int | None] = {}
        self._facts: Counter[str] = Counter()
        self._before = self._finished()

    def nodes(self) -> Iterator[str]:
        """The lines of the nodes.

        Raises:
            GraphError: a property has a type that a backup does not know.
        """
        later = [list(labels) for labels in ORDER]
        while later:
            labels = later.pop(0)
            yield from self._group(labels, sum(later, [*LEFT_OUT]))
        yield from self._group(None, [*LEFT_OUT, *(label for labels in ORDER for label in labels)])

    def relationships(self) -> Iterator[str]:
        """The lines of the relationships between nodes that were read; call `nodes` before.

        Raises:
            ChangedError: a graph is replaced meanwhile.
            GraphError: as in `nodes`.
        """
        for row in self._tx.stream(rows.RelationshipRow, "backup/relationships"):
            start, end = self._place(row.start), self._place(row.end)
            graph = row.properties.get("graph") if row.type == "FACT" else None
            if start < 0 or end < 0:
                if graph in self._graphs:
                    raise ChangedError(f"The graph {graph!r} was replaced while it was read.")
                continue
            if graph is not None:
                self._facts[graph] += 1
            self.counts.relationships[row.type] += 1
            yield json.dumps([start, end, row.type, encoded(row.properties, row.type)])

    def require_unchanged(self) -> None:
        """Check that what was finished at the start is what was read.

        Raises:
            ChangedError: a finished edit, experiment or graph was deleted or replaced meanwhile.
        """
        after = self._finished()
        changed = sum(after.get(node) != mark for node, mark in self._before.items())
        if changed:
            raise ChangedError(f"{changed} finished jobs or graphs changed while they were read.")
        for graph, n in self._graphs.items():
            if self._facts[graph] != n and self._facts[graph] not in self._tx.run(
                int, "backup/count_facts", graph=graph
            ):
                raise ChangedError(f"The graph {graph!r} was replaced while it was read.")

    def _finished(self) -> dict[str, str]:
        found = self._tx.stream(rows.FinishedRow, "backup/finished")
        return {row.node: row.mark for row in found}

    def _group(self, labels: list[str] | None, without: list[str]) -> Iterator[str]:
        for row in self._tx.stream(rows.NodeRow, "backup/nodes", labels=labels, without=without):
            if self._is_left_out(row):
                continue
            self._note_place(row.node)
            self.counts.add_node(row.labels)
            owner = "|".join(row.labels)
            yield json.dumps([row.labels, encoded(row.properties, owner)])

    def _is_left_out(self, row: rows.NodeRow) -> bool:
        """Return True of a graph that is being written, and of its entities."""
        if "Graph" in row.labels:
            graph = str(row.properties.get("id"))
            if not row.properties.get("complete"):
                self.unfinished.append(graph)
                return True
            self._graphs[graph] = row.properties.get("n_facts")
        key = row.properties.get("key")
        return (
            "Entity" in row.labels
            and isinstance(key, str)
            and key.partition("|")[0] not in self._graphs
        )

    def _note_place(self, node: str) -> None:
        number = _number(node)
        missing = number + 1 - len(self._places)
        if missing > 0:
            self._places.extend(array("q", [-1]) * missing)
        self._places[number] = self.counts.n_nodes

    def _place(self, node: str) -> int:
        number = _number(node)
        return self._places[number] if number < len(self._places) else -1


def begin(db: Database, version: int, file: str) -> None:
    """Begin a restore in an empty database; until its `end` other programs refuse that.

    Args:
        version: schema of the backup.
        file: its name, for the error that other programs get.

    Raises:
        NotEmptyError: something is stored; nothing was changed.
    """

    def work(tx: Tx) -> None:
        (nodes,) = tx.run(int, "backup/begin", version=version, file=file)
        if nodes:
            raise NotEmptyError(f"The database at {db.uri} is not empty: it has {nodes:,} nodes.")

    db.atomically(work)


def end(db: Database) -> None:
    """End a restore: the database is whole, or empty again, and of the latest schema."""
    db.write(NoneType, "backup/drop_mark", version=migrations.latest())


def clear(db: Database) -> None:
    """Delete what a restore that was not finished wrote."""
    db.autocommit(int, "backup/delete_all")
    end(db)


def write(db: Database, nodes: Iterable[str], relationships: Iterable[str], tick: Tick) -> Counts:
    """Write the lines of a backup into a database between `begin` and `end`; returns their counts.

    Raises:
        GraphError: the database refuses them, or holds something else afterwards.
    """
    counts, numbers, prefix = Counts(), array("q"), ""
    for page in _pages(nodes):
        made = [json.loads(line) for line in page]
        sent = [
            {"place": counts.n_nodes + i, "labels": labels, "properties": decoded(properties)}
            for i, (labels, properties) in enumerate(made)
        ]
        numbers.extend(array("q", [0]) * len(sent))
        for row in db.write(rows.PlacedRow, "backup/write_nodes", rows=sent):
            prefix = row.node.rpartition(":")[0]
            numbers[row.place] = _number(row.node)
        for labels, _ in made:
            counts.add_node(labels)
        tick(counts.n_nodes)
    for page in _pages(relationships):
        sent = []
        for start, end_, type_, properties in map(json.loads, page):
            ends = (f"{prefix}:{numbers[place]}" for place in (start, end_))
            sent.append(dict(zip(("start", "end"), ends, strict=True))
                        | {"type": type_, "properties": decoded(properties)})  # fmt: skip
            counts.relationships[type_] += 1
        db.write(rows.WrittenRow, "backup/write_relationships", rows=sent)
        tick(counts.n_nodes + counts.n_relationships)
    stored = counts_of(db)
    if (stored.nodes, stored.relationships) != (counts.nodes, counts.relationships):
        raise GraphError(
            f"The database at {db.uri} has other numbers of nodes or relationships than were"
            " written.",
            remedy="Another program writes to it: end that, and restore again.",
        )
    return counts


def counts_of(db: Database) -> Counts:
    """Count the nodes by label and the relationships by type of a database."""
    counts = Counts(n_nodes=db.read(rows.SizeRow, "backup/size")[0].nodes)
    for row in db.read(rows.CountRow, "backup/counts"):
        (counts.nodes if row.kind == "label" else counts.relationships)[row.name] = row.n
    return counts


def _pages(lines: Iterable[str]) -> Iterator[list[str]]:
    """Split lines into lists of at most PAGE lines and, but for a longer one, PAGE_CHARACTERS."""
    iterator = iter(lines)
    while page := list(islice(iterator, 1)):
        size = len(page[0])
        while size < PAGE_CHARACTERS and len(page) < PAGE:
            line = next(iterator, None)
            if line is None:
                break
            page.append(line)
            size += len(line)
        yield page


def _number(node: str) -> int:
    """Return the number at the end of an element id: of the node within its database."""
    return int(node.rpartition(":")[2])


# Properties. A property of Neo4j is never a map, so a map marks a value that JSON does not have.


def encoded(properties: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Return properties as JSON has them.

    Args:
        owner: label or type, for the error.

    Raises:
        GraphError: a value has a type that a backup does not know.
    """
    return {name: _encoded(value, f"{owner}.{name}") for name, value in properties.items()}


def decoded(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties that `encoded` was given.

    Raises:
        ParameterError: a value was not made by `encoded`.
    """
    return {name: _decoded(value) for name, value in properties.items()}


def _encoded(value: Any, where: str) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list):
        return [_encoded(each, where) for each in value]
    for name, (kind, encode, _) in _KINDS.items():
        if isinstance(value, kind):
            return {name: encode(value)}
    raise GraphError(
        f"{where} has a value of type {type(value).__name__}, which a backup does not know.",
        remedy="Remove that property, which ThinkEval did not write; or back up by neo4j-admin.",
    )


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(each) for each in value]
    if not isinstance(value, dict):
        return value
    try:
        ((name, text),) = value.items()
        return float(text) if name == "float" else _KINDS[name][2](text)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ParameterError(f"{value!r} is no value of a backup.") from error


def _from_datetime(value: neo4j.time.DateTime) -> list[str]:
    zone = value.tzinfo
    name = getattr(zone, "zone", None) or getattr(zone, "key", None)
    if not name:
        return [value.iso_format()]
    return [value.astimezone(_zone("UTC")).iso_format(), name]


def _to_datetime(parts: list[str]) -> neo4j.time.DateTime:
    value = neo4j.time.DateTime.from_iso_format(parts[0])
    return value.astimezone(_zone(parts[1])) if len(parts) > 1 else value


def _zone(name: str) -> Any:
    import pytz

    return pytz.timezone(name)


def _from_point(point: neo4j.spatial.Point) -> list[Any]:
    return [point.srid, *(_encoded(each, "point") for each in point)]


def _to_point(parts: list[Any]) -> neo4j.spatial.Point:
    srid, *coordinates = parts
    world = srid in (4326, 4979)
    kind = neo4j.spatial.WGS84Point if world else neo4j.spatial.CartesianPoint
    return kind([_decoded(each) for each in coordinates])


_KINDS: dict[str, tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "bytes": (
        (bytes, bytearray),
        lambda value: base64.b64encode(value).decode(),
        lambda text: base64.b64decode(text, validate=True),
    ),
    "date": (neo4j.time.Date, lambda value: value.iso_format(), neo4j.time.Date.from_iso_format),
    "time": (neo4j.time.Time, lambda value: value.iso_format(), neo4j.time.Time.from_iso_format),
    "datetime": (neo4j.time.DateTime, _from_datetime, _to_datetime),
    "duration": (
        neo4j.time.Duration,
        lambda value: [value.months, value.days, value.seconds, value.nanoseconds],
        lambda parts: neo4j.time.Duration(
            months=parts[0], days=parts[1], seconds=parts[2], nanoseconds=parts[3]
        ),
    ),
    "point": (neo4j.spatial.Point, _from_point, _to_point),
}
"""Types of values that JSON does not have: their classes, and functions to JSON and back."""
