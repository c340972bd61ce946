"""The `:Edit` node: the durable record of a score, from its start to its end.

It says `running` while an edit is scored, and ends `succeeded`, `failed` (with reason and remedy)
or `cancelled` (Ctrl-C). The process that scores it has a lease (`service.base.leases`): a worker by
its claim, a command by taking one here. The edit graph is written in one transaction before that.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ...cypher import rows
from ...loaders.records import RequestKind, kind_of
from ..base.errors import KNOWN_ERRORS, NotFoundError, NothingStoredError
from ..base.formatting import pluralize
from ..base.leases import Lease, event, kept, new_token
from ..graphs import datasets
from ..graphs.write import Fence, rewrite_row, write_graph
from ..models.edit import Measure, Score
from . import battery, metrics
from .model_graph import complete, entities_of, fact_row
from .probe import BESIDE, ProbedFact

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from .request import ScoreRequest
    from .runtime import Runtime


WAIT_S = 0.5
FIRST = ("probe pre", 0.1)
"""The stage that an edit is in first, and the progress there."""


@dataclass(slots=True)
class Record:
    """The record of an edit under way; every write is fenced by the lease.

    Attributes:
        entered: called with each stage and the progress there, once it is recorded.
    """

    db: Database
    edit: str
    lease: Lease
    entered: Callable[[str, float], None]

    def stage(self, name: str, progress: float) -> None:
        """Record that the edit has entered a stage.

        Raises:
            LeaseLostError, JobInterrupt: it belongs to another process, or shall be cancelled.
        """
        self.lease.stage(self.db.write, name, progress)
        self.entered(name, progress)

    def write_texts(self, **texts: list[str]) -> None:
        """Store the texts that the models wrote freely.

        Raises:
            LeaseLostError, JobInterrupt: as `stage`.
        """

        def write(tx: Tx) -> None:
            edit = self.lease.assert_owned(tx.run)
            tx.run(rows.WrittenRow, "edits/write_generations", id=edit, **texts)

        self.db.atomically(write)

    def write_answers(self, answers: list[dict[str, object]]) -> None:
        """Store the models' answers at the prompts of a request to append.

        Args:
            answers: as cypher/append/write_answers.cypher takes them.

        Raises:
            LeaseLostError, JobInterrupt: as `stage`.
        """

        def write(tx: Tx) -> None:
            edit = self.lease.assert_owned(tx.run)
            tx.run(rows.WrittenRow, "append/write_answers", edit=edit, rows=answers)

        self.db.atomically(write)

    def write_forms(self, units: Sequence[dict[str, object]]) -> None:
        """Store what both models answer in forms of asking.

        Args:
            units: as cypher/forms/write.cypher takes them.

        Raises:
            LeaseLostError, JobInterrupt: as `stage`.
        """
        self.db.atomically(lambda tx: battery.write(tx, self.lease.assert_owned(tx.run), units))

    def succeed(self, score: Score) -> None:
        """Store the score; from now on readers find it.

        Raises:
            LeaseLostError, JobInterrupt: as `stage`; then nothing is stored.
        """

        def write(tx: Tx) -> None:
            edit = self.lease.assert_owned(tx.run)
            tx.run(
                rows.WrittenRow,
                "edits/write_score",
                id=edit,
                graph=edit,
                score=score.stored(),
                provenance=json.dumps(score.provenance, default=str),
                protocols=score.stored_protocols,
                **score.side_effects.model_dump(include={"kl", "perplexity_ratio", "update_norm"}),
            )
            self.lease.succeed(tx.run)

        self.db.atomically(write)
        self.lease.ended = True


@contextmanager
def recorded(
    runtime: Runtime, edit: str, request: ScoreRequest, model: str, lease: Lease | None = None
) -> Iterator[Record]:
    """Record an edit as running, under a lease.

    Args:
        lease: of the worker that claimed the edit, which also records how it ends where it does
            not succeed. None: a command takes a lease here, and however the block ends, the record
            says so.

    Raises:
        LeaseLostError, JobInterrupt: as `Record.stage`.
    """
    if lease is not None:
        record = Record(runtime.db, edit, lease, runtime.entered)
        record.stage(*FIRST)
        yield record
        return
    lease = _begin(runtime, edit, request, model)
    with kept(lambda: runtime.open_database, lease, runtime.settings.lease_s):
        try:
            runtime.entered(*FIRST)
            yield Record(runtime.db, edit, lease, runtime.entered)
        except BaseException as error:
            # The reason for the failure matters more than a second failure while recording it.
            with suppress(*KNOWN_ERRORS):
                if not lease.ended:
                    lease.fail(runtime.db.write, error)
            raise


def _begin(runtime: Runtime, edit: str, request: ScoreRequest, model: str) -> Lease:
    """Record the edit, and take its lease; wait while another process holds it."""
    token = new_token()
    name, progress = FIRST

    def begin(tx: Tx) -> rows.BeginJobRow:
        # A rewrite of the user's own is stored beside the data set's (see datasets.OWN).
        row = rewrite_row(request.rewrite)
        tx.run(rows.WrittenRow, "graph/merge_rewrites", dataset=request.graph, rows=[row])
        tx.run(
            rows.MergeEditRow,
            "edits/merge_edit",
            id=edit,
            model=model,
            method=request.method,
            dataset=request.graph,
            rewrite=request.rewrite.id,
            status="running",
        )
        (found,) = tx.run(
            rows.BeginJobRow,
            "jobs/begin",
            id=edit,
            lease=token,
            lease_ms=runtime.settings.lease_ms,
            worker=runtime.executor,
            stage=name,
            progress=progress,
            event=event("running", name, progress),
        )
        return found

    while True:
        found = runtime.db.atomically(begin)
        if found.begun:
            return Lease(token, found.attempt)
        wait_until_idle(runtime, edit)


def wait_until_idle(runtime: Runtime, edit: str) -> None:
    """Wait while another process scores an edit; its stored result is found afterwards."""
    while runtime.db.read(bool, "jobs/busy", id=edit)[0]:
        runtime.progress(0, 1, "another process scores this edit, waiting")
        time.sleep(WAIT_S)


def assign_final_id(
    runtime: Runtime, lease: Lease, edit: str, request: ScoreRequest, model: str
) -> None:
    """Give a claimed edit its final id; a stored edit of that id and the claimed one become one.

    Raises:
        LeaseLostError: the claimed edit belongs to another worker, or was deleted.
    """
    while True:
        row = lease.required(
            runtime.db.write(
                rows.SettleIdRow,
                "jobs/settle_id",
                **lease.params,
                final=edit,
                model=model,
                force=request.force,
            )
        )
        if not row.busy:
            lease.ended = not row.do_it
            return
        wait_until_idle(runtime, edit)


def write_edit_graph(
    record: Record,
    request: ScoreRequest,
    model: str,
    probed: Sequence[ProbedFact],
    aliases: Mapping[str, tuple[str, ...]],
) -> None:
    """Step 5: both sides on every edge, all of it or nothing."""
    measures = complete([each for each in probed if each.question.role not in BESIDE])
    header = rows.GraphHeader(
        record.edit, "edit", request.graph, model=model, edit=record.edit,
        probe=request.probe.digest, measures=measures,
    )  # fmt: skip
    write_probed(record.db, header, probed, aliases, fence=record.lease.assert_owned)


def write_probed(
    db: Database,
    header: rows.GraphHeader,
    probed: Sequence[ProbedFact],
    aliases: Mapping[str, tuple[str, ...]],
    *,
    fence: Fence | None = None,
) -> None:
    """Write a graph of probed facts.

    Args:
        fence: as `graphs.write.write_graph` takes it.
    """
    entities = entities_of([p.question.fact for p in probed], aliases)
    write_graph(db, header, entities, [fact_row(p) for p in probed], fence=fence)


def get_edit(db: Database, edit: str) -> rows.GetEditRow:
    """An edit, by any id that it has had.

    Raises:
        NotFoundError: no such edit; says which are close.
    """
    for _ in range(2):  # two jobs may just become one; then the second look finds it
        found = db.read(rows.GetEditRow, "edits/get_edit", id=edit)
        if found:
            return found[0]
    raise unknown(db, edit)


def stored_score(db: Database, edit: str) -> Score | None:
    """The score of an edit, or None while there is none that can be read."""
    found = db.read(rows.GetEditRow, "edits/get_edit", id=edit)
    return score_of(db, found[0]) if found and readable(found[0].score) else None


def score_of(db: Database, row: rows.GetEditRow) -> Score | None:
    """The score of an edit that was read, or None while there is none.

    Raises:
        NothingStoredError: it is damaged.
    """
    if row.status != "succeeded" or not row.score:
        return None
    return metrics.completed(db, [read_score(row.id, row.score)])[0]


def read_score(edit: str, text: str) -> Score:
    """The stored score of an edit.

    Raises:
        NothingStoredError: it is damaged.
    """
    try:
        return Score.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        where = f" at {place!r}" if place else ""
        raise NothingStoredError(
            f"The stored score of edit {edit!r} is damaged{where}: {first['msg']}.",
            remedy="Score the edit again with `force` (`thinkeval score … --force`), or delete it.",
        ) from error


def readable(text: str | None) -> Score | None:
    """A stored score; None where there is none or it is damaged, for lists of edits."""
    with suppress(NothingStoredError):
        return read_score("", text) if text else None
    return None


def get_score(db: Database, edit: str) -> Score:
    """The score of an edit.

    Raises:
        NotFoundError: no such edit; says which are close.
        NothingStoredError: the edit failed, was cancelled or is still running, or its score is
            damaged.
    """
    row = get_edit(db, edit)
    score = score_of(db, row)
    if score is None:
        raise NothingStoredError(
            f"Edit {edit!r} is {row.status} and has no score: {row.error or row.stage or ''}.",
            remedy=row.remedy or "Wait for it to end, or score it again.",
        )
    return score


def unknown(db: Database, edit: str) -> NotFoundError:
    """The error that says there is no such edit, and which are close."""
    known = [row.id for row in db.read(rows.PageEditRow, "edits/page_edits", limit=1000)]
    return NotFoundError("edit", edit, known, listing="thinkeval results edits")


def list_edits(db: Database, graph: str | None = None) -> list[rows.EditRow]:
    """The recorded edits, oldest first."""
    return db.read(rows.EditRow, "edits/list_edits", dataset=graph)


def scores(
    db: Database,
    edits: Sequence[str],
    *,
    graph: str | None = None,
    model: str | None = None,
    kind: RequestKind = "replace",
    notes: list[str] | None = None,
) -> list[Score]:
    """The scores of these edits; or the newest of each model, method and rewrite.

    Edits whose data set had other content than the stored one are left out, unless they are named.

    The same edit with other hyperparameters, seed or options is another edit; pooling both would
    count a rewrite twice. Of a request to append the newest of each variant is taken.
    Requests of another kind have other metrics: without names, only those of `kind` are.

    Args:
        notes: gets a sentence that counts the edits of other content.

    Raises:
        NothingStoredError: none fits, or they belong to several data sets and none was named.
    """
    if edits:
        named = [get_score(db, edit) for edit in edits]
        if notes is not None and (others := datasets.of_other_content(db) & set(edits)):
            notes.append(_other_content(len(others), "shown"))
        return named
    every = scored_rows(db, kind, graph=graph, model=model)
    others = datasets.of_other_content(db, graph)
    found = [row for row in every if row.id not in others]
    if notes is not None and len(found) < len(every):
        notes.append(_other_content(len(every) - len(found), "left out"))
    if every and not found:
        raise NothingStoredError(
            _other_content(len(every), "left out"),
            remedy="Score them again on the content that is stored, or import the former one.",
        )
    sets = sorted({row.dataset for row in found})
    if len(sets) > 1:
        raise NothingStoredError(
            f"There are edits of several data sets: {', '.join(sets)}.",
            remedy="Name one with --graph; edits of different data sets are never pooled.",
        )
    entries = [((row.model, row.method, row.rewrite, _appended(row, kind)), row) for row in found]
    newest: dict[tuple[str, ...], Score] = {}
    for key, row in reversed(entries):  # a score is long, so only the newest ones are read
        if key not in newest and (score := whole(row)) is not None:
            newest[key] = score
    places = dict.fromkeys(key for key, _ in entries)
    return metrics.completed(db, [newest[key] for key in places if key in newest])


def _other_content(n: int, done: str) -> str:
    """The sentence on edits of other content than the stored one, and what is done with them."""
    return (
        f"{pluralize(n, 'edit')} {done} that {'was' if n == 1 else 'were'} scored on other content"
        " of the graph than is stored now."
    )


def _appended(row: rows.EditRow, kind: RequestKind) -> str:
    """Return how the answer of a request to append was appended; "" of another request."""
    return (
        json.dumps(json.loads(row.score or "")["append"], sort_keys=True)
        if kind == "append"
        else ""
    )


def scores_by(
    db: Database,
    measure: Measure,
    *,
    graph: str | None = None,
    model: str | None = None,
    notes: list[str] | None = None,
) -> list[Score]:
    """The newest scores that methods are compared by, those that hold the measure.

    Args:
        notes: as in `scores`.

    Raises:
        NotFoundError: there is no such graph; close names are suggested.
        NothingStoredError: no edit has the measure; or as `scores`.
    """
    found = scores(db, [], graph=graph, model=model, notes=notes)
    held = [score for score in found if measure in score.measures]
    if not held:
        if graph is not None:
            datasets.require_graph(db, graph)
        chosen = [f"graph {graph!r}"] if graph is not None else []
        chosen += [f"model {model!r}"] if model is not None else []
        of = f" of {' and '.join(chosen)}" if chosen else ""
        raise NothingStoredError(
            f"No scored edit{of} has the measure {measure!r}.",
            remedy="Score some edits first: POST /v1/sweeps.",
        )
    return held


def scored_rows(
    db: Database, kind: RequestKind, *, graph: str | None = None, model: str | None = None
) -> list[rows.EditRow]:
    """The scored edits whose rewrites are of one kind, oldest first; no score is parsed."""
    found = db.read(
        rows.EditRow, "edits/list_edits", dataset=graph, model=model, status="succeeded"
    )
    return [row for row in found if row.score and _kind(row) == kind]


def _kind(row: rows.EditRow) -> RequestKind:
    """The kind of a scored edit's request."""
    return kind_of(row.target_new, appends='"append":{' in (row.score or ""))


def whole(row: rows.EditRow) -> Score | None:
    """The score of an edit that is an entry of a table.

    At another strength, or within a sequence, it is a point of a curve.
    """
    score = read_score(row.id, row.score or "")
    return None if score.provenance.get("strength", 1) != 1 or score.sequence else score


def delete(db: Database, edit: str) -> str:
    """Remove an edit with its graph and score; the id that it had.

    Raises:
        NotFoundError: no such edit.
    """
    row = get_edit(db, edit)
    db.write(rows.DeleteEditRow, "edits/delete_edit", id=row.id)
    return row.id
