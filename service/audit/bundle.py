"""Write an audit: collect the entries, chain and seal them, write the folder whole.

    audit.html     for a reader, without a server
    audit.json     the entries' data, for programs
    entries.jsonl  the entries chained by digests; the last one seals the other two files
    seal.sig       optional: a signature of the seal's digest

The folder appears complete or not at all: it is written beside its place, and renamed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tempfile
import uuid
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConflictError, UsageError
from . import signature
from .page import render
from .schemas import (
    DATA,
    ENTRIES,
    FORMAT,
    KNOWN,
    PAGE,
    SEALED,
    SIGNATURES,
    Content,
    Entry,
    message,
)

if TYPE_CHECKING:
    from ...cypher.run import Database


def audit(
    db: Database, comparison: str, folder: Path, *, force: bool = False, key: Path | None = None
) -> list[Entry]:
    """Write the audit of a stored comparison into a folder; its entries, the seal last.

    Args:
        force: replace an audit that is there already.
        key: private key that signs the seal.

    Raises:
        NotFoundError, UsageError: no such comparison, one without requests, or no usable key.
        ConflictError: the folder has something else in it, or an audit and no `force`.
        SignatureError: the key's program refuses it.
    """
    from .collect import collect

    require_free(folder, force=force)
    kind = signature.format_of(key) if key is not None else None
    return write(chained(collect(db, comparison)), folder, key=key, signed=kind)


def as_zip(db: Database, comparison: str) -> bytes:
    """The audit of a stored comparison as one zip, unsigned; raises as `audit`.

    Its files are in a folder named after the comparison.
    """
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, comparison)
        audit(db, comparison, folder)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, f"{folder.name}/{path.name}")
    return packed.getvalue()


def chained(contents: Iterable[Content]) -> list[Entry]:
    """The entries of a chain, each with the digest of the one before."""
    out: list[Entry] = []
    for kind, data in contents:
        out.append(Entry.after(out[-1] if out else None, kind, _plain(data)))
    return out


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """The data as a reader of its JSON has it: lists for tuples, texts as keys."""
    return json.loads(json.dumps(data, ensure_ascii=False, allow_nan=False))


def write(
    entries: Sequence[Entry],
    folder: Path,
    *,
    key: Path | None = None,
    signed: signature.Format | None = None,
) -> list[Entry]:
    """Write the files of a chain whose last entry is not its seal yet; the chain with its seal."""
    with _whole_folder(folder) as place:
        files = {PAGE: render(entries), DATA: as_json(entries)}
        for name, text in files.items():
            (place / name).write_bytes(text.encode())
        seal = Entry.after(entries[-1], "seal", _seal(entries, files, signed))
        sealed = [*entries, seal]
        text = "".join(f"{entry.line}\n" for entry in sealed)
        (place / ENTRIES).write_bytes(text.encode())
        if key is not None and signed is not None:
            made = signature.sign(message(seal), key.expanduser())
            (place / SIGNATURES[signed]).write_text(made, encoding="utf-8")
    return sealed


def as_json(entries: Sequence[Entry]) -> str:
    """The entries' data with their numbers and kinds, and the digest of the last one."""
    listed = [{"n": each.n, "kind": each.kind, "data": each.data} for each in entries]
    content = {"format": FORMAT, "last_digest": entries[-1].digest, "entries": listed}
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _seal(
    entries: Sequence[Entry], files: dict[str, str], signed: signature.Format | None
) -> dict[str, Any]:
    """What the last entry has: how many there are, the other files' digests, the signature's."""
    digests = {name: hashlib.sha256(files[name].encode()).hexdigest() for name in SEALED}
    return {
        "entries": len(entries),
        "last_digest": entries[-1].digest,
        "files": digests,
        "signature": SIGNATURES[signed] if signed else None,
    }


def require_free(folder: Path, *, force: bool) -> None:
    """Refuse a folder that has files, unless they are an audit's and shall be replaced.

    Raises:
        ConflictError: it is refused; nothing was changed.
    """
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise ConflictError(f"{folder} is no folder.", remedy="Name another one with -o.")
    names = {path.name for path in folder.iterdir()}
    if not names:
        return
    if ENTRIES not in names or names - KNOWN:
        raise ConflictError(
            f"{folder} is not empty, and no audit: it has {sorted(names - KNOWN or names)[0]}.",
            remedy="Name a new folder with -o; --force replaces an audit only.",
        )
    if not force:
        raise ConflictError(
            f"{folder} has an audit already.", remedy="Name a new folder, or replace it: --force."
        )


@contextmanager
def _whole_folder(folder: Path) -> Iterator[Path]:
    """A folder beside the target that takes its place if the block ends without an exception.

    Raises:
        UsageError: it cannot be written there.
    """
    target = Path(os.path.realpath(folder))
    mark = uuid.uuid4().hex[:8]
    place, old = (target.with_name(f".{target.name}.{mark}{end}") for end in ("", ".old"))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir()
        yield place
        _synced(place)
        if target.exists():
            target.rename(old)
        try:
            place.rename(target)
        except OSError:
            if old.exists():
                old.rename(target)
            raise
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written: {error.strerror or error}.",
            remedy="Name a folder with -o where you may write.",
        ) from error
    finally:
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _synced(place: Path) -> None:
    """Have the files on the disk before the folder gets its name."""
    for path in place.iterdir():
        with path.open("rb+") as written:
            os.fsync(written.fileno())
