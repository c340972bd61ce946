"""Files of an export: as one zip, or on disk."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from ..base.errors import UsageError


def zipped(files: Mapping[str, bytes]) -> bytes:
    """The files as a zip; equal files give equal bytes.

    They are stored uncompressed and without times, since compressed bytes depend on the version of
    the library.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            entry.create_system = 3  # Unix, wherever it is written
            archive.writestr(entry, files[name])
    return out.getvalue()


def write(files: Mapping[str, bytes], target: Path) -> None:
    """Write the files into a folder, or into one zip where the target's name ends so.

    Raises:
        UsageError: the target cannot be written, or is a folder with other files.
    """
    try:
        if target.suffix.lower() == ".zip":
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(zipped(files))
            return
        target.mkdir(parents=True, exist_ok=True)
        other = sorted(p.name for p in target.iterdir() if p.name not in files)
        if other:
            raise UsageError(
                f"{target} contains other files: {', '.join(other[:3])}.",
                remedy="Give a new folder, or one from an earlier export in this format.",
            )
        for name, body in files.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(body)
    except OSError as error:
        raise UsageError(
            f"{target} cannot be written: {error.strerror or error}.",
            remedy="Give a path in a folder that you may write to.",
        ) from error
