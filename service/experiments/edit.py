"""The kind of experiment `edit`: submitted, stored as a scored edit, listed, deleted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...cypher.errors import IncompleteWriteError
from ..base.errors import NotFoundError
from ..base.formatting import fine, objects
from ..graphs import datasets
from ..graphs.datasets import own_or_stored
from ..models.edit import MEASURE_NAMES, DriftLine, EditIn, Measure, Score, SideEffects
from ..models.experiment import EditFilters, EditOut
from ..reports.checks import checks_table
from ..reports.edit import DRIFT_COUNTS, ScoreLine, leakage_table, lines, measure_of
from ..reports.formats import Column, Table
from ..reports.tasks import tasks_table
from ..reports.verdict import in_a_word, with_verdict
from ..scoring import append, deltas, forget, metrics, record
from ..scoring.request import ScoreRequest, body_digest, posted_id
from ..scoring.runtime import parse
from . import queue, submit
from .kind import Kind, Prepared, Store, Work
from .store import write_rewrites
from .submit import EnqueueResult, enqueue

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ...loaders.records import RewriteRequest
    from ..base.settings import Settings
    from ..scoring.runtime import Runtime


# Edits as experiments: submitted, one or thousands; found, listed and deleted.
#
# An edit has one `:Edit` node, which is its job too. It is submitted under a digest of its
# request; once a worker has loaded the model it gets its final id, and each of its ids finds it.
# Submitting the same again finds the same edit.

READ_MOST = 1000
"""Edits that one query reads."""


def prepare(db: Database, settings: Settings, request: EditIn) -> Prepared[EditIn]:
    """Check one request; see `prepare_all`."""
    return prepare_all(db, settings, [request])[0]


def prepare_all(
    db: Database, settings: Settings, requests: Sequence[EditIn]
) -> list[Prepared[EditIn]]:
    """Check requests for edits of one data set, in their order.

    Shared resources (the data set, a rewrite, a model with a method) are looked up once.

    Raises:
        NotFoundError, UsageError, EditingError: a request cannot be scored.
    """
    content: str | None = None
    found: dict[str, RewriteRequest] = {}
    checked: set[tuple[str, ...]] = set()
    prepared = []
    for each in requests:
        about = (each.method, each.model, each.hparams or "")
        if about not in checked:
            submit.check(settings, each)
            checked.add(about)
        content = content or datasets.get_or_import(db, each.graph).digest
        named = repr(each.rewrite)
        if named not in found:
            found[named] = submit.rewrite_of(db, each)
        rewrite = found[named]
        append.check(each, rewrite)
        forget.check(rewrite, each)
        prepared.append(
            Prepared(
                request=each.model_copy(update={"rewrite": rewrite.id}),
                id=posted_id(each, rewrite, content),
                body=body_digest(each, rewrite),
                affinity=submit.affinity(each),
                rewrites=[rewrite],
            )
        )
    return prepared


def submit_all(
    db: Database, settings: Settings, requests: Sequence[EditIn], *, key: str | None = None
) -> list[EnqueueResult]:
    """Queue edits of one data set, all of them or none; the outcome of each, in their order.

    Args:
        key: the client's idempotency key, for a single request.

    Raises:
        as `Store.submit`.
    """
    if not requests:
        return []
    prepared = prepare_all(db, settings, requests)
    edits = list({each.id: each for each in prepared}.values())
    graph = requests[0].graph
    rewrites = list({each.rewrites[0].id: each.rewrites[0] for each in edits}.values())

    def write(tx: Tx) -> list[EnqueueResult]:
        write_rewrites(tx, graph, rewrites)
        jobs = [
            {"id": each.id, "request": each.request.model_dump_json(), "affinity": each.affinity}
            for each in edits
        ]
        accepted = enqueue(
            tx.run, settings, queue.EDIT, jobs,
            key=key, body=edits[0].body if key else None, again=requests[0].force,
        )  # fmt: skip
        described = [
            {
                "id": one.edit,
                "model": parse(each.request.model, seed=each.request.organism_seed).name,
                "method": each.request.method,
                "rewrite": each.request.rewrite,
            }
            for each, one in zip(edits, accepted, strict=True)
            if one.outcome != "known"
        ]
        if described:
            try:
                tx.run(rows.WrittenRow, "edits/describe", dataset=graph, rows=described)
            except IncompleteWriteError as error:  # the graph was deleted meanwhile
                raise NotFoundError(
                    "graph of a data set", graph, [], listing="thinkeval results graphs"
                ) from error
        return accepted

    accepted = db.atomically(write)
    outcomes = {each.id: one for each, one in zip(edits, accepted, strict=True)}
    return [outcomes[each.id] for each in prepared]


class EditStore(Store[Score]):
    """The recorded edits; a result is a score."""

    def submit(
        self, db: Database, settings: Settings, request: Any, *, key: str | None = None
    ) -> EnqueueResult:
        """Queue an edit; raises as `Store.submit`."""
        return submit_all(db, settings, [request], key=key)[0]

    def find(self, db: Database, id: str) -> Score | None:
        """The score of an edit, by any id that it has had; None while there is none."""
        return record.stored_score(db, id)

    def get(self, db: Database, id: str) -> EditOut:
        """An edit, by any id that it has had, with its score once it has one.

        One query reads all of it: between two, the worker may end the edit.

        Raises:
            NotFoundError: there is none; close ones are suggested.
            NothingStoredError: its score is damaged.
        """
        row = record.get_edit(db, id)
        score = record.score_of(db, row)
        return self._shown(row, score, result=score and with_verdict(db, score))

    def brief(self, db: Database, id: str) -> EditOut:
        """An edit without its score, which may be damaged; raises `NotFoundError` as `get`."""
        return self._shown(record.get_edit(db, id), None)

    def listing(
        self,
        db: Database,
        *,
        graph: str | None = None,
        edit: str | None = None,
        skip: int = 0,
        limit: int = 100,
        **filters: Any,
    ) -> list[Any]:
        """Recorded edits, newest first, with IFR and verdict only; filters as `EditFilters`."""
        ids = None if edit is None else [edit]
        found = db.read(
            rows.PageEditRow, "edits/page_edits",
            posted_as=ids, dataset=graph, skip=skip, limit=limit, scores=True, **filters,
        )  # fmt: skip
        return [self._shown(row, record.readable(row.score)) for row in found]

    def _shown(
        self, row: rows.GetEditRow | rows.PageEditRow, score: Score | None, **more: Any
    ) -> EditOut:
        columns = asdict(row)
        links = self._links(row.id)
        links |= {name: f"{links['self']}/{name}" for name in ("chains", "graph")}
        shown = {name: columns[name] for name in EditOut.model_fields if name in columns}
        shown |= {"kind": self.kind.name, "graph": row.dataset, "links": links}
        changed = objects(row.target_true, row.target_new)
        shown["title"] = f"{row.subject}: {changed} ({row.method} on {row.model})"
        if score and score.measures:
            ifr = score.get("ifr", score.measures[0])
            shown["ifr"] = ifr.value if ifr and ifr.n else None
            shown["verdict"] = in_a_word(score, score.measures[0]).word
        return EditOut.model_validate(shown | {"request": json.loads(row.request or "{}")} | more)

    def remove(self, db: Database, settings: Settings, id: str) -> list[str]:
        """Delete a recorded edit with its graph, score and saved update."""
        removed = record.delete(db, id)
        deltas.remove(settings, removed)
        return [removed]


def job_of(db: Database, edit: str) -> rows.JobRow:
    """The status of an edit's job, found by any id it ever had.

    Raises:
        NotFoundError: there is none; close ones are suggested.
    """
    found = queue.find(db, queue.EDIT, edit)
    if found is None:
        raise record.unknown(db, edit)
    return found


# The kind of experiment `edit`: one request, edited into a model and scored.

PART = 5000
"""Entities that are deleted in one transaction."""


def _recheck(db: Database, settings: Settings, request: EditIn) -> EditIn:
    submit.check(settings, request)
    return request


def _run(runtime: Runtime, request: EditIn, work: Work) -> Score:
    from ..scoring.score import score_edit  # imports numpy

    rewrite = own_or_stored(runtime.db, request.graph, str(request.rewrite))
    return score_edit(runtime, ScoreRequest.of(rewrite, request), lease=work.lease)


def _drop(db: Database, job: str) -> None:
    """Delete the graph of an edit that ended without a score: it was written, not recorded."""
    while db.write(int, "edits/drop_unfinished", id=job, limit=PART)[0]:
        pass


def _title(score: Score) -> str:
    objects = f"{score.target_true} → {score.target_new or 'forgotten'}"
    return f"{score.method} on {score.model}: {score.prompt.replace('{}', score.subject)} {objects}"


def _text(place: int, line: ScoreLine) -> str:
    return line.cell(place)


def _number(place: int, line: ScoreLine) -> float | None:
    value = line.values[place]
    return None if value is None else value.value


def _tables(score: Score, measure: Measure | None = None) -> list[Table[Any]]:
    """The metrics, a column a measure."""
    if measure is not None:
        measure_of(score, measure)
    wanted = [(n, m) for n, m in enumerate(score.measures) if measure in (None, m)]
    label: Column[ScoreLine] = Column("metric", lambda line: line.label)
    counts: list[Column[ScoreLine]] = [
        Column("n", lambda line: line.n),
        Column("excluded", lambda line: line.excluded),
    ]
    shown = [Column(MEASURE_NAMES[m], partial(_text, n)) for n, m in wanted]
    numbers = [Column(m, partial(_number, n)) for n, m in wanted]
    columns = [label, *shown, *counts]
    values = [label, *numbers, *counts]
    return [
        Table("metrics", "Metrics", columns, lines(score), values=values),
        Table("side_effects", "The model's own texts", SIDE_EFFECTS, [score.side_effects]),
        Table("drift", "Known facts by distance from the subject", DRIFT, _drift(score)),
        checks_table(score.checks),
        tasks_table(score.tasks),
    ]


def _drift(score: Score) -> list[DriftLine]:
    """The known facts: all of them, then by distance; empty where they were not asked."""
    found = score.side_effects.drift
    return [found.total, *found.by_distance] if found else []


SIDE_EFFECTS: list[Column[SideEffects]] = [
    Column("KL", lambda found: found.kl, fine),
    Column("low", lambda found: found.kl_low, fine),
    Column("high", lambda found: found.kl_high, fine),
    Column("perplexity ratio", lambda found: found.perplexity_ratio),
    Column("update norm", lambda found: found.update_norm),
    Column("texts", lambda found: found.texts),
    Column("tokens", lambda found: found.tokens),
    Column("excluded", lambda found: found.excluded),
    Column("reason", lambda found: found.reason or ""),
]


def _further(db: Database, score: Score, measure: Measure | None = None) -> list[Table[Any]]:
    """The facts that leak; a request to append has no old object that could."""
    if score.append is not None or not score.measures:
        return []
    return [leakage_table(metrics.leakage_rows(db, score, measure_of(score, measure)))]


DRIFT: list[Column[DriftLine]] = [
    *DRIFT_COUNTS,
    Column("median change", lambda line: line.median_change),
]


DESCRIBED: list[Column[EditOut]] = [
    Column("fact", lambda edit: edit.title.removesuffix(f" ({edit.method} on {edit.model})")),
    Column("graph", lambda edit: edit.graph, whole=True, optional=3),
    Column("model", lambda edit: edit.model, whole=True, optional=2),
    Column("method", lambda edit: edit.method, optional=1),
    Column("IFR", lambda edit: edit.ifr),
    Column("verdict", lambda edit: edit.verdict),
    Column("rewrite", lambda edit: edit.rewrite, whole=True, optional=5),
    Column("error", lambda edit: edit.error, optional=4),
]

EDIT = Kind(
    name=queue.EDIT,
    plural="edits",
    noun="edit",
    about="Edits one request into a model, and scores what is left of the old fact.",
    request=EditIn,
    result=Score,
    model=EditOut,
    filters=EditFilters,
    prepare=prepare,
    run=_run,
    recheck=_recheck,
    drop=_drop,
    title=_title,
    listed=(),
    described=DESCRIBED,
    sentences=lambda score, measure: (),
    tables=_tables,
    further=_further,
    next=lambda score: [f"thinkeval show {score.edit}", f"thinkeval results chains {score.edit}"],
    again="Submit it again to have it scored; nothing of it was stored.",
    stored=EditStore,
)
