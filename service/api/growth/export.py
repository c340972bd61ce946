"""/v1/growth/{run}/export: the files of a growth run."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi import Path as PathParam
from pydantic import BaseModel, Field

from ...growth.files.formats import Format, exported
from ...growth.files.output import zipped
from ...growth.runs import require_run
from ..problems import DESCRIBED
from ..state import Db

router = APIRouter(prefix="/v1/growth", tags=["growth"], responses=DESCRIBED)

RunId = Annotated[str, PathParam(min_length=1, max_length=200, description="Id of a growth run.")]


class ExportedFiles(BaseModel):
    """The files of an export, in UTF-8 by name, and the parts that their format cannot hold."""

    format: Format = Field(description="Layout of the files.")
    files: dict[str, str] = Field(description="Text of each file, by name.")
    lost: list[str] = Field(description="Parts that the layout cannot hold, each a sentence.")


ZIP = "application/zip"


@router.get(
    "/{run}/export",
    response_model=ExportedFiles,
    responses={200: {"content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}}},
    summary="Export a growth run",
)
def export_growth(
    run: RunId,
    db: Db,
    format: Annotated[
        Format,
        Query(description="KnowGIC's two layouts; csv: tables; audit: all of the run."),
    ] = "knowgic",
    single_link: Annotated[
        bool, Query(description="At most one fact from one entity to another; chains are equal.")
    ] = True,
    max_steps: Annotated[int, Query(ge=1, le=5, description="Of the longest chain.")] = 5,
    packed: Annotated[bool, Query(description="One zip; else JSON, which lists lost parts.")] = (
        True
    ),
) -> Response:
    """The files of `thinkeval grow export`; of a finished run always the same bytes."""
    row = require_run(db, run)
    made = exported(db, row.id, format, single_link=single_link, max_steps=max_steps)
    if packed:
        attached = {"Content-Disposition": f'attachment; filename="{row.id}-{format}.zip"'}
        return Response(zipped(made.files), media_type=ZIP, headers=attached)
    files = {name: made.files[name].decode() for name in sorted(made.files)}
    shown = ExportedFiles(format=format, files=files, lost=made.lost)
    return Response(shown.model_dump_json(), media_type="application/json")
