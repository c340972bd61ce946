"""The Neo4j database of the settings: a named server or the embedded one, and its users."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import NoneType
from typing import TYPE_CHECKING, Any

from ...cypher.errors import GraphError
from .errors import ConflictError, UsageError
from .settings import Settings

if TYPE_CHECKING:
    from ...cypher.embedded import EmbeddedServer
    from ...cypher.run import Database


Progress = Callable[[int, int, str], None]
"""Progress callback: (done, total, stage)."""


def silent(done: int, total: int, stage: str) -> None:
    """Progress callback that reports nothing."""


def embedded_server(settings: Settings) -> EmbeddedServer:
    """The embedded server of the data directory in force."""
    # The driver imports pandas, and `--help` should not wait for that.
    from ...cypher.embedded import EmbeddedServer

    return EmbeddedServer(
        settings.home / "neo4j",
        cache=settings.cache / "neo4j",
        bolt_port=settings.bolt_port,
        http_port=settings.http_port,
        heap=settings.neo4j_heap,
        release=settings.neo4j_release,
    )


def connect(
    settings: Settings, progress: Progress = silent, *, restoring: bool = False
) -> Database:
    """The database: the server named in the environment, else the embedded one, started if need be.

    A database of an older release is backed up, and migrated.

    Args:
        restoring: what a restore that was not finished wrote is deleted first.

    Raises:
        GraphError: with a remedy.
    """
    from ...cypher.run import Database

    disk = None
    if settings.neo4j_uri:
        secret = settings.neo4j_password
        uri, user = settings.neo4j_uri, settings.neo4j_user
        password = secret.get_secret_value() if secret else ""
    else:
        info = embedded_server(settings).ensure_running(progress)
        uri, user, password, disk = info.bolt, info.user, info.password, info.home
    database = Database(
        uri,
        user,
        password,
        timeout_s=settings.query_timeout_s,
        database=settings.neo4j_database,
        disk=disk,
    )

    def migrating() -> AbstractContextManager[None]:
        from .backup import before_migration

        return before_migration(database, settings, progress)

    try:
        database.verify()
        if restoring and database.is_restoring():
            from ...cypher.backup import clear

            clear(database)
        database.setup_schema(migrating)
    except BaseException:
        database.close()
        raise
    return database


# Neo4j users for the Browser, read-only where the server's edition has roles.

SHORTEST_PASSWORD = 8
COMMUNITY = (
    "Neo4j Community has no roles: this user can read and WRITE everything. It keeps the"
    " administrator's password apart, and no more; read-only users need Enterprise edition."
)


def create_user(db: Database, name: str, password: str) -> dict[str, Any]:
    """Create a user, and make it a reader where the server can.

    Returns:
        `user`, `edition`, `read_only`, and `note`: rights of the user, or why more than read.

    Raises:
        UsageError: the server would not take the name or password.
        ConflictError: there is such a user; it is left as it is.
    """
    if not re.fullmatch(r"[!-~]+", name) or re.search(r"[,:]", name):
        raise UsageError(
            f"{name!r} cannot be a user's name.",
            remedy="Use ASCII letters and signs other than comma, colon and blanks.",
        )
    if len(password) < SHORTEST_PASSWORD:
        raise UsageError(
            f"The password has {len(password)} characters.",
            remedy=f"Give at least {SHORTEST_PASSWORD}.",
        )
    try:
        db.write(NoneType, "schema/create_user", name=name, password=password)
    except GraphError as error:
        if "already exists" in error.detail:
            raise ConflictError(
                f"There is a user {name!r} already; nothing was changed.",
                remedy="Take another name, or drop that user in Neo4j Browser: DROP USER.",
            ) from error
        raise
    edition = db.verify().edition
    try:
        db.write(NoneType, "schema/grant_reader", name=name)
    except GraphError as error:
        refused = f"The server did not make this user a reader: {error.detail}"
        note = COMMUNITY if edition == "community" else refused
        return {"user": name, "edition": edition, "read_only": False, "note": note}
    note = "This user has the built-in role `reader`: it reads everything and writes nothing."
    return {"user": name, "edition": edition, "read_only": True, "note": note}
