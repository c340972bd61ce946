"""The Neo4j database of the settings: a server named in the environment, else the embedded one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .settings import Settings

if TYPE_CHECKING:
    from ..cypher.embedded import EmbeddedServer
    from ..cypher.run import Database

Progress = Callable[[int, int, str], None]
"""Progress callback: (done, total, stage)."""


def silent(done: int, total: int, stage: str) -> None:
    """Progress callback that reports nothing."""


def embedded_server(settings: Settings) -> EmbeddedServer:
    """The embedded server of the data directory in force."""
    # The driver imports pandas, and `--help` should not wait for that.
    from ..cypher.embedded import EmbeddedServer

    return EmbeddedServer(
        settings.home / "neo4j",
        cache=settings.cache / "neo4j",
        bolt_port=settings.bolt_port,
        http_port=settings.http_port,
        heap=settings.neo4j_heap,
    )


def connect(settings: Settings, progress: Progress = silent) -> Database:
    """The database: the server named in the environment, else the embedded one, started if need be.

    Raises:
        GraphError: with a remedy.
    """
    from ..cypher.run import Database

    if settings.neo4j_uri:
        secret = settings.neo4j_password
        uri, user = settings.neo4j_uri, settings.neo4j_user
        password = secret.get_secret_value() if secret else ""
    else:
        info = embedded_server(settings).ensure_running(progress)
        uri, user, password = info.bolt, info.user, info.password
    database = Database(
        uri,
        user,
        password,
        timeout_s=settings.query_timeout_s,
        database=settings.neo4j_database,
    )
    try:
        database.verify()
        database.setup_schema()
    except BaseException:
        database.close()
        raise
    return database
