"""/v1/depedit: knowledge sets built, moved and read; runs of the protocol and the tables over them.

Running the protocol needs a model, and is the command line's: `thinkeval depedit run`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, File, Form, Query, Response, UploadFile
from fastapi import Path as PathParam
from pydantic import BaseModel, ConfigDict, Field

from cypher import rows
from cypher.run import Database
from loaders import depedit as jsonl
from loaders.errors import LoaderError
from loaders.knowledge_sets import KnowledgeSet
from service.api.problems import DESCRIBED
from service.api.state import Db
from service.depedit import build as building
from service.depedit import report, store
from service.depedit.metrics import Share, metrics_of
from service.depedit.questions import questions
from service.edit_schemas import Name

router = APIRouter(prefix="/v1/depedit", tags=["depedit"], responses=DESCRIBED)

JSONL = "application/jsonl"
Setting = Literal["CQ_DT", "CQ_UT", "ICQ_DT"]
Id = Annotated[str, PathParam(min_length=1, max_length=300)]
Of = Annotated[Name | None, Query(description="Only of sets that were built from this graph.")]
InitOfSet = Annotated[
    Literal["stored", "shuffled", "file"],
    Field(description="Facts as the graph has them, shuffled among their subjects, or a file's."),
]
In = Annotated[Setting | None, Query(description="Only of sets in this setting.")]


class SetOut(BaseModel):
    """A stored knowledge set and how much it holds."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    dataset: str = Field(description="The graph it was built from; empty where a file gave it.")
    setting: Setting
    seed: int
    init: InitOfSet
    rule: str = Field(description="Id of its rule.")
    text: str = Field(description="The rule in words.")
    created_at: str
    n_specific: int
    n_unrelated: int
    n_implications: int
    n_copies: int
    n_runs: int


class Sets(BaseModel):
    """The stored knowledge sets, by id."""

    items: list[SetOut]


class QuestionOut(BaseModel):
    """One question of a set."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    phase: Literal["establish", "update"]
    copy_: int | None = Field(alias="copy", description="Which updated copy; null before.")
    role: Literal["specific", "unrelated", "implication"]
    subject: str
    relation: str
    asked: str
    prompt: str = Field(description="Cloze by which the fact is established and edited.")
    expected: str | None = Field(description="Null where an implication follows no more.")
    change: Literal["kept", "updated", "new", "lost"]
    established: str | None = Field(description="Id of the same question while establishing.")


class SetWithQuestions(SetOut):
    """A stored knowledge set with all it asks."""

    questions: list[QuestionOut]


class SkippedOut(BaseModel):
    """A rule that gave no set, and why."""

    model_config = ConfigDict(from_attributes=True)

    rule: str
    text: str
    reason: str
    apart: int = Field(description="Groundings that a set of it could have.")


class BuiltSet(SetOut):
    """A set that was built or imported: `saved`, `replaced` or `unchanged`."""

    status: Literal["saved", "replaced", "unchanged"]


class BuiltSets(BaseModel):
    """The sets that were built, and the rules that gave none."""

    items: list[BuiltSet]
    skipped: list[SkippedOut]


class LineOut(BaseModel):
    """Something about one line of a file."""

    model_config = ConfigDict(from_attributes=True)

    line: int
    reason: str


class ImportedSets(BaseModel):
    """The sets of a file, lines that are none, and what was made up for in the others."""

    items: list[BuiltSet]
    refused: list[LineOut]
    notes: list[LineOut]


class SetIn(BaseModel):
    """How to draw sets; the numbers' defaults are the paper's."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"graph": "atlas"}]})

    graph: Name = Field(description="A data set graph; `atlas` ships with its rules.")
    setting: Setting = "CQ_DT"
    rules: list[Annotated[str, Field(min_length=1, max_length=100)]] | None = Field(
        default=None, max_length=100, description="Ids of rules; null for all that are kept."
    )
    candidates: bool = Field(default=False, description="Also by rules that nobody reviewed.")
    per_rule: int = Field(default=1, ge=1, le=20)
    seed: int = Field(default=0, ge=0, le=2**31 - 1)
    facts: int = Field(default=24, ge=1, le=100)
    unrelated: int = Field(default=5, ge=0, le=100)
    implications: int = Field(default=12, ge=1, le=50)
    copies: int = Field(default=3, ge=1, le=10)
    updates: int = Field(default=20, ge=1, le=100)
    init: Literal["stored", "shuffled"] = "stored"
    replace: bool = False


class ShareOut(BaseModel):
    """A metric: a share from 0 to 1 (null where nothing was asked) and what it was taken over."""

    model_config = ConfigDict(from_attributes=True)

    value: float | None
    n: int = Field(description="Answers.")
    copies: int = Field(description="Updated copies whose mean it is.")


class RunOut(BaseModel):
    """A stored run of the protocol on one set."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    knowledge_set: str
    dataset: str
    setting: Setting
    init: InitOfSet
    n_specific: int
    strategy: str
    editor: str | None
    method: str = Field(description="What tables call it: the editor and the strategy.")
    model: str
    seconds: float | None
    created_at: str
    n_answers: int


class Runs(BaseModel):
    """The stored runs, oldest first."""

    items: list[RunOut]


class AnswerOut(BaseModel):
    """What a model said to one question."""

    model_config = ConfigDict(from_attributes=True)

    question: str
    phase: Literal["establish", "update"]
    copy_: int | None = Field(alias="copy")
    role: Literal["specific", "unrelated", "implication"]
    asked: str
    change: Literal["kept", "updated", "new", "lost"]
    expected: str | None
    answer: str
    established: str | None = Field(description="What it had said while establishing.")


class RunWithAnswers(RunOut):
    """A stored run with its metrics and answers."""

    metrics: dict[str, ShareOut]
    answers: list[AnswerOut]


class MeanOut(BaseModel):
    """A mean over knowledge sets; null where none has the metric."""

    model_config = ConfigDict(from_attributes=True)

    value: float | None
    n: int = Field(description="Sets.")


class MethodOut(BaseModel):
    """One row of the paper's tables."""

    model_config = ConfigDict(from_attributes=True)

    setting: Setting
    init: InitOfSet
    n_specific: int
    model: str
    method: str
    strategy: str
    editor: str | None
    runs: int
    means: dict[str, MeanOut] = Field(description="Shares from 0 to 1 by metric.")
    gains: dict[str, MeanOut] = Field(description="Differences to the editor it wraps.")


class Report(BaseModel):
    """The paper's tables over the stored runs."""

    items: list[MethodOut]


@router.get("/sets", response_model=Sets, summary="List knowledge sets")
def list_knowledge_sets(db: Db, graph: Of = None, setting: In = None) -> Sets:
    """By id."""
    found = store.list_sets(db, dataset=graph, setting=setting)
    return Sets(items=[SetOut.model_validate(row) for row in found])


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


@router.get("/runs", response_model=Runs, summary="List runs of the protocol")
def list_protocol_runs(
    db: Db,
    graph: Of = None,
    setting: In = None,
    model: Annotated[str | None, Query(max_length=200)] = None,
    knowledge_set: Annotated[str | None, Query(max_length=300)] = None,
) -> Runs:
    """Oldest first."""
    sets = None if knowledge_set is None else [knowledge_set]
    found = store.list_runs(db, sets=sets, dataset=graph, setting=setting, model=model)
    return Runs(items=[RunOut.model_validate(row) for row in found])


@router.get("/runs/{run}", response_model=RunWithAnswers, summary="See a run of the protocol")
def get_protocol_run(run: Id, db: Db) -> RunWithAnswers:
    """With its seven metrics and every answer."""
    answers = store.answers_of(db, run)
    row = db.read(rows.ProtocolRunRow, ids=[run])[0]
    shares: dict[str, Share] = metrics_of(db, run)
    return RunWithAnswers(
        **RunOut.model_validate(row).model_dump(),
        metrics={name: ShareOut.model_validate(share) for name, share in shares.items()},
        answers=[AnswerOut.model_validate(asdict(answer)) for answer in answers],
    )


@router.delete("/runs/{run}", status_code=204, summary="Delete a run of the protocol")
def delete_protocol_run(run: Id, db: Db) -> Response:
    """With its answers; the set stays."""
    store.delete_run(db, run)
    return Response(status_code=204)


@router.get("/report", response_model=Report, summary="See the tables over runs")
def report_protocol_runs(
    db: Db,
    graph: Of = None,
    setting: In = None,
    model: Annotated[str | None, Query(max_length=200)] = None,
) -> Report:
    """A row a method, means over sets with their n; of one method on one set the newest counts."""
    found = report.methods(db, dataset=graph, setting=setting, model=model)
    return Report(items=[MethodOut.model_validate(method) for method in found])


def _saved(db: Database, sets: Iterable[KnowledgeSet], *, replace: bool) -> list[BuiltSet]:
    status = {each.id: store.save_set(db, each, replace=replace).status for each in sets}
    found = db.read(rows.KnowledgeSetRow, ids=list(status))
    return [BuiltSet.model_validate(asdict(row) | {"status": status[row.id]}) for row in found]
