"""Measured keys, stored with the facts of an edit's graph, so that every interface uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...cypher import rows
from .keys import Keys

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...cypher.run import Database


def write(db: Database, edit: str, keys: Keys, facts: Iterable[str]) -> None:
    """Store the key of each fact; a fact that shares none has a key of its own."""
    names = {fact: min(group) for group in keys.groups for fact in group}
    found = [{"fact": fact, "group": names.get(fact, fact)} for fact in facts]
    db.write(rows.WrittenRow, "leakcut/write_keys", graph=edit, rows=found)


def read(db: Database, edit: str) -> Keys | None:
    """The keys of an edit's facts; None where none were measured."""
    found = db.read(rows.MeasuredKeyRow, "leakcut/keys", graph=edit)
    return Keys.of_groups(row.facts for row in found) if found else None
