"""Import by Neo4j's importer: equal to the online import, or the home is as it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import neo4j
import pytest
from pydantic import SecretStr

from support.commands import PROGRAM
from support.serving import until
from thinkeval.cypher import migrations
from thinkeval.cypher.backup import Reading, is_empty
from thinkeval.cypher.embedded import tables
from thinkeval.cypher.errors import EmbeddedServerError, NotEmptyError, ParameterError
from thinkeval.cypher.run import Database
from thinkeval.loaders.records import Entity, Fact, KnowledgeGraph, LoadedGraph
from thinkeval.service.base.database import connect, create_user, embedded_server, silent
from thinkeval.service.base.errors import UsageError
from thinkeval.service.base.settings import Settings
from thinkeval.service.graphs import datasets, offline

ODD = (
    Fact("Ann", "knows", 'Bob "B"', "{} knows", ("Whom does\nAnn know?", "a, b"), ("{} met",)),
    Fact('Bob "B"', "écrit à", "\\", "{} écrit à", cases=("x", 'y"')),
    Fact("\\", "knows", "Ann", " {} knows\r\n"),
)
"""Facts with all signs that CSV treats in its own way, with lists of several, one, and no texts."""
INDEXES = """SHOW INDEXES
YIELD name, type, entityType, labelsOrTypes, properties, owningConstraint, state
RETURN * ORDER BY name"""
USER, PASSWORD = "reader-of-mine", "a password of mine"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings of a home with a database without content, and with a user."""
    found = Settings(home=tmp_path_factory.mktemp("own, home"), neo4j_uri=None)
    with connect(found) as db:
        create_user(db, USER, PASSWORD)
    yield found
    embedded_server(found).stop(force=True)


@pytest.fixture
def loaded(data_dir: Path, graph_id: str) -> LoadedGraph:
    """KnowGIC with further facts, and an entity with names and a kind."""
    found = datasets.read(data_dir / "knowgic", name=graph_id)
    entities = (Entity("Ann", ("A.", '"An"\n'), "person"), Entity('Bob "B"'), Entity("\\"))
    graph = found.graph
    graph = replace(graph, entities=graph.entities + entities, facts=graph.facts + ODD)
    return replace(found, graph=graph)


def stored(db: Database, graph: str) -> list[str]:
    """All nodes and relationships of a graph, each with what it has; but for the time."""
    with db.reading() as tx:
        reading = Reading(tx)
        nodes: list[Any] = [json.loads(line) for line in reading.nodes()]
        lines = [json.loads(line) for line in reading.relationships()]
    for _, properties in nodes:
        properties.pop("created_at", None)
    keys = [properties.get("key") for _, properties in nodes]  # nodes of other tests may have none
    found = [(*each[2:], keys[each[0]], keys[each[1]]) for each in lines]
    texts = (json.dumps(each, sort_keys=True) for each in [*nodes, *found])
    return sorted(text for text in texts if graph in text)


def indexes(uri: str, user: str, password: str) -> list[dict[str, Any]]:
    with neo4j.GraphDatabase.driver(uri, auth=(user, password)) as driver:
        return [record.data() for record in driver.execute_query(INDEXES).records]


def test_what_the_importer_cannot_read_leaves_the_home_as_it_was(own: Settings) -> None:
    fact = Fact("a", "r", "b", "{} r", ("", "q"))
    graph = KnowledgeGraph("g", (Entity("a"), Entity("b")), (fact,))
    with pytest.raises(ParameterError, match="empty text"):
        offline.store(own, LoadedGraph(graph, datasets.read("hogwarts").report), silent)
    assert not (embedded_server(own).home.path / offline.FOLDER).exists()
    with connect(own) as db:
        assert is_empty(db)


def test_an_importer_that_fails_says_why(tmp_path: Path) -> None:
    server = embedded_server(Settings(home=tmp_path, neo4j_uri=None))
    nodes, relationships = tmp_path / "nodes.csv", tmp_path / "relationships.csv"
    tables.write(nodes, [":ID"], {":LABEL": "string"}, [[0, "Entity"]])
    tables.write(relationships, [":START_ID", ":END_ID"], {":TYPE": "string"}, [["no", 0, "FACT"]])
    with pytest.raises(EmbeddedServerError, match=r"(?s)importer failed.*csv file"):
        server.fill(nodes, relationships)


def test_what_is_stored_is_that_of_an_online_import(
    own: Settings, db: Database, server: dict[str, str], loaded: LoadedGraph
) -> None:
    name = loaded.graph.name
    online = datasets.store(db, loaded)
    assert offline.store(own, loaded, silent) == online
    info = embedded_server(own).ensure_running()
    with connect(own) as other:
        assert stored(other, name) == stored(db, name)
        assert datasets.stored_graph(other, name).content_digest == loaded.graph.content_digest
        assert other.version() == migrations.latest()
    named = (server[f"THINKEVAL_NEO4J_{each}"] for each in ("URI", "USER", "PASSWORD"))
    # With the password of a user that the home had before.
    assert indexes(info.bolt, USER, PASSWORD) == indexes(*named)
    assert not (info.home / offline.FOLDER).exists()
    with pytest.raises(NotEmptyError, match=f"1 :Graph.*graphs: {name}"):
        offline.store(own, loaded, silent)


def test_a_server_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    remote = Settings(
        home=tmp_path, neo4j_uri="bolt://db:7687", neo4j_password=SecretStr("password")
    )
    with pytest.raises(UsageError, match="bolt://db:7687"):
        offline.require_empty(remote, silent)


def test_ctrl_c_leaves_a_new_home_usable(tmp_path: Path) -> None:
    found = Settings(home=tmp_path, neo4j_uri=None)
    home = embedded_server(found).home
    env = {each: value for each, value in os.environ.items() if each != "THINKEVAL_NEO4J_URI"}
    start = partial(
        subprocess.Popen,
        [str(PROGRAM), "import", "hogwarts", "--offline", "--json"],
        env=env | {"THINKEVAL_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A background job of a shell ignores Ctrl-C, and so would the program.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    try:
        with start() as process:
            until((home.path / offline.FOLDER / "neo4j" / "data" / "databases").exists)
            process.send_signal(signal.SIGINT)
            told = process.communicate()
        assert process.returncode == 130, told
        assert not home.has_store
        assert not (home.path / offline.FOLDER).exists()
        with start() as process:
            told = json.loads(process.communicate()[0])
        assert (told["status"], process.returncode) == ("imported", 0)
        with connect(found) as db:
            assert datasets.graph_digest(db, "hogwarts") == (
                datasets.read("hogwarts").graph.content_digest
            )
    finally:
        embedded_server(found).stop(force=True)
