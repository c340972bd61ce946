"""/v1/depedit/sets: knowledge sets built from a graph, imported, exported, read and deleted."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, File, Form, Response, UploadFile

from thinkeval.cypher import rows
from thinkeval.cypher.run import Database
from thinkeval.loaders import depedit as jsonl
from thinkeval.loaders.errors import LoaderError
from thinkeval.loaders.knowledge_sets import KnowledgeSet
from thinkeval.service.api.problems import DESCRIBED
from thinkeval.service.api.state import Db
from thinkeval.service.depedit import build as building
from thinkeval.service.depedit import store
from thinkeval.service.depedit.questions import questions
from thinkeval.service.depedit.schemas import (
    MANY,
    BuiltSet,
    BuiltSets,
    Cursor,
    Id,
    ImportedSets,
    In,
    Limit,
    LineOut,
    Of,
    QuestionOut,
    SetIn,
    SetOut,
    Sets,
    Setting,
    SetWithQuestions,
    SkippedOut,
)

router = APIRouter(prefix="/v1/depedit", tags=["depedit"], responses=DESCRIBED)

JSONL = "application/jsonl"


@router.get("/sets", response_model=Sets, summary="List knowledge sets")
def list_knowledge_sets(
    db: Db, graph: Of = None, setting: In = None, limit: Limit = MANY, cursor: Cursor = None
) -> Sets:
    """By id, a page at a time: give `next` as `cursor` until it is null."""
    found, more, total = store.page_sets(db, limit, cursor, dataset=graph, setting=setting)
    return Sets(items=[SetOut.model_validate(row) for row in found], next=more, total=total)


@router.post(
    "/sets", response_model=BuiltSets, status_code=201, summary="Build knowledge sets from a graph"
)
def build_knowledge_sets(asked: SetIn, db: Db) -> BuiltSets:
    """Draw sets from a stored graph and its rules; asked again, the same sets come out.

    Where the graph is too small, the error says how many facts and groundings there are.
    """
    values = asked.model_dump(exclude={"graph", "rules", "candidates", "per_rule", "replace"})
    built = building.build(
        db,
        asked.graph,
        building.SetOptions(**values),
        rules=asked.rules,
        candidates=asked.candidates,
        per_rule=asked.per_rule,
    )
    items = _saved(db, built.sets, replace=asked.replace)
    return BuiltSets(items=items, skipped=[SkippedOut.model_validate(s) for s in built.skipped])


@router.post(
    "/sets/import",
    response_model=ImportedSets,
    status_code=201,
    summary="Import knowledge sets from JSONL",
)
def import_knowledge_sets(
    db: Db,
    file: Annotated[UploadFile, File(description="JSONL of ours, or as DepEdit publishes it.")],
    setting: Annotated[Setting, Form()] = "CQ_DT",
    strict: Annotated[bool, Form()] = False,
    replace: Annotated[bool, Form()] = False,
) -> ImportedSets:
    """A set a line; lines that are none are told by number, or refuse the file with `strict`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sets.jsonl"
        path.write_bytes(file.file.read())
        try:
            loaded = jsonl.read(path, setting=setting, strict=strict)
        except LoaderError as error:
            error.detail = error.detail.replace(f"{folder}/", "")
            raise
    return ImportedSets(
        items=_saved(db, loaded.sets, replace=replace),
        refused=[LineOut.model_validate(each) for each in loaded.refused],
        notes=[LineOut.model_validate(each) for each in loaded.notes],
    )


@router.get(
    "/export",
    response_class=Response,
    responses={200: {"content": {JSONL: {"schema": {"type": "string"}}}}},
    summary="Export knowledge sets as JSONL",
)
def export_knowledge_sets(db: Db, graph: Of = None, setting: In = None) -> Response:
    """In DepEdit's schema and with what it lacks, a set a line; empty where there is none."""
    found = store.list_sets(db, dataset=graph, setting=setting)
    text = jsonl.write(store.load_set(db, row.id) for row in found)
    return Response(text, media_type=JSONL)


@router.get("/sets/{knowledge_set}", response_model=SetWithQuestions, summary="See a knowledge set")
def get_knowledge_set(knowledge_set: Id, db: Db) -> SetWithQuestions:
    """With all it asks, phase by phase."""
    knowledge = store.load_set(db, knowledge_set)
    row = db.read(rows.KnowledgeSetRow, ids=[knowledge_set])[0]
    asked = [QuestionOut.model_validate(asdict(q)) for q in questions(knowledge)]
    return SetWithQuestions(**SetOut.model_validate(row).model_dump(), questions=asked)


@router.delete("/sets/{knowledge_set}", status_code=204, summary="Delete a knowledge set")
def delete_knowledge_set(knowledge_set: Id, db: Db) -> Response:
    """With the runs on it."""
    store.delete_set(db, knowledge_set)
    return Response(status_code=204)


def _saved(db: Database, sets: Iterable[KnowledgeSet], *, replace: bool) -> list[BuiltSet]:
    status = {each.id: store.save_set(db, each, replace=replace).status for each in sets}
    found = db.read(rows.KnowledgeSetRow, ids=list(status))
    return [BuiltSet.model_validate(asdict(row) | {"status": status[row.id]}) for row in found]
