"""Records chained by digests: each has the digest of the one before, so that alterations show.

A record's digest covers its content, its number and the digest of the record before. An altered,
removed or inserted record is found by `first_broken`; records missing at the end are not, so the
last digest is noted elsewhere too. The log of a growth run is such a chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..loaders.records import digest

LENGTH = 64
"""Hex digits of a digest: the whole SHA-256."""

ALTERED = "its content does not match its digest"

What = Literal["digest", "missing", "added", "previous"]


@dataclass(frozen=True, slots=True)
class Linked:
    """A record of a chain as it is stored.

    Attributes:
        number: 1 for the first.
        previous: digest of the record before; "" for the first.
        digest: of `content`.
        content: what the digest covers, with `number` and `previous` among it.
    """

    number: int
    previous: str
    digest: str
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Broken:
    """The first record that is not as it was written.

    Attributes:
        number: which one it should be, 1 for the first.
        what: its digest differs, it is missing, it was added, or it does not continue the one
            before.
    """

    number: int
    what: What
    why: str


def digest_of(content: Mapping[str, Any]) -> str:
    """Digest of the content of a record."""
    return digest(content, LENGTH)


def first_broken(records: Iterable[Linked]) -> Broken | None:
    """The first record that was altered, removed or inserted; None where the chain is whole."""
    previous = ""
    for expected, record in enumerate(records, 1):
        if record.digest != digest_of(record.content):
            return Broken(expected, "digest", ALTERED)
        if record.number > expected:
            why = f"record {expected} is missing: the next one is {record.number}"
            return Broken(expected, "missing", why)
        if record.number < expected:
            why = f"a record {record.number} was added in the place of record {expected}"
            return Broken(expected, "added", why)
        if record.previous != previous:
            return Broken(expected, "previous", "it does not continue the record before it")
        previous = record.digest
    return None
