"""Write an audit: the content of a comparison as HTML and JSON, with the digest of each.

    audit.html    for a reader, without a server
    audit.json    the same content whole, for programs
    SHA256SUMS    digests of both; `sha256sum -c SHA256SUMS` in the folder checks them

The folder appears complete or not at all: it is written beside its place, and renamed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConflictError, UsageError
from .collect import collect
from .page import DATA, PAGE, SUMS, render

if TYPE_CHECKING:
    from ...cypher.run import Database

FILES = frozenset({PAGE, DATA, SUMS})
"""Names of all files that an audit has."""


def export(db: Database, comparison: str, folder: Path, *, force: bool = False) -> dict[str, Any]:
    """Write the audit of a stored comparison into a folder; return its content.

    Args:
        force: replace an audit that is there already.

    Raises:
        NotFoundError, UsageError: no such comparison, or one without requests.
        ConflictError: the folder has something else in it, or an audit and no `force`.
    """
    require_free(folder, force=force)
    content = collect(db, comparison)
    write(build_files(content), folder)
    return content


def as_zip(db: Database, comparison: str) -> tuple[str, bytes]:
    """Return the name of the folder and the audit of a stored comparison as one zip.

    Its files are in a folder named after the comparison. Raises as `export`.
    """
    content = collect(db, comparison)
    folder: str = content["header"]["comparison"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in build_files(content).items():
            archive.writestr(f"{folder}/{name}", body)
    return folder, packed.getvalue()


def build_files(content: dict[str, Any]) -> dict[str, bytes]:
    """Return the files of an audit by name.

    Raises:
        ValueError: a number of the content is not finite.
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    # The HTML is rendered from the parsed text, so that both files have the same content.
    files = {PAGE: render(json.loads(text)).encode(), DATA: text.encode()}
    sums = [f"{hashlib.sha256(body).hexdigest()}  {name}\n" for name, body in files.items()]
    return {**files, SUMS: "".join(sums).encode()}


def write(files: dict[str, bytes], folder: Path) -> None:
    """Write the files into a folder in place of all that it has.

    Raises:
        UsageError: it cannot be written there.
    """
    with _whole_folder(folder) as place:
        for name, body in files.items():
            (place / name).write_bytes(body)


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
    if PAGE not in names or names - FILES:
        raise ConflictError(
            f"{folder} is not empty, and no audit: it has {sorted(names - FILES or names)[0]}.",
            remedy="Name a new folder with -o; --force replaces an audit only.",
        )
    if not force:
        raise ConflictError(
            f"{folder} has an audit already.", remedy="Name a new folder, or replace it: --force."
        )


@contextmanager
def _whole_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder beside the target, which takes its place if the block raises nothing.

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
        _sync(place)
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


def _sync(place: Path) -> None:
    """Write the files through to the disk before the folder gets its name."""
    for path in place.iterdir():
        with path.open("rb+") as written:
            os.fsync(written.fileno())
