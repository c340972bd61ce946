"""Entries of an audit and the outcome of its verification; names of the bundle's files."""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict

from ...loaders.records import canonical
from ..digest_chain import Linked, digest_of
from .signature import Checked, Format

FORMAT = 1
"""Of the bundle; a reader of another format refuses it."""

PAGE, DATA, ENTRIES = "audit.html", "audit.json", "entries.jsonl"
SEALED = (PAGE, DATA)
"""Files whose digests are in the seal."""
SIGNATURES: dict[Format, str] = {"ssh": "seal.sig", "minisign": "seal.minisig"}
"""File of a signature by its format."""
KNOWN = frozenset({PAGE, DATA, ENTRIES, *SIGNATURES.values()})
"""Names of all files that an audit may have."""

Kind = Literal[
    "header", "state", "request", "fact", "chain", "rules", "rule_route", "metrics", "drift",
    "verdict", "query", "versions", "seal",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)

Content = tuple[Kind, dict[str, Any]]
"""An entry before it is chained: its kind and its data."""


class Entry(BaseModel):
    """One entry of the chain.

    Attributes:
        n: 1 for the first.
        previous: digest of the entry before; "" for the first.
        digest: SHA-256 (64 hex digits) of the canonical JSON of n, kind, data and previous.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    n: int
    kind: Kind
    data: dict[str, Any]
    previous: str
    digest: str

    @classmethod
    def after(cls, last: Entry | None, kind: Kind, data: dict[str, Any]) -> Entry:
        """The entry that continues a chain."""
        n, previous = (last.n + 1, last.digest) if last else (1, "")
        content = {"n": n, "kind": kind, "data": data, "previous": previous}
        return cls(n=n, kind=kind, data=data, previous=previous, digest=digest_of(content))

    @property
    def line(self) -> str:
        """The entry as its line of `entries.jsonl`."""
        return canonical(self.model_dump())

    @property
    def linked(self) -> Linked:
        """The entry as a record of a chain."""
        content = self.model_dump(exclude={"digest"})
        return Linked(self.n, self.previous, self.digest, content)


def message(seal: Entry) -> str:
    """What a signature signs: the seal's digest in a line."""
    return f"{seal.digest}\n"


What = Literal["digest", "previous", "missing", "added", "file", "format", "signature"]


class Altered(BaseModel):
    """The first entry or file that is not as it was written.

    Attributes:
        n: number of the entry.
        kind: its kind, as far as it can be read; None where it is missing.
        file: in the bundle's folder.
        what: its digest differs; it does not continue the entry before; it is missing; it was
            added; a file differs from its digest in the seal; it is of another format; the
            signature is not one of this seal.
    """

    n: int | None = None
    kind: str | None = None
    file: str
    what: What
    why: str


class Verified(BaseModel):
    """Whether a bundle is as it was written.

    Attributes:
        entries: how many there are, the seal among them.
        seal: digest of the seal.
        altered: the first difference; None where there is none.
        signature: what was checked of it; None where the seal was not signed.
    """

    ok: bool
    entries: int
    comparison: str | None = None
    created_at: str | None = None
    seal: str | None = None
    altered: Altered | None = None
    signature: Checked | None = None
