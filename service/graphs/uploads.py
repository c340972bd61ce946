"""The data set in the files of an upload: found, and read.

Nothing else of ThinkEval but the loaders is imported: a process of its own reads it.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from ...loaders import formats
from ...loaders.errors import UnknownFormatError
from ...loaders.records import LoadedGraph


def read(root: Path, format: str | None, options: dict[str, Any]) -> LoadedGraph:
    """Read the data set in a folder of files; it may be renamed.

    Args:
        format: a key of `loaders.formats`; None to detect it.
        options: of the format; `name` of the graph. None is not given.

    Raises:
        UnknownFormatError: no format reads it, or there are several data sets.
        LoaderError: it cannot be read in its format.
    """
    several = sum(path.is_file() for path in root.rglob("*")) > 1
    found = _readable(_inner(root), format)
    if root in (found, found.parent) and several:
        # Files without a folder of their own: a graph may be named after it.
        key = PurePosixPath(format or formats.detect(found)).name
        moved = root.rename(root.with_name(key))
        found = moved if found == root else moved / found.name
    elif found.parent == root:
        found = formats.in_named_folder(found, format)
    return formats.load(found, format=format, **options)


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
