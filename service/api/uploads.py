"""Uploaded data sets: one file, several files, a folder, or a zip, put into a temporary folder.

Names that lead out of the folder, links, and archives that unpack to too much are refused.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from fastapi import UploadFile

from ...loaders import formats
from ...loaders.errors import UnknownFormatError
from ..errors import UsageError
from ..formatting import file_size, pluralize

FILES = 2000
"""Files of one upload at most."""

DEPTH = 8
"""Folders within each other at most."""

UNPACKED = 4
"""A zip may unpack to this many times the limit of an upload."""

_CHUNK = 1 << 20
_LEFT_OUT = ("__MACOSX", "Thumbs.db", "desktop.ini")


def received(
    files: Sequence[UploadFile], folder: Path, format: str | None, limit: int
) -> tuple[Path, list[str]]:
    """Write an upload below an empty folder, and find the path in it that a format reads.

    Args:
        format: a key of `loaders.formats`; None to detect it.
        limit: bytes of an upload at most.

    Returns:
        The file or folder to read, and the names of the files that were received.

    Raises:
        UsageError: an invalid name, a damaged or too large archive, no file.
        UnknownFormatError: no format reads it.
    """
    if not files or len(files) > FILES:
        raise UsageError(
            f"The upload has {pluralize(len(files), 'file')}.", remedy=f"Send 1 to {FILES} files."
        )
    root = folder / "upload"
    root.mkdir()
    for each in files:
        name = path_within(each.filename or "", folders=len(files) > 1)
        packed = len(files) == 1 and zipfile.is_zipfile(each.file)
        each.file.seek(0)
        if packed:
            _unpack(each.file, name, root, limit * UNPACKED)
        else:
            with _place(root, name).open("wb") as out:
                shutil.copyfileobj(each.file, out)
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    if not names:
        raise UsageError("The upload has no file.", remedy="Send a data set.")
    found = _readable(_inner(root), format)
    if root in (found, found.parent) and len(names) > 1:
        # Files without a folder of their own: a graph may be named after it.
        key = PurePosixPath(format or formats.detect(found)).name
        moved = root.rename(folder / key)
        found = moved if found == root else moved / found.name
    elif found.parent == root:
        found = formats.in_named_folder(found, format)
    return found, names


def path_within(sent: str, *, folders: bool = True) -> PurePosixPath:
    """The name of an uploaded file, with the folders it was in.

    Args:
        folders: True if they are kept; else the last part alone is taken.

    Raises:
        UsageError: it is not a valid name, or leads out of its folder.
    """
    path = PurePosixPath(sent.replace("\\", "/"))
    if not folders:
        path = PurePosixPath(path.name)
    parts = path.parts
    valid = parts and not path.is_absolute() and ".." not in parts and len(parts) <= DEPTH
    if not valid or any(
        part.startswith(".") or not part.isprintable() or len(part.encode()) > 200 for part in parts
    ):
        raise UsageError(
            f"The uploaded file has no valid name: {sent[:200]!r}.",
            remedy="Send it with a short name such as chains.json.",
        )
    return path


def _place(folder: Path, name: PurePosixPath) -> Path:
    target = folder.joinpath(*name.parts)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise _twice(name) from error
    if target.exists():
        raise _twice(name)
    return target


def _twice(name: PurePosixPath) -> UsageError:
    return UsageError(f"The upload has {str(name)!r} twice.", remedy="Send each file once.")


def _unpack(file: IO[bytes], name: PurePosixPath, folder: Path, limit: int) -> None:
    """Write the files of an archive; count their unpacked sizes rather than the declared ones."""
    left = limit
    root = folder / (name.stem or "upload")
    try:
        with zipfile.ZipFile(file) as archive:
            for info in _members(archive):
                target = _place(root, path_within(info.filename))
                with archive.open(info) as packed, target.open("wb") as out:
                    while chunk := packed.read(_CHUNK):
                        left -= len(chunk)
                        if left < 0:
                            raise UsageError(
                                f"{name.name!r} unpacks to more than {file_size(limit)}.",
                                remedy="Send fewer files.",
                                status=413,
                            )
                        out.write(chunk)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        raise UsageError(
            f"{name.name!r} cannot be unpacked: {error}.",
            remedy="Send a zip without a password, or the files themselves.",
        ) from error


def _members(archive: zipfile.ZipFile) -> Iterable[zipfile.ZipInfo]:
    """Files of the archive, without folders, links and files that operating systems add."""
    found = [
        info
        for info in archive.infolist()
        if not info.is_dir()
        and (info.external_attr >> 28) != 0xA  # a symbolic link
        and not any(
            part in _LEFT_OUT or part.startswith("._") or part == ".DS_Store"
            for part in PurePosixPath(info.filename).parts
        )
    ]
    if len(found) > FILES:
        raise UsageError(
            f"The archive has {pluralize(len(found), 'file')}.", remedy=f"Send at most {FILES}."
        )
    return found


def _inner(folder: Path) -> Path:
    """The innermost folder or file that holds all of the upload."""
    inside = list(folder.iterdir())
    while len(inside) == 1:
        folder = inside[0]
        inside = list(folder.iterdir()) if folder.is_dir() else []
    return folder


def _readable(path: Path, format: str | None) -> Path:
    """Return the path a format reads: the whole, or the one file that a format recognises."""
    if path.is_file() or format is not None:
        return path
    try:
        formats.detect(path)
    except UnknownFormatError as whole:
        found = [file for file in sorted(path.rglob("*")) if file.is_file() and _known(file)]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(str(file.relative_to(path)) for file in found[:5])
            raise UnknownFormatError(
                f"several files are data sets of their own: {names}",
                remedy="Send one of them, or the files of one data set together.",
            ) from whole
        raise
    return path


def _known(path: Path) -> bool:
    try:
        formats.detect(path)
    except (UnknownFormatError, OSError):
        return False
    return True
