"""The version of a database, and the constraints and migrations that bring an older one to ours.

A database records its version (`:Schema`), which begins with `FIRST`. Each file of
`migrations/` here is a migration, named by the version it leads to; those that are missing are run
once, in order, in one transaction that holds a lock: of several programs that start at the same
moment one migrates, the others wait. A database of a version before `FIRST`, or of a newer program,
is refused before anything is written to it.

Constraints, indexes and names are declared in `schema/constraints`, whose digest is recorded too:
some fifty statements, each a transaction, are sent only where it differs or an index is missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, LiteralString, cast

from .catalog import Query, names, query
from .driver import neo4j
from .errors import NewerDatabaseError, OlderDatabaseError, UnfinishedRestoreError

FIRST = 3
"""Version of the oldest database that is opened: that of release 0.3."""
FOLDER = "migrations/"
CONSTRAINTS = "schema/constraints"
_INDEX = re.compile(r"CREATE (?:CONSTRAINT|(?:TEXT )?INDEX) (\w+) IF NOT EXISTS")
"""Names that a database must have."""


def numbered() -> list[tuple[int, Query]]:
    """All migrations by the versions they lead to, which follow `FIRST` without a gap."""
    found = [query(name) for name in names(FOLDER)]
    return [(int(one.name.removeprefix(FOLDER).partition("_")[0]), one) for one in found]


def latest() -> int:
    """The version of a database after all migrations that this program knows."""
    return max((number for number, _ in numbered()), default=FIRST)


def require_known(session: neo4j.Session, uri: str) -> int:
    """The version of a database; 0 for a new one.

    Raises:
        OlderDatabaseError: its version is before `FIRST`.
        NewerDatabaseError: a newer program has migrated it.
        UnfinishedRestoreError: it has a part of a backup.
    """
    found = session.execute_read(lambda tx: _one(tx, "schema/version"))
    if found["restoring"] is not None:
        raise UnfinishedRestoreError(
            f"The restore of {found['restoring']} into the database at {uri} was not finished."
        )
    return _checked(found, uri)


def is_restoring(session: neo4j.Session) -> bool:
    """Return True of a database with a part of a backup."""
    return session.execute_read(lambda tx: _one(tx, "schema/version"))["restoring"] is not None


def has_constraints(session: neo4j.Session) -> bool:
    """Return True if a database has every constraint, index and name that the program declares."""
    return session.execute_read(_has_constraints)


def record_constraints(session: neo4j.Session) -> None:
    """Record that a database, already of the latest version, has all of them."""
    digest = query(CONSTRAINTS).digest
    session.execute_write(lambda tx: _send(tx, query("schema/set_constraints").text, digest=digest))


def migrate(session: neo4j.Session, uri: str) -> list[str]:
    """Run the migrations that a database lacks; their names. Raises as `require_known`."""
    return session.execute_write(lambda tx: _migrate(tx, uri))


def _has_constraints(tx: neo4j.ManagedTransaction) -> bool:
    found = _one(tx, "schema/version")
    if found["constraints"] != query(CONSTRAINTS).digest:
        return False
    indexes = _one(tx, "schema/indexes")
    return set(_INDEX.findall(query(CONSTRAINTS).text)) <= set(indexes["names"])


def _migrate(tx: neo4j.ManagedTransaction, uri: str) -> list[str]:
    version = _checked(_one(tx, "schema/lock_version"), uri)
    missing = [one for number, one in numbered() if number > version > 0]
    for one in missing:
        for statement in one.statements:
            _send(tx, statement)
    if version < latest():
        _send(tx, query("schema/set_version").text, version=latest())
    return [one.name for one in missing]


def _one(tx: neo4j.ManagedTransaction, name: str) -> Mapping[str, Any]:
    return tx.run(cast(LiteralString, query(name).text)).single(strict=True)


def _send(tx: neo4j.ManagedTransaction, text: str, **params: int | str) -> None:
    tx.run(cast(LiteralString, text), params).consume()


def _checked(found: Mapping[str, Any], uri: str) -> int:
    version = int(found["version"] or 0)
    if version < FIRST and (version or found.get("stored")):
        raise OlderDatabaseError(
            f"The database at {uri} was written by an older version of ThinkEval (schema"
            f" {version}; this one reads {FIRST} and later)."
        )
    if version > latest():
        raise NewerDatabaseError(
            f"The database at {uri} was written by a newer version of ThinkEval (schema {version};"
            f" this one knows {latest()})."
        )
    return version
