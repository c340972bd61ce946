"""Find what was altered in an audit since it was written, without a database.

Every line of `entries.jsonl` must be the canonical text of an entry whose digest is right and which
continues the one before; the last one must be the seal, and the other files must have the digests
that it names. What this does not show: a folder that was written anew as a whole has a chain of its
own. So the seal's digest is to be kept elsewhere, or signed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ..digest_chain import ALTERED, digest_of, first_broken
from ..errors import NotFoundError, UsageError
from . import signature
from .schemas import (
    DATA,
    ENTRIES,
    FORMAT,
    KNOWN,
    SEALED,
    Altered,
    Entry,
    Verified,
    message,
)
from .signature import Checked


@dataclass(frozen=True, slots=True)
class _Bundle:
    """The entries that can be read, and the line after them that cannot."""

    folder: Path
    entries: list[Entry]
    unread: Altered | None

    @property
    def seal(self) -> Entry | None:
        """The last entry, if it is a seal."""
        last = self.entries[-1] if self.entries else None
        return last if last is not None and last.kind == "seal" else None


def verify(folder: Path, signer: Path | None = None) -> Verified:
    """Whether an audit is as it was written; else the first entry or file that is not.

    Args:
        signer: file of allowed signers or of a public key, by which the seal must be signed.

    Raises:
        NotFoundError: no such folder, or it has no entries.
        UsageError: the signer's file cannot be read, or its program is not installed.
    """
    bundle = _read(folder)
    altered = _chain(bundle) or _seal(bundle) or _files(bundle)
    checked = None
    if altered is None and bundle.seal is not None:
        checked, altered = _signature(bundle, bundle.seal, signer)
    header = next((each.data for each in bundle.entries if each.kind == "header"), {})
    return Verified(
        ok=altered is None,
        entries=len(bundle.entries),
        comparison=header.get("comparison"),
        created_at=header.get("created_at"),
        seal=bundle.seal.digest if bundle.seal else None,
        altered=altered,
        signature=checked,
    )


def _read(folder: Path) -> _Bundle:
    path = folder / ENTRIES
    if not path.is_file():
        known = [each.parent.name for each in folder.parent.glob(f"*/{ENTRIES}")]
        raise NotFoundError("audit", str(folder), known, listing=f"ls {folder.parent}")
    try:
        *lines, rest = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error
    if rest:
        lines.append(rest)
    entries: list[Entry] = []
    for number, line in enumerate(lines, 1):
        entry, kind, why = _entry(line, ended=bool(number < len(lines) or not rest))
        if entry is None:
            unread = Altered(n=number, kind=kind, file=ENTRIES, what="digest", why=why)
            return _Bundle(folder, entries, unread)
        entries.append(entry)
    return _Bundle(folder, entries, None)


def _entry(line: bytes, *, ended: bool) -> tuple[Entry | None, str | None, str]:
    """The entry of a line; else its kind, as far as it can be read, and what is wrong with it."""
    kind = None
    try:
        values = json.loads(line.decode())
        kind = values.get("kind") if isinstance(values, dict) else None
        kind = kind if isinstance(kind, str) else None
        entry = Entry.model_validate(values)
        same = entry.line.encode() == line
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return None, kind, f"its line is no entry: {where}: {first['msg']}"
    except (ValueError, RecursionError):
        return None, kind, "its line is no JSON"
    if not same or not ended:
        right = entry.digest == digest_of(entry.linked.content)
        why = "its line is not written as it was" if right else ALTERED
        return None, kind, why
    return entry, kind, ""


def _chain(bundle: _Bundle) -> Altered | None:
    """The first entry whose digest or place is wrong."""
    entries = bundle.entries
    broken = first_broken(each.linked for each in entries)
    if broken is None:
        return bundle.unread
    number, why = broken.number, broken.why
    if broken.what == "previous" and number > 1:
        # Its own digest is right, so the one before it has another digest than it had.
        number, why = number - 1, f"entry {number} continues another entry {number - 1}"
    kind = None if broken.what == "missing" else entries[number - 1].kind
    return Altered(n=number, kind=kind, file=ENTRIES, what=broken.what, why=why)


def _seal(bundle: _Bundle) -> Altered | None:
    """Whether the chain ends with the one seal, whose count is right."""
    entries = bundle.entries
    early = next((each for each in entries[:-1] if each.kind == "seal"), None)
    if early is not None:
        why = "an entry was added after the seal"
        return _altered(entries[early.n], "added", why)
    if bundle.seal is None:
        why = "the seal is missing: entries at the end were removed"
        return Altered(n=len(entries) + 1, file=ENTRIES, what="missing", why=why)
    data = bundle.seal.data
    last = entries[-2].digest if len(entries) > 1 else None
    if (data.get("entries"), data.get("last_digest")) != (len(entries) - 1, last):
        return _altered(bundle.seal, "digest", "it seals another number of entries")
    header = entries[0]
    if header.kind != "header" or header.data.get("format") != FORMAT:
        return _altered(header, "format", f"this program reads format {FORMAT}")
    return None


def _altered(entry: Entry, what: str, why: str, file: str = ENTRIES) -> Altered:
    return Altered.model_validate(
        {"n": entry.n, "kind": entry.kind, "file": file, "what": what, "why": why}
    )


def _files(bundle: _Bundle) -> Altered | None:
    """The first file that differs from its digest in the seal, is missing, or was added."""
    seal = bundle.seal
    assert seal is not None  # `_seal` has found one
    digests = seal.data.get("files", {})
    for name in SEALED:
        path = bundle.folder / name
        if not path.is_file():
            return _altered(seal, "missing", "the seal names it", name)
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != digests.get(name):
            found = _differing(content, bundle.entries) if name == DATA else None
            why = "its content does not match its digest in the seal"
            if found is None:
                return _altered(seal, "file", why, name)
            return _altered(found, "file", f"entry {found.n} is another one here", name)
    signed = seal.data.get("signature")
    if signed is not None and not (bundle.folder / signed).is_file():
        return _altered(seal, "missing", "the seal was signed", signed)
    known = {ENTRIES, *SEALED, *([signed] if signed else [])}
    added = sorted(path.name for path in bundle.folder.iterdir() if path.name not in known)
    if added:
        also = "no signature is named by the seal" if added[0] in KNOWN else "no entry names it"
        return Altered(file=added[0], what="added", why=also)
    return None


def _differing(content: bytes, entries: Iterable[Entry]) -> Entry | None:
    """The first entry whose data in `audit.json` are others; None where it is something else."""
    try:
        listed = json.loads(content)["entries"]
        pairs = zip(entries, listed, strict=False)
        return next((e for e, d in pairs if (e.kind, e.data) != (d["kind"], d["data"])), None)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _signature(
    bundle: _Bundle, seal: Entry, signer: Path | None
) -> tuple[Checked | None, Altered | None]:
    """What is known of the seal's signature, and whether it is one of this seal."""
    name = seal.data.get("signature")
    if name is None:
        if signer is None:
            return None, None
        return None, _altered(seal, "signature", "the seal is not signed")
    text = (bundle.folder / name).read_text(encoding="utf-8", errors="replace")
    checked = signature.check(message(seal), text, signer)
    if checked.valid is False:
        why = f"it is no signature of this seal: {checked.note or 'refused'}"
        return checked, _altered(seal, "signature", why, name)
    if signer is not None and not checked.trusted:
        return checked, _altered(seal, "signature", checked.note or "by another signer", name)
    return checked, None
