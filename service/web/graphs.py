"""Graph routes: stored graphs (/v1/graphs), import and upload of data sets, /v1/rewrites."""

from __future__ import annotations

import lzma
import os
import re
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import IO, Annotated, Any

from fastapi import APIRouter, File, Form, Query, Response, UploadFile
from fastapi import Path as PathParam
from pydantic import BaseModel, ConfigDict, Field

from ...cypher.run import Database
from ...loaders import formats
from ...loaders import graphs as shipped
from ...loaders.errors import LoaderError
from ...loaders.reading.unrecognised import SPREADSHEETS
from ...loaders.records import LoadedGraph, RewriteRequest
from ...loaders.table_roles import ROLES
from ..base.errors import NotFoundError, UsageError
from ..base.formatting import file_size, pluralize
from ..base.paging import offset_page, read_offset
from ..base.settings import Settings
from ..graphs import datasets, delete, uploads
from ..graphs.datasets import GRAPH_NAME, StoredGraph
from ..models.edit import Name
from ..scoring import deltas
from .parameters import Cursor, Limit
from .problems import DESCRIBED
from .state import AppState, Db, InForce

# Uploaded data sets: one file, several files, a folder, or a zip, put into a temporary folder.
#
# Names that lead out of the folder, links, and archives that unpack to too much are refused.

FILES = 2000
"""Files of one upload at most."""

DEPTH = 8
"""Folders within each other at most."""

UNPACKED = 4
"""A zip may unpack to this many times the limit of an upload."""

_CHUNK = 1 << 20
_LEFT_OUT = ("__MACOSX", "Thumbs.db", "desktop.ini")


def received(files: Sequence[UploadFile], root: Path, limit: int) -> list[str]:
    """Write an upload into a folder, which is made.

    Args:
        limit: bytes of an upload at most.

    Returns:
        The names of the files that were received.

    Raises:
        UsageError: an invalid name, a damaged or too large archive, no file.
    """
    if not files or len(files) > FILES:
        raise UsageError(
            f"The upload has {pluralize(len(files), 'file')}.", remedy=f"Send 1 to {FILES} files."
        )
    root.mkdir()
    for each in files:
        name = path_within(each.filename or "", folders=len(files) > 1)
        sheet = name.suffix.lower() in SPREADSHEETS  # an archive too, which no format reads
        packed = len(files) == 1 and not sheet and _is_zip(each.file)
        each.file.seek(0)
        if packed:
            _unpack(each.file, name, root, limit * UNPACKED)
        else:
            with _place(root, name).open("wb") as out:
                shutil.copyfileobj(each.file, out)
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    if not names:
        raise UsageError("The upload has no file.", remedy="Send a data set.")
    return names


def _is_zip(file: IO[bytes]) -> bool:
    """Return True if a file is a zip, damaged or not."""
    try:
        return zipfile.is_zipfile(file)
    except (ValueError, struct.error):
        return True


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
                with _open(archive, info) as packed, target.open("wb") as out:
                    while chunk := _read(packed):
                        left -= len(chunk)
                        if left < 0:
                            raise UsageError(
                                f"{name.name!r} unpacks to more than {file_size(limit)}.",
                                remedy="Send fewer files.",
                                status=413,
                            )
                        out.write(chunk)
    except (zipfile.BadZipFile, *_DAMAGED) as error:
        raise UsageError(
            f"{name.name!r} cannot be unpacked: {error}.",
            remedy="Send a zip without a password, or the files themselves.",
        ) from error


_DAMAGED = (
    RuntimeError, NotImplementedError, EOFError, ValueError, OverflowError, struct.error,
    zlib.error, lzma.LZMAError,
)  # fmt: skip
"""Errors of reading a zip, besides its own, of which offsets, lengths or packed bytes are wrong."""


def _open(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    """Open a file of an archive; an OSError of reading is not one of the disk."""
    try:
        return archive.open(info)
    except OSError as error:
        raise zipfile.BadZipFile(str(error)) from error


def _read(packed: IO[bytes]) -> bytes:
    """Read the next bytes of a file of an archive; bz2 has an OSError for damaged data."""
    try:
        return packed.read(_CHUNK)
    except OSError as error:
        raise zipfile.BadZipFile(str(error)) from error


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


# A data set is uploaded, or imported by its path from the one folder that the operator allows.

router = APIRouter(prefix="/v1", tags=["graphs"], responses=DESCRIBED)

GraphId = Annotated[str, PathParam(min_length=1, max_length=200, description="Id of the graph.")]


class Graphs(BaseModel):
    """The stored graphs."""

    items: list[StoredGraph] = Field(description="The items of this page, in order.")
    next: str | None = Field(default=None, description="`cursor` of the next page, or null.")
    total: int = Field(description="Number of graphs on all pages.")


@router.get("/graphs", response_model=Graphs, summary="List graphs")
def list_graphs(
    db: Db,
    kind: Annotated[
        str | None,
        Query(max_length=20, description="Only graphs of this kind: dataset, model or edit."),
    ] = None,
    limit: Limit = 1000,
    cursor: Cursor = None,
) -> Graphs:
    """Data sets, model graphs and edit graphs; `kind` is dataset, model or edit."""
    found = [g for g in datasets.list_graphs(db) if kind in (None, g.kind)]
    shown, following = offset_page(found, read_offset(cursor), limit)
    return Graphs(items=shown, next=following, total=len(found))


@router.get("/graphs/{graph}", response_model=StoredGraph, summary="Get a graph")
def get_graph(graph: GraphId, db: Db) -> StoredGraph:
    """One stored graph."""
    found = {g.id: g for g in datasets.list_graphs(db)}
    if graph not in found:
        raise NotFoundError("graph", graph, found, listing="thinkeval results graphs")
    return found[graph]


@router.delete("/graphs/{graph}", status_code=204, summary="Delete a graph")
def delete_graph(
    graph: GraphId,
    db: Db,
    here: AppState,
    with_dependents: Annotated[
        bool, Query(description="Delete a data set together with everything derived from it.")
    ] = False,
) -> Response:
    """Delete a graph with its facts.

    A data set from which edits, model graphs, sweeps, rules or knowledge sets were derived is not
    deleted (409, and lists them) unless `with_dependents` is set. An edit graph is deleted with its
    edit only.
    """
    for edit in delete.delete_graph(db, graph, with_dependents=with_dependents):
        deltas.remove(here.settings, edit)
    here.statuses.clear()
    return Response(status_code=204)


NewName = Annotated[str, Field(min_length=1, max_length=100, pattern=GRAPH_NAME)]
Format = Annotated[str, Field(max_length=40)]


class ImportIn(BaseModel):
    """The data set to import: one that ships with ThinkEval, or a file in the allowed folder."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"source": "hogwarts"}]}
    )

    source: str = Field(
        min_length=1,
        max_length=400,
        description="`hogwarts`, or a path below the folder THINKEVAL_IMPORT_DIR.",
    )
    name: NewName | None = Field(
        default=None, description="Id of the new graph; null: named after the source."
    )
    format: Format | None = Field(
        default=None, description="Format of the data set; null: recognised by its content."
    )
    target_new: Annotated[str, Field(max_length=400)] | None = Field(
        default=None, description="New object of requests without one; null: chosen by the loader."
    )
    limit: int | None = Field(
        default=None, ge=1, description="Read at most this many records; null: all."
    )
    map: list[Annotated[str, Field(max_length=400)]] | None = Field(
        default=None,
        max_length=100,
        description="`COLUMN=ROLE` for each column of a table whose name does not say its role;"
        f" the roles are {', '.join(ROLES)}.",
    )
    replace: bool = Field(
        default=False,
        description="Replace a stored graph of the same name.",
    )
    strict: bool = Field(
        default=False, description="Store nothing if the label audit has a finding (422)."
    )


class Note(BaseModel):
    """One item that an import merged, repaired or refused."""

    kind: str = Field(description="Action on the item.")
    where: str = Field(description="Place in the source.")
    reason: str = Field(description="Why.")
    code: str = Field(
        description="Code of a finding of the label audit, such as `near-duplicate`; else empty."
    )


class ImportCounts(BaseModel):
    """The content of an import by number, with notes."""

    n_facts: int = Field(description="Number of facts.")
    n_entities: int = Field(description="Number of entities.")
    read: dict[str, int] = Field(description="Number of items that were read, by kind.")
    kept: dict[str, int] = Field(description="Number of items that are stored, by kind.")
    counts: dict[str, int] = Field(description="Notes by kind: merged, repaired, refused, ...")
    notes: list[Note] = Field(description="The first 200 notes.")
    audit: dict[str, int] = Field(description="Findings of the label audit by code.")
    layouts: list[str] = Field(
        description="Of each table, separator and encoding, and which column became what."
    )


class Imported(ImportCounts):
    """The result of an import; `status` is `imported`, `replaced` or `unchanged`."""

    graph: str = Field(description="Id of the graph.")
    status: str = Field(description="imported, replaced or unchanged.")
    n_outdated: int = Field(
        default=0,
        description="Edits of the content that was replaced; tables of methods leave them out.",
    )


UNCHANGED: dict[int | str, dict[str, Any]] = {
    200: {"description": "The same data set is stored already.", "model": Imported}
}


_TEXTS = {name: field.description for name, field in ImportIn.model_fields.items()}
FormName = Annotated[NewName | None, Form(description=_TEXTS["name"])]
FormFormat = Annotated[Format | None, Form(description=_TEXTS["format"])]
FormTarget = Annotated[str | None, Form(max_length=400, description=_TEXTS["target_new"])]
FormLimit = Annotated[int | None, Form(ge=1, description=_TEXTS["limit"])]
FormMap = Annotated[list[str] | None, Form(max_length=100, description=_TEXTS["map"])]
FormReplace = Annotated[bool, Form(description=_TEXTS["replace"])]
FormStrict = Annotated[bool, Form(description=_TEXTS["strict"])]

Files = Annotated[
    list[UploadFile],
    File(
        description="A data set in a format of `thinkeval import`: its file, its files (each with"
        " its path as file name), or one zip of them."
    ),
]


@router.post(
    "/graphs",
    status_code=201,
    response_model=Imported,
    responses=UNCHANGED,
    summary="Import an uploaded data set",
)
def upload_graph(
    db: Db,
    settings: InForce,
    response: Response,
    file: Files,
    name: FormName = None,
    format: FormFormat = None,
    target_new: FormTarget = None,
    limit: FormLimit = None,
    map: FormMap = None,
    replace: FormReplace = False,
    strict: FormStrict = False,
) -> Imported:
    """In any format that `thinkeval import` reads. The same file again changes nothing (200).

    A stored graph of this name with different content is not overwritten (409) unless `replace` is
    set.
    """
    options = {"name": name, "target_new": target_new, "limit": limit, "map": map}
    with _uploaded(settings, file, format, options) as (loaded, _):
        return _stored(db, response, loaded, replace=replace, strict=strict)


class PreviewFact(BaseModel):
    """One fact as it would be stored."""

    subject: str = Field(description="Subject of the fact.")
    relation: str = Field(description="Relation of the fact.")
    object: str = Field(description="Object of the fact.")
    prompt: str = Field(description="The fact's cloze, with `{}` for the subject.")


class Preview(ImportCounts):
    """The result of a dry run of an import; nothing is stored."""

    name: str = Field(description="Name of the graph, from the files unless one was given.")
    format: str = Field(description="The format that reads the files.")
    stored: str | None = Field(
        description="`same` or `other` where a graph of this name is stored, else null."
    )
    files: list[str] = Field(description="Files of the upload.")
    n_rewrites: int = Field(description="Rewrite requests of the graph.")
    facts: list[PreviewFact] = Field(description="The first ten facts.")
    rewrites: list[str] = Field(description="The first ten rewrite requests, in words.")


@router.post("/graphs/preview", response_model=Preview, summary="Preview an import")
def preview_graph(
    db: Db,
    settings: InForce,
    file: Files,
    name: FormName = None,
    format: FormFormat = None,
    target_new: FormTarget = None,
    limit: FormLimit = None,
    map: FormMap = None,
) -> Preview:
    """Return counts of merged, repaired, flagged and refused items; nothing is stored."""
    options = {"name": name, "target_new": target_new, "limit": limit, "map": map}
    with _uploaded(settings, file, format, options) as (loaded, names):
        graph, report = loaded.graph, loaded.report
        return Preview(
            name=graph.name,
            format=report.format,
            stored=datasets.compared(db, loaded),
            files=names,
            n_facts=len(graph.facts),
            n_entities=len(graph.entities),
            n_rewrites=len(graph.rewrites),
            facts=[
                PreviewFact(
                    subject=fact.subject, relation=fact.relation, object=fact.object,
                    prompt=fact.prompt,
                )
                for fact in graph.facts[:10]
            ],
            rewrites=[
                f"{each.prompt.replace('{}', each.subject)}: {each.target_true} →"
                f" {each.target_new}"
                for each in graph.rewrites[:10]
            ],
            **_reported(loaded),
        )  # fmt: skip


@contextmanager
def _uploaded(
    settings: Settings, files: list[UploadFile], format: str | None, options: dict[str, Any]
) -> Iterator[tuple[LoadedGraph, list[str]]]:
    """An uploaded data set as it was read, and the names of its files."""
    if format is None and options["map"]:
        format = formats.MAPPED
    with tempfile.TemporaryDirectory() as folder:
        try:
            root = Path(folder) / "upload"
            names = received(files, root, settings.body_limit_mb * 2**20)
            loaded = datasets.read_apart(
                partial(uploads.read, format=format, options=options), root
            )
        except LoaderError as error:
            # The temporary folder means nothing to the client.
            error.detail = re.sub(rf"{re.escape(folder)}/(upload/)?", "", error.detail)
            raise
        yield loaded, names


@router.post(
    "/graphs/import",
    status_code=201,
    response_model=Imported,
    responses=UNCHANGED,
    summary="Import a data set by its name or path",
)
def import_graph(body: ImportIn, db: Db, settings: InForce, response: Response) -> Imported:
    """Import a graph that ships with ThinkEval, or a file of the server's allowed folder."""
    path = _allowed(settings, body.source)
    loaded = datasets.read(
        path,
        name=body.name,
        format=body.format,
        target_new=body.target_new,
        limit=body.limit,
        map=body.map,
    )
    return _stored(db, response, loaded, replace=body.replace, strict=body.strict)


def _stored(
    db: Database, response: Response, loaded: LoadedGraph, *, replace: bool, strict: bool
) -> Imported:
    if strict:
        datasets.require_sound(loaded)
    if not re.fullmatch(GRAPH_NAME, loaded.graph.name) or len(loaded.graph.name) > 100:
        raise UsageError(
            f"No graph can be called {loaded.graph.name[:120]!r}.",
            remedy="Give a `name` of at most 100 letters, digits, spaces and . _ @ : + -.",
        )
    done = datasets.store(db, loaded, replace=replace)
    if done.status == "unchanged":
        response.status_code = 200
    response.headers["Location"] = f"/v1/graphs/{done.graph}"
    return Imported(**asdict(done), **_reported(loaded))


def _reported(loaded: LoadedGraph) -> dict[str, Any]:
    """The report of an import, as fields of a response."""
    report = loaded.report
    return {
        "read": dict(report.read),
        "kept": dict(report.kept),
        "counts": dict(report.counts()),
        "notes": [Note(**asdict(note)) for note in report.notes[:200]],
        "audit": dict(report.audit),
        "layouts": list(report.layouts),
    }


def _allowed(settings: Settings, source: str) -> Path | str:
    """The resolved path of the file to import; never one outside the allowed folder.

    Raises:
        UsageError: no folder is allowed, or the path leads out of it.
        NotFoundError: there is no such file.
    """
    if source in shipped.names():
        return source
    folder = settings.import_dir
    if folder is None:
        raise UsageError(
            f"{source!r} is not a graph that ships with ThinkEval, and this service imports no"
            " files by path.",
            remedy=f"Upload the file to /v1/graphs, or import {' or '.join(shipped.names())}.",
            status=403,
        )
    root = folder.resolve()
    try:
        path = (root / source).resolve() if source.isprintable() else root
    except (OSError, RuntimeError):  # circular links
        path = root
    if not path.is_relative_to(root) or path == root:
        raise UsageError(
            f"{source!r} is not inside the folder that may be imported from.",
            remedy="Use a path below it, without `..`.",
            status=403,
        )
    if not os.path.exists(path):  # also False for names that are too long
        names = [str(p.relative_to(root)) for p in sorted(root.rglob("*"))[:1000]]
        raise NotFoundError("file", source, names, listing="POST /v1/graphs")
    return path


class RewriteOut(BaseModel):
    """A rewrite request of a graph, with the number of its chains by number of facts."""

    graph: str = Field(description="Id of the graph.")
    id: str = Field(description="Id of the rewrite request.")
    subject: str = Field(description="Subject of the fact.")
    relation: str = Field(description="Relation of the fact.")
    prompt: str = Field(description="The fact's cloze, with `{}` for the subject.")
    target_true: str = Field(description="Old object of the edited fact.")
    target_new: str = Field(description="New object of the edited fact.")
    question: str | None = Field(description="The fact's question; null without one.")
    paraphrases: list[str] = Field(default=[], description="Other wordings of the prompt.")
    chains: dict[int, int] = Field(description="Number of chains by number of facts.")
    checks: list[dict[str, Any]] = Field(
        default=[],
        description="Questions that the data set asks after the edit: criterion, prompt, answers"
        " (the first, then its aliases) and, where stated, group, old_answers, conditions.",
    )


class RewritePage(BaseModel):
    """Rewrite requests of all graphs or of one, by graph and id."""

    items: list[RewriteOut] = Field(description="The items of this page, in order.")
    next: str | None = Field(default=None, description="`cursor` of the next page, or null.")
    total: int = Field(description="Number of rewrite requests on all pages.")


@router.get("/rewrites", response_model=RewritePage, summary="List rewrite requests")
def list_rewrites(
    db: Db,
    graph: Annotated[Name | None, Query(description="Only of this graph.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> RewritePage:
    """Of all data sets or of one, each with the number of its chains of 1 to 5 facts.

    A graph that ships with ThinkEval is imported by the first request for it.
    """
    if graph is not None:
        datasets.get_or_import(db, graph)
    found = datasets.all_rewrites(db, graph)
    shown, following = offset_page(found, read_offset(cursor), limit)
    items = [
        out
        for dataset, part in groupby(shown, key=lambda rewrite: rewrite.dataset)
        for out in _rewrites(db, dataset, list(part))
    ]
    return RewritePage(items=items, next=following, total=len(found))


def _rewrites(db: Database, graph: str, found: list[RewriteRequest]) -> list[RewriteOut]:
    chains = datasets.chain_counts(db, graph, found)
    return [
        RewriteOut.model_validate(each.fields | {"graph": graph, "chains": chains[each.id]})
        for each in found
    ]
