"""/v1/graphs: data sets in, uploaded or from the one folder that is allowed."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Response, UploadFile
from pydantic import BaseModel, ConfigDict, Field

from thinkeval.loaders import formats
from thinkeval.loaders import graphs as shipped
from thinkeval.loaders.errors import LoaderError
from thinkeval.service.api.problems import DESCRIBED
from thinkeval.service.api.state import Db, InForce
from thinkeval.service.errors import NotFoundError, UsageError
from thinkeval.service.graphs import datasets
from thinkeval.service.settings import Settings

router = APIRouter(prefix="/v1", tags=["graphs"], responses=DESCRIBED)

GRAPH_NAME = r"^[A-Za-z0-9][A-Za-z0-9._@:+ -]*$"
NewName = Annotated[str, Field(min_length=1, max_length=100, pattern=GRAPH_NAME)]
Format = Annotated[str, Field(max_length=40)]


class ImportIn(BaseModel):
    """What to import: a graph that ships with ThinkEval, or a file in the allowed folder."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"source": "hogwarts"}]}
    )

    source: str = Field(
        min_length=1,
        max_length=400,
        description="`hogwarts`, or a path below the folder THINKEVAL_IMPORT_DIR.",
    )
    name: NewName | None = None
    format: Format | None = None
    target_new: Annotated[str, Field(max_length=400)] | None = None
    limit: int | None = Field(default=None, ge=1)
    replace: bool = False


class Note(BaseModel):
    """Something an import merged, repaired or refused."""

    kind: str
    where: str
    reason: str


class Imported(BaseModel):
    """What an import did: `imported`, `replaced` or `unchanged`."""

    graph: str
    status: str
    n_facts: int
    n_entities: int
    read: dict[str, int]
    kept: dict[str, int]
    counts: dict[str, int] = Field(description="Notes by kind.")
    notes: list[Note] = Field(description="The first 200 of them.")


UNCHANGED: dict[int | str, dict[str, Any]] = {
    200: {"description": "It is stored already, with the same content.", "model": Imported}
}


@router.post(
    "/graphs",
    status_code=201,
    response_model=Imported,
    responses=UNCHANGED,
    summary="Import an uploaded data set",
)
def upload_graph(
    db: Db,
    response: Response,
    file: Annotated[UploadFile, File(description="A data set in any format `import` reads.")],
    name: Annotated[NewName | None, Form()] = None,
    format: Annotated[Format | None, Form()] = None,
    target_new: Annotated[str | None, Form(max_length=400)] = None,
    limit: Annotated[int | None, Form(ge=1)] = None,
    replace: Annotated[bool, Form()] = False,
) -> Imported:
    """In any format `import` reads. The same file twice changes nothing (200).

    A graph of that name with other content stays as it is (409) unless `replace` is set.
    """
    given = _file_name(file.filename or "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / given
        with path.open("wb") as out:
            shutil.copyfileobj(file.file, out)
        try:
            path = formats.in_named_folder(path, format)
            return _import(
                db, response, path, replace, name=name, format=format, target_new=target_new,
                limit=limit,
            )  # fmt: skip
        except LoaderError as error:
            # The temporary folder means nothing to the client.
            error.detail = error.detail.replace(f"{path.parent}/", "")
            raise


def _file_name(sent: str) -> str:
    """The last part of an upload's name: it tells the format, and names the graph.

    Raises:
        UsageError: no file can be called that.
    """
    name = PurePosixPath(sent.replace("\\", "/")).name
    if not name or name.startswith(".") or not name.isprintable() or len(name.encode()) > 200:
        raise UsageError(
            "The uploaded file has no name that can be used.",
            remedy="Send it with a short one, such as chains.json.",
        )
    return name


@router.post(
    "/graphs/import",
    status_code=201,
    response_model=Imported,
    responses=UNCHANGED,
    summary="Import a data set by its name or path",
)
def import_graph(asked: ImportIn, db: Db, settings: InForce, response: Response) -> Imported:
    """Import a graph that ships with ThinkEval, or a file of the server's allowed folder."""
    path = _allowed(settings, asked.source)
    return _import(
        db, response, path, asked.replace, name=asked.name, format=asked.format,
        target_new=asked.target_new, limit=asked.limit,
    )  # fmt: skip


def _import(db: Any, response: Response, path: Path | str, replace: bool, **how: Any) -> Imported:
    loaded = datasets.read(path, **how)
    if not re.fullmatch(GRAPH_NAME, loaded.graph.name) or len(loaded.graph.name) > 100:
        raise UsageError(
            f"No graph can be called {loaded.graph.name[:120]!r}.",
            remedy="Give a `name` of at most 100 letters, digits, spaces and . _ @ : + -.",
        )
    done = datasets.store(db, loaded, replace=replace)
    report = loaded.report
    if done.status == "unchanged":
        response.status_code = 200
    response.headers["Location"] = f"/v1/graphs/{done.graph}"
    return Imported(
        **asdict(done),
        read=dict(report.read),
        kept=dict(report.kept),
        counts=dict(report.counts()),
        notes=[Note(kind=n.kind, where=n.where, reason=n.reason) for n in report.notes[:200]],
    )


def _allowed(settings: Settings, source: str) -> Path | str:
    """The file that is meant, resolved; never one outside the allowed folder.

    Raises:
        UsageError: no folder is allowed, or the path leads out of it.
        NotFoundError: there is no such file.
    """
    if source in shipped.names():
        return source
    folder = settings.import_dir
    if folder is None:
        raise UsageError(
            f"{source!r} is no graph that ships with ThinkEval, and this service imports no files"
            " by their path.",
            remedy=f"Upload the file to /v1/graphs, or import {' or '.join(shipped.names())}.",
            status=403,
        )
    root = folder.resolve()
    try:
        path = (root / source).resolve() if source.isprintable() else root
    except (OSError, RuntimeError):  # links that lead in a circle
        path = root
    if not path.is_relative_to(root) or path == root:
        raise UsageError(
            f"{source!r} is not inside the folder that may be imported from.",
            remedy="Give a path below it, without `..`.",
            status=403,
        )
    if not os.path.exists(path):  # False, too, for names that are too long
        names = [str(p.relative_to(root)) for p in sorted(root.rglob("*"))[:1000]]
        raise NotFoundError("file", source, names, listing="POST /v1/graphs")
    return path
