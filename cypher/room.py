"""Free space on the disk of an embedded database: a write that might fill it is refused before.

A disk that fills up during a write stops the database, and may leave a transaction log that a start
does not read. Neo4j reserves 256 MB for each file of that log.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from .catalog import Query
from .errors import DiskFullError

LEAST_BYTES = 300 * 10**6
_SMALL = ("jobs/",)
"""Folders of queries that may still write: a job that cannot continue must be able to end."""
_DELETING = ("delete", "drop")


@dataclass(frozen=True, slots=True)
class Room:
    """The disk that queries write to.

    Attributes:
        folder: a folder on it; None for a server whose disk is not seen from here.
    """

    folder: Path | None = None

    def require(self, found: Query) -> None:
        """Refuse a query that writes while less than `LEAST_BYTES` are free; reading always works.

        Raises:
            DiskFullError: says how much is free, and where.
        """
        small = found.name.startswith(_SMALL) or any(each in found.name for each in _DELETING)
        if self.folder is None or found.mode == "read" or small:
            return
        try:
            free = shutil.disk_usage(self.folder).free
        except OSError:  # the server says itself what is wrong with its folder
            return
        if free < LEAST_BYTES:
            raise DiskFullError(
                f"The disk of {self.folder} has {free // 10**6} MB free; the database needs"
                f" {LEAST_BYTES // 10**6} MB to write. Nothing was written."
            )


def require_free(folder: Path, needed: int, purpose: str) -> None:
    """Refuse what would fill a disk, before anything is written.

    Args:
        purpose: the subject of the error's sentence, such as `The backup`.

    Raises:
        DiskFullError: the disk of the folder has fewer bytes free than are needed.
    """
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DiskFullError(
            f"{purpose} needs {needed // 10**6} MB on the disk of {folder}, and"
            f" {free // 10**6} MB are free. Nothing was written.",
            remedy="Free some space there, or name a place on another disk.",
        )


def require_left(folder: Path, purpose: str) -> None:
    """Stop before the disk is full: a database on it would stop.

    Args:
        purpose: what is stopped, such as `the backup`.

    Raises:
        DiskFullError: the disk of the folder has fewer than `LEAST_BYTES` free.
    """
    free = shutil.disk_usage(folder).free
    if free < LEAST_BYTES:
        raise DiskFullError(
            f"The disk of {folder} has {free // 10**6} MB left; {purpose} was stopped.",
            remedy="Free some space there, or name a place on another disk.",
        )
