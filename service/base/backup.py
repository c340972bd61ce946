"""A backup: one zip file with all that a user stored, and its manifest.

    nodes.jsonl, relationships.jsonl    the database (`thinkeval.cypher.backup`)
    deltas/..., tuned/..., endpoints/...  files of the home
    manifest.json                       versions, counts, and the size and SHA-256 of each part

A backup is written to a temporary file and renamed at its end, so that it is whole or not there.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...cypher import backup as content
from ...cypher import rows
from ...cypher.embedded.artifacts import exclusive, make_folder
from ...cypher.errors import (
    ChangedError,
    DiskFullError,
    GraphError,
    NewerDatabaseError,
    OlderDatabaseError,
    ParameterError,
)
from ...cypher.migrations import FIRST, latest
from ...cypher.room import LEAST_BYTES, require_free, require_left
from ...editing.atomic_write import whole_file
from .. import __version__
from .errors import ConflictError, UsageError
from .settings import Settings

if TYPE_CHECKING:
    from ...cypher.run import Database

FOLDERS = ("deltas", "tuned", "endpoints")
"""Folders of the home whose files are a user's, and not made again by themselves."""
AUTOMATIC = "backups"
"""Folder of the home with the backups that are made before a database is migrated."""
NODES, RELATIONSHIPS, MANIFEST = "nodes.jsonl", "relationships.jsonl", "manifest.json"
FORMAT = 1
TRIES = 3
"""Attempts at a backup: it begins anew where something finished changed while it was read."""
_LOOK_EVERY = 5000
_BLOCK = 1 << 20
_LONGEST = 1 << 28
"""Bytes of a node, a relationship or the manifest: what unpacks to more was made to."""
_BYTES_EACH = 200
"""Estimate of what a node or relationship takes in a backup; in a database it takes some more."""
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError,
    ValueError, KeyError, TypeError, IndexError,
)  # fmt: skip
Progress = Callable[[int, int, str], None]
log = logging.getLogger("thinkeval.database")


class Part(BaseModel):
    """One file of a backup."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class Manifest(BaseModel):
    """The description of a backup, which it has as a part.

    Attributes:
        thinkeval: version of the program that made it.
        database_schema: number of the last migration of the database.
        nodes: their numbers by label; one node may have several.
        relationships: their numbers by type.
        left_out: numbers of what was not copied, by what it is.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int
    thinkeval: str
    database_schema: int = Field(ge=0)
    created_at: str
    n_nodes: int = Field(ge=0)
    n_relationships: int = Field(ge=0)
    nodes: dict[str, int]
    relationships: dict[str, int]
    left_out: dict[str, int]
    parts: list[Part]

    @property
    def files(self) -> list[Part]:
        """The parts that are files of the home."""
        return [each for each in self.parts if each.name not in (NODES, RELATIONSHIPS)]


# Writing.


def make(
    db: Database,
    settings: Settings,
    file: Path,
    progress: Progress,
    *,
    folders: Iterable[str] = FOLDERS,
) -> Manifest:
    """Write a backup; jobs may run meanwhile.

    Args:
        file: must not exist.
        folders: of the home, whose files are copied.

    Raises:
        ConflictError: the file exists.
        UsageError: it cannot be written.
        DiskFullError: there is no room for it; nothing is left of it.
        ChangedError: something finished was deleted or replaced while it was read, three times.
    """
    if file.exists():
        raise ConflictError(
            f"{file} exists.", remedy="Name another file; a backup never replaces one."
        )
    found = list(_stored_files(settings, folders))
    _require_room(file, db, sum(size for _, _, size in found))
    for last in range(TRIES - 1, -1, -1):
        try:
            with whole_file(file) as out:
                return _write(db, out, found, progress)
        except ChangedError:
            if not last:
                raise
        except OSError as error:
            raise _not_written(file, error) from error
    raise AssertionError("the last try returns or raises")


def _write(
    db: Database, out: Path, found: list[tuple[str, Path, int]], progress: Progress
) -> Manifest:
    version = db.version()
    (size,) = db.read(rows.SizeRow, "backup/size")
    total = size.nodes + size.relationships
    parts: list[Part] = []
    stage = "reading the database"
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with db.reading() as tx:
            reading = content.Reading(tx)

            def lines(each: Iterator[str]) -> Iterator[bytes]:
                for line in each:
                    n = reading.counts.n_nodes + reading.counts.n_relationships
                    if n % _LOOK_EVERY == 0:
                        progress(min(n, total), total, stage)
                        require_left(out.parent, "the backup")
                    yield line.encode() + b"\n"

            parts.append(_add(archive, NODES, lines(reading.nodes())))
            parts.append(_add(archive, RELATIONSHIPS, lines(reading.relationships())))
            for i, (name, path, _) in enumerate(found):
                progress(i, len(found), "copying files")
                if (part := _add_file(archive, name, path)) is not None:
                    parts.append(part)
            reading.require_unchanged()
        counts = reading.counts
        left = {"graphs being written": len(reading.unfinished)}
        manifest = Manifest(
            format=FORMAT,
            thinkeval=__version__,
            database_schema=version,
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            n_nodes=counts.n_nodes,
            n_relationships=counts.n_relationships,
            nodes=dict(sorted(counts.nodes.items())),
            relationships=dict(sorted(counts.relationships.items())),
            left_out={name: n for name, n in left.items() if n},
            parts=parts,
        )
        archive.writestr(zipfile.ZipInfo(MANIFEST), manifest.model_dump_json(indent=1))
    progress(1, 1, "the backup is written")
    return manifest


def _stored_files(settings: Settings, folders: Iterable[str]) -> Iterator[tuple[str, Path, int]]:
    """Name in the backup, path and bytes of each file; not those that are being written."""
    for folder in folders:
        for path in sorted((settings.home / folder).rglob("*")):
            if path.is_file() and not path.name.startswith("."):
                yield path.relative_to(settings.home).as_posix(), path, path.stat().st_size


def _add(archive: zipfile.ZipFile, name: str | zipfile.ZipInfo, data: Iterable[bytes]) -> Part:
    digest, size = hashlib.sha256(), 0
    with archive.open(name, "w", force_zip64=True) as part:
        for block in data:
            part.write(block)
            digest.update(block)
            size += len(block)
    named = name if isinstance(name, str) else name.filename
    return Part(name=named, bytes=size, sha256=digest.hexdigest())


def _add_file(archive: zipfile.ZipFile, name: str, path: Path) -> Part | None:
    """Copy a file, uncompressed as numbers do not shrink; None if it was deleted meanwhile."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    with file:
        return _add(archive, zipfile.ZipInfo(name), _blocks(file))


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block


def _existing(path: Path) -> Path:
    """Return the folder of a file that shall be written, or the nearest one that exists."""
    return next(each for each in path.absolute().parents if each.is_dir())


def _require_room(file: Path, db: Database, files: int) -> None:
    """Refuse a backup that does not fit on its disk; a database on the same disk needs some too."""
    (size,) = db.read(rows.SizeRow, "backup/size")
    needed = files + _BYTES_EACH * (size.nodes + size.relationships) + LEAST_BYTES
    require_free(_existing(file), needed, "The backup")


def _not_written(file: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{file} cannot be written: {error.strerror or error}.",
        remedy="Name a file in a folder that you may write to, on a disk with space for it.",
    )


@contextmanager
def before_migration(db: Database, settings: Settings, progress: Progress) -> Iterator[None]:
    """Back up a database of an older release, then let the block migrate it; one process does.

    Saved updates are not copied: a migration does not touch them.

    Raises:
        DiskFullError: there is no room for the backup; nothing was changed.
    """
    folder = settings.home / AUTOMATIC
    make_folder(folder, 0o700)
    with exclusive(folder / ".lock", "waiting for another process that migrates", progress):
        if (version := db.version()) < latest():
            name = f"schema-{version}-{time.strftime('%Y%m%d-%H%M%S')}.zip"
            try:
                make(db, settings, folder / name, progress, folders=())
            except DiskFullError as error:
                raise DiskFullError(
                    f"The database is of an older release, and is backed up before it is migrated."
                    f" {error.detail}",
                    remedy=f"Free some space on the disk of {folder}, and repeat the command.",
                ) from error
            log.warning("The database is of an older release. Backup before its migration: %s",
                        folder / name)  # fmt: skip
        yield


# Reading.


@dataclass
class Checked:
    """The content of a backup, read completely.

    Attributes:
        edits: {id of a scored edit: recorded digest of its saved update}; None where none is saved.
        updates: names of updates of experiments.
        jobs: numbers of jobs by status.
    """

    edits: dict[str, str | None] = field(default_factory=dict)
    updates: set[str] = field(default_factory=set)
    jobs: Counter[str] = field(default_factory=Counter)

    def note(self, labels: list[str], properties: dict[str, Any]) -> None:
        """Note which files a node records."""
        if "Edit" in labels and properties.get("status") == "succeeded":
            about = json.loads(properties.get("provenance") or "{}").get("delta") or {}
            saved = about.get("saved") is not False
            self.edits[str(properties.get("id"))] = about.get("digest") if saved else None
        if "Experiment" in labels:
            self.updates.update(properties.get("updates") or ())
        if "Job" in labels:
            self.jobs[str(properties.get("status"))] += 1


class Backup:
    """An open backup whose manifest was read."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, manifest: Manifest) -> None:
        self.path, self.manifest, self._archive = path, manifest, archive

    def lines(self, name: str) -> Iterator[str]:
        """The lines of a part."""
        with self._archive.open(name) as part:
            for line in _lines(part):
                yield line.decode()

    def check(self, progress: Progress) -> Checked:
        """Read every part, and compare sizes, digests, counts, and the ends of relationships.

        Raises:
            UsageError: the backup is damaged; says which part.
        """
        found, counts = Checked(), content.Counts()
        parts = self.manifest.parts
        total, done = sum(each.bytes for each in parts), 0
        for part in parts:
            digest, size = hashlib.sha256(), 0
            with self._reading(part.name), self._archive.open(part.name) as file:
                lines = part.name in (NODES, RELATIONSHIPS)
                for block in _lines(file) if lines else _blocks(file):
                    digest.update(block)
                    size += len(block)
                    if size > part.bytes:  # it may unpack to a thousand times what it takes here
                        raise ValueError("it is longer than the manifest says")
                    if part.name == NODES:
                        labels, properties = json.loads(block)
                        counts.add_node(labels)
                        found.note(labels, content.decoded(properties))
                    elif part.name == RELATIONSHIPS:
                        start, end, type_, properties = json.loads(block)
                        counts.relationships[type_] += 1
                        content.decoded(properties)
                        if not (0 <= start < counts.n_nodes and 0 <= end < counts.n_nodes):
                            raise ValueError(f"a relationship {type_} ends nowhere")
                    if size // _BLOCK != (size - len(block)) // _BLOCK:
                        progress((done + size) // 10**6, total // 10**6, f"checking {part.name}")
            if (size, digest.hexdigest()) != (part.bytes, part.sha256):
                raise damaged(self.path, f"{part.name} does not have the digest that it had")
            done += size
        told = self.manifest
        if (counts.nodes, counts.relationships, counts.n_nodes, counts.n_relationships) != (
            told.nodes, told.relationships, told.n_nodes, told.n_relationships,
        ):  # fmt: skip
            raise damaged(self.path, "it has other numbers of nodes or relationships than it says")
        return found

    def copy(self, part: Part, to: Path) -> None:
        """Copy a part to a file, atomically."""
        with (
            self._reading(part.name),
            self._archive.open(part.name) as file,
            whole_file(to) as out,
            out.open("wb") as written,
        ):
            shutil.copyfileobj(file, written, _BLOCK)

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno is not None:  # of a disk, not of the file's content
                raise
            raise damaged(self.path, f"{name}: {error}") from error
        except (*_DAMAGED, ParameterError) as error:
            raise damaged(self.path, f"{name}: {error}") from error


def _lines(part: IO[bytes]) -> Iterator[bytes]:
    """The lines of a part."""
    while line := part.readline(_LONGEST + 1):
        yield _bounded(line)


def _bounded(text: bytes) -> bytes:
    if len(text) > _LONGEST:
        raise ValueError(f"a line of it has more than {_LONGEST:,} bytes")
    return text


def damaged(path: Path, why: str) -> UsageError:
    """The error of a file that is no whole backup."""
    return UsageError(
        f"{path} is no whole backup of ThinkEval: {why}.",
        remedy="Use another backup, or another copy of this one; nothing was changed.",
    )


@contextmanager
def opened(path: Path) -> Iterator[Backup]:
    """Open a backup and read its manifest.

    Raises:
        UsageError: there is no such file, it is no backup or its manifest is damaged.
        OlderDatabaseError: a program made it that is too old.
        NewerDatabaseError: a newer program made it.
    """
    if not path.is_file():
        raise UsageError(
            f"There is no file {path}.", remedy="Name a file that `thinkeval db backup` wrote."
        )
    try:
        archive = zipfile.ZipFile(path)
    except _DAMAGED as error:
        raise damaged(path, str(error)) from error
    with archive:
        try:
            with archive.open(MANIFEST) as told:
                manifest = Manifest.model_validate_json(_bounded(told.read(_LONGEST + 1)))
            names = sorted(archive.namelist())
        except (*_DAMAGED, ValidationError) as error:
            raise damaged(path, f"{MANIFEST}: {type(error).__name__}") from error
        if manifest.database_schema < FIRST:
            raise OlderDatabaseError(
                f"{path} was written by ThinkEval {manifest.thinkeval} (schema"
                f" {manifest.database_schema}; this one reads {FIRST} and later)."
            )
        if manifest.format > FORMAT or manifest.database_schema > latest():
            raise NewerDatabaseError(
                f"{path} was written by ThinkEval {manifest.thinkeval} (schema"
                f" {manifest.database_schema}; this one knows {latest()}).",
                remedy="Update ThinkEval here, and restore it then.",
            )
        if names != sorted([MANIFEST, *(each.name for each in manifest.parts)]):
            raise damaged(path, "it has other parts than its manifest names")
        if [each.name for each in manifest.parts[:2]] != [NODES, RELATIONSHIPS]:
            raise damaged(path, "it has no database")
        for part in manifest.files:
            parts = PurePosixPath(part.name).parts
            if len(parts) < 2 or parts[0] not in FOLDERS or ".." in parts or "\\" in part.name:
                raise damaged(path, f"{part.name} is no file of a home")
        yield Backup(path, archive, manifest)


@dataclass(frozen=True, slots=True)
class Verified:
    """The comparisons of `verify`.

    Attributes:
        parts: whose size and SHA-256 were compared.
        deltas: saved updates, each read and compared with its own digests.
        compared: of these, compared with the digest that the score of their edit recorded.
        of_experiments: saved updates of experiments, which no score records.
        unscored: saved updates without a scored edit: it is deleted, or was not scored yet.
        gone: scored edits that record a saved update which the backup does not have.
        notes: of saved updates that are damaged or not those that were scored, since before the
            backup was made.
    """

    file: str
    thinkeval: str
    database_schema: int
    created_at: str
    parts: int
    nodes: int
    relationships: int
    deltas: int
    compared: int
    of_experiments: int
    unscored: int
    gone: int
    notes: tuple[str, ...]


def verify(file: Path, progress: Progress) -> Verified:
    """Check a backup alone: each part, the counts, and each saved update against its edit's score.

    Raises:
        UsageError: it is damaged.
        OlderDatabaseError, NewerDatabaseError: as `opened`.
    """
    from ...editing.deltas import files
    from ...editing.errors import DeltaError

    with opened(file) as backup, tempfile.TemporaryDirectory() as folder:
        found = backup.check(progress)
        updates = [part for part in backup.manifest.files if part.name.startswith("deltas/")]
        notes, compared, of_experiments, unscored, seen = [], 0, 0, 0, set()
        for i, part in enumerate(updates):
            progress(i, len(updates), "checking saved updates")
            edit = PurePosixPath(part.name).stem
            seen.add(edit)
            copy = Path(folder) / "update.safetensors"
            backup.copy(part, copy)
            try:
                digest = files.load(copy).digest
            except DeltaError as error:
                notes.append(f"{part.name}: {error.detail.replace(str(copy), part.name)}")
                continue
            recorded = found.edits.get(edit)
            if recorded:
                compared += 1
                if recorded != digest:
                    notes.append(f"{part.name} is another update than the one that was scored")
            elif edit in found.updates:
                of_experiments += 1
            elif edit not in found.edits:
                unscored += 1
        told = backup.manifest
    return Verified(
        file=str(file),
        thinkeval=told.thinkeval,
        database_schema=told.database_schema,
        created_at=told.created_at,
        parts=len(told.parts),
        nodes=told.n_nodes,
        relationships=told.n_relationships,
        deltas=len(updates),
        compared=compared,
        of_experiments=of_experiments,
        unscored=unscored,
        gone=sum(bool(digest) and edit not in seen for edit, digest in found.edits.items()),
        notes=tuple(notes),
    )


# Restoring.


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of a restore.

    Attributes:
        migrations: that the database of an older release had after it.
        running: jobs that were under way, whose leases ended.
    """

    file: str
    thinkeval: str
    nodes: int
    relationships: int
    files: int
    migrations: tuple[str, ...]
    running: int


def restore(db: Database, settings: Settings, backup: Backup, progress: Progress) -> Restored:
    """Write a backup that was checked into an empty database, and its files into the home.

    Whatever fails, nothing of it is left; after a kill other programs refuse the database until it
    is restored again.

    Raises:
        NotEmptyError: the database is not empty.
        ConflictError: the home has another file of the same name.
        DiskFullError: there is no room.
        GraphError: the database refuses it.
    """
    told = backup.manifest
    missing = _missing_files(settings, backup, progress)
    require_free(_existing(settings.home / "x"), sum(each.bytes for each in missing) + LEAST_BYTES,
                  "The restore")  # fmt: skip
    content.begin(db, told.database_schema, backup.path.name)
    written: list[Path] = []
    total = told.n_nodes + told.n_relationships
    try:
        for i, part in enumerate(missing):
            progress(i, len(missing), "restoring files")
            path = settings.home / part.name
            backup.copy(part, path)
            written.append(path)

        def tick(n: int) -> None:
            progress(n, total, "restoring the database")

        content.write(db, backup.lines(NODES), backup.lines(RELATIONSHIPS), tick)
        migrations = db.migrate()
        (running,) = db.write(int, "backup/expire_leases")
        content.end(db)
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        with suppress(GraphError):  # then the database stays marked, and is restored again
            content.clear(db)
        raise
    return Restored(
        file=str(backup.path),
        thinkeval=told.thinkeval,
        nodes=told.n_nodes,
        relationships=told.n_relationships,
        files=len(told.files),
        migrations=tuple(migrations),
        running=running,
    )


def _missing_files(settings: Settings, backup: Backup, progress: Progress) -> list[Part]:
    """Return the files that the home lacks; one that differs is never replaced."""
    missing, files = [], backup.manifest.files
    for i, part in enumerate(files):
        progress(i, len(files), "comparing files of the home")
        path = settings.home / part.name
        if not path.exists():
            missing.append(part)
        elif not path.is_file() or _sha256(path) != part.sha256:
            raise ConflictError(
                f"{path} is another file than that of the backup; nothing was changed.",
                remedy="Move it away, or restore into another home: THINKEVAL_HOME.",
            )
    return missing


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
