"""Import of a large data set by Neo4j's importer, which writes a database while no server runs.

Neo4j Community has one database, and the importer makes a whole one. So the home must not have any
content. The new database is made in a folder of the home, with a server of its own: its schema is
created there, and what it stores is compared with the records. Only then it takes the place of the
home's, by a rename. Whatever fails before, the home is as it was.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...cypher import backup as contents
from ...cypher import rows
from ...cypher.catalog import query
from ...cypher.embedded import EmbeddedServer, tables
from ...cypher.embedded.artifacts import exclusive, make_folder
from ...cypher.errors import GraphError, NotEmptyError
from ...cypher.params import bind
from ...cypher.room import LEAST_BYTES, require_free, require_left
from ...cypher.run import Database
from ...cypher.sending import batches
from ...loaders.records import Entity, Fact, KnowledgeGraph, LoadedGraph, content_digest
from ..base.database import Progress, connect, embedded_server
from ..base.errors import UsageError
from ..base.settings import Settings
from .datasets import Outcome, fact_row, header, list_rewrites
from .write import BATCH, distinct, entity_row, write_rest

FOLDER = "offline"
"""Folder of the embedded server's home in which the new database is made."""
BYTES_EACH = 2_000
"""Estimate of what an entity or fact takes on the disk: as CSV, stored, and in indexes."""
LOGS_BYTES = 4 * 2**28
"""Transaction logs of two databases, made and copied."""
INDEX_S = 3600.0
"""Time limit of a query of the new server: it fills the indexes."""
ENTITY = dict.fromkeys(("key", "graph", "name", "kind"), "string") | {"aliases": "string[]"}
FACT = (
    dict.fromkeys(("id", "graph", "relation", "prompt", "question", "role", "caption"), "string")
    | dict.fromkeys(("questions", "paraphrases", "cases"), "string[]")
    | {"listed": "boolean"}
)
"""Types of the properties, as graph/merge_entities and graph/create_facts store them."""


def require_empty(settings: Settings, progress: Progress) -> None:
    """Refuse a database that cannot be replaced.

    Raises:
        UsageError: it is of a server that is not ours.
        NotEmptyError: it holds something; says what.
    """
    if settings.neo4j_uri:
        raise UsageError(
            f"--offline fills the embedded database, and THINKEVAL_NEO4J_URI names the server"
            f" {settings.neo4j_uri}.",
            remedy="Unset THINKEVAL_NEO4J_URI, or import without --offline.",
        )
    if embedded_server(settings).home.has_store:
        with connect(settings, progress) as db:
            _require_empty(db, settings)


def _require_empty(db: Database, settings: Settings) -> None:
    found = contents.counts_of(db)
    if not found.n_nodes:
        return
    graphs = [row.graph for row in db.read(rows.GraphRow, "graph/list_graphs")]
    named = f" (graphs: {', '.join(graphs[:5])}{', …' * (len(graphs) > 5)})" if graphs else ""
    held = ", ".join(f"{n:,} :{label}" for label, n in sorted(found.nodes.items()))
    raise NotEmptyError(
        f"The database of {settings.home} holds {held}{named}; an offline import makes a whole new"
        " database. Nothing was changed.",
        remedy="Name a new folder in THINKEVAL_HOME, or import without --offline.",
    )


def store(settings: Settings, loaded: LoadedGraph, progress: Progress) -> Outcome:
    """Store a data set in a home without content; the embedded server runs afterwards.

    Raises:
        NotEmptyError: something was stored meanwhile.
        DiskFullError: there is no room.
        ParameterError: the importer cannot read a value.
        GraphError: the importer fails, or the new database differs from the records.
    """
    graph = loaded.graph
    server = embedded_server(settings)
    make_folder(server.home.path, 0o700)
    folder = server.home.path / FOLDER
    lock = server.home.path / f"{FOLDER}.lock"
    with exclusive(lock, "waiting for another offline import", progress):
        require_empty(settings, progress)
        own = {"home": folder, "bolt_port": None, "http_port": None}
        made = embedded_server(settings.model_copy(update=own))
        try:
            _clear(folder, made)  # of an import that was killed
            needed = BYTES_EACH * (len(graph.facts) + len(graph.entities)) + LOGS_BYTES
            require_free(server.home.path, needed + LEAST_BYTES, "The offline import")
            _fill(made, folder, graph, progress)
            done = _complete(made, graph, progress)
            _take(server, made, settings, progress)
        finally:
            _clear(folder, made)
    server.ensure_running(progress)
    return Outcome(graph.name, "imported", done.n_facts, done.n_entities)


def _take(
    server: EmbeddedServer, made: EmbeddedServer, settings: Settings, progress: Progress
) -> None:
    if server.home.has_store:
        with connect(settings, progress) as db:
            server.take(made, lambda: _require_empty(db, settings), progress)
        return

    def require_new() -> None:
        if server.home.has_store:
            raise NotEmptyError(
                f"Another program made a database in {settings.home}; nothing was changed.",
                remedy="Repeat the command.",
            )

    server.take(made, require_new, progress)


def _clear(folder: Path, made: EmbeddedServer) -> None:
    made.stop(force=True)
    shutil.rmtree(folder, ignore_errors=True)


def _fill(made: EmbeddedServer, folder: Path, graph: KnowledgeGraph, progress: Progress) -> None:
    """Write the tables, and let the importer read them."""
    make_folder(folder, 0o700)
    nodes, relationships = folder / "entities.csv", folder / "facts.csv"
    numbers: dict[object, int] = {}
    tables.write(
        nodes, [":ID"], {":LABEL": "string"} | ENTITY, _entity_rows(graph, folder, numbers)
    )
    tables.write(
        relationships,
        [":START_ID", ":END_ID"],
        {":TYPE": "string"} | FACT,
        _fact_rows(graph, folder, numbers, progress),
    )
    progress(0, 0, "importing by Neo4j's importer")
    made.fill(nodes, relationships, progress)
    nodes.unlink()
    relationships.unlink()


def _entity_rows(
    graph: KnowledgeGraph, folder: Path, numbers: dict[object, int]
) -> Iterator[list[Any]]:
    given = {each.name: entity_row(each) for each in graph.entities}  # of one name the last
    for batch in batches(given.values(), BATCH):
        require_left(folder, "the offline import")
        sent = bind(query("graph/merge_entities"), {"graph": graph.name, "rows": batch})
        for row in sent["rows"]:
            number = numbers[row["name"]] = len(numbers)
            more = {"key": f"{graph.name}|{row['name']}", "graph": graph.name}
            yield [number, "Entity", *map((row | more).get, ENTITY)]


def _fact_rows(
    graph: KnowledgeGraph, folder: Path, numbers: dict[object, int], progress: Progress
) -> Iterator[list[Any]]:
    given = distinct(map(fact_row, graph.facts))
    for n, batch in enumerate(batches(given, BATCH)):
        require_left(folder, "the offline import")
        progress(n * BATCH, len(given), "writing tables")
        sent = bind(query("graph/create_facts"), {"graph": graph.name, "rows": batch})["rows"]
        known = [row for row in sent if row["subject"] in numbers and row["object"] in numbers]
        rows.WrittenRow(len(sent), len(known)).check("graph/create_facts")
        for row in known:
            more = {
                "id": f"{graph.name}|{row['id']}", "graph": graph.name, "role": "fact",
                "listed": True, "caption": row["relation"],
            }  # fmt: skip
            ends = numbers[row["subject"]], numbers[row["object"]]
            yield [*ends, "FACT", *map((row | more).get, FACT)]


def _complete(
    made: EmbeddedServer, graph: KnowledgeGraph, progress: Progress
) -> rows.CompleteGraphRow:
    """Write what the importer did not, and compare all with the records."""
    described = header(graph)
    info = made.ensure_running(progress)
    with Database(info.bolt, info.user, info.password, timeout_s=INDEX_S, disk=info.home) as db:
        progress(0, 0, "making the indexes")
        db.setup_schema()
        progress(0, 0, "completing the graph")
        db.autocommit(int, "graph/fill_lists")
        done = write_rest(db.write, described, graph.rewrites)
        progress(0, 0, "comparing the graph with the records")
        stored = content_digest(
            db.stream(Entity, "graph/entities", graph=graph.name),
            db.stream(Fact, "graph/records", graph=graph.name),
            list_rewrites(db, graph.name),
        )
    if stored != described.content_digest:
        raise GraphError(
            f"Neo4j's importer wrote {graph.name!r} with other content"
            " than was read; nothing is stored.",
            remedy="Import without --offline, and report this with the file.",
        )
    return done
