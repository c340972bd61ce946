"""Knowledge sets, and runs of the protocol with their answers, in the database.

A set or run is saved in one transaction, and a loaded set equals the saved one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ...cypher import rows
from ...loaders.depedit_records import from_json, to_json
from ...loaders.knowledge_sets import KnowledgeSet
from ...loaders.records import digest
from ..base.errors import ConflictError, NotFoundError, UsageError
from ..base.formatting import pluralize
from ..base.paging import next_offset, read_offset
from ..models.depedit import Question
from .questions import questions

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ..graphs.write import Fence


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer to one question.

    Attributes:
        question: `Question.id`, which includes phase and copy.
        answer: as decoded; stored and compared without leading and trailing white space.
    """

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One strategy on one knowledge set with one model.

    Attributes:
        knowledge_set: id of the set.
        strategy: its key, such as `forwchain`.
        editor: the editing method it wraps; None without one.
        model: short name of the model.
        hparams: everything else that the answers depend on (hyperparameters, seeds, weights'
            digest); part of the id.
        seconds: duration, if measured; not part of the id.
    """

    knowledge_set: str
    strategy: str
    editor: str | None
    model: str
    hparams: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None

    @property
    def id(self) -> str:
        """A stable id: a repeated run of the same set has the same id, and replaces the first."""
        parts = [self.knowledge_set, self.strategy, self.editor, self.model, dict(self.hparams)]
        return f"{self.knowledge_set}.{self.method}.{digest(parts, 8)}"

    @property
    def method(self) -> str:
        """Label in tables: the strategy and the editor it wraps."""
        return self.strategy if self.editor is None else f"{self.editor}+{self.strategy}"


__all__ = [
    "Saved",
    "answers_of",
    "delete_run",
    "delete_set",
    "list_runs",
    "list_sets",
    "load_set",
    "page_runs",
    "page_sets",
    "save_run",
    "save_set",
]

LISTING = "thinkeval lab depedit list"


@dataclass(frozen=True, slots=True)
class Saved:
    """Result of saving a set: `saved`, `replaced` or `unchanged`."""

    id: str
    status: Literal["saved", "replaced", "unchanged"]


def save_set(db: Database, knowledge: KnowledgeSet, *, replace: bool = False) -> Saved:
    """Store a set with its questions, in one transaction; idempotent.

    Args:
        replace: replace a stored set with the same id and other content, and delete its runs.

    Raises:
        ConflictError: a set with this id and other content is stored, and `replace` is not set.
    """
    body = to_json(knowledge)
    content = digest(body)
    stored = db.read(rows.KnowledgeSetRow, "depedit/list_sets", ids=[knowledge.id])
    if stored and stored[0].content_digest == content:
        return Saved(knowledge.id, "unchanged")
    if stored and not replace:
        raise ConflictError(
            f"A knowledge set {knowledge.id!r} is stored already, with other content"
            f" ({pluralize(stored[0].n_runs, 'run')} of it).",
            remedy="Replace it with --replace, which deletes its runs too.",
        )

    def write(tx: Tx) -> None:
        tx.run(rows.DeleteSetRow, "depedit/delete_set", id=knowledge.id)
        tx.run(
            rows.WrittenRow,
            "depedit/merge_set",
            id=knowledge.id,
            dataset=knowledge.dataset,
            setting=knowledge.setting,
            seed=knowledge.seed,
            init=knowledge.init,
            rule=knowledge.rule.id,
            text=knowledge.rule.text(),
            body=json.dumps(body, ensure_ascii=False),
            content_digest=content,
            questions=[_question_row(q) for q in questions(knowledge)],
        )

    db.atomically(write)
    return Saved(knowledge.id, "replaced" if stored else "saved")


def load_set(db: Database, id: str) -> KnowledgeSet:
    """A stored set, equal to the saved one.

    Raises:
        NotFoundError: no such set; suggests similar ids.
    """
    body = _set_row(db, id, bodies=True).body
    return from_json(json.loads(body or "{}"), id)


def list_sets(
    db: Database, *, dataset: str | None = None, setting: str | None = None
) -> list[rows.KnowledgeSetRow]:
    """The stored sets, by id, without their bodies."""
    return db.read(rows.KnowledgeSetRow, "depedit/list_sets", dataset=dataset, setting=setting)


def page_sets(
    db: Database, limit: int, cursor: str | None = None, **only: str | None
) -> tuple[list[rows.KnowledgeSetRow], str | None, int]:
    """One page of the sets: (sets by id, cursor of the next page or None, total number).

    Args:
        only: `dataset`, `setting`.
    """
    skip = read_offset(cursor)
    found = db.read(rows.KnowledgeSetRow, "depedit/list_sets", skip=skip, limit=limit, **only)
    total = db.read(int, "depedit/count_sets", **only)[0]
    return found, next_offset(skip + limit, total), total


def delete_set(db: Database, id: str) -> int:
    """Delete a set with its questions and runs; the number of deleted runs.

    Raises:
        NotFoundError: no such set.
    """
    _set_row(db, id)
    return db.write(rows.DeleteSetRow, "depedit/delete_set", id=id)[0].runs


def save_run(
    db: Database, run: RunRecord, answers: Sequence[Answer], fence: Fence | None = None
) -> str:
    """Store a run and its answers, in one transaction; replaces a run with the same id.

    Args:
        answers: one for each of `questions(set)`, in any order.
        fence: called within the transaction; raises to have it rolled back.

    Returns:
        The run's id.

    Raises:
        NotFoundError: its set is not stored.
        UsageError: a question without an answer, with two, or of another set.
    """
    knowledge = load_set(db, run.knowledge_set)
    _require_complete(knowledge, answers)

    def write(tx: Tx) -> None:
        tx.run(
            rows.WrittenRow,
            "depedit/merge_run",
            id=run.id,
            knowledge_set=run.knowledge_set,
            strategy=run.strategy,
            editor=run.editor,
            method=run.method,
            model=run.model,
            hparams=json.dumps(dict(run.hparams), ensure_ascii=False, sort_keys=True),
            seconds=run.seconds,
            answers=[{"question": a.question, "answer": a.answer.strip()} for a in answers],
        )
        if fence is not None:
            fence(tx.run)

    db.atomically(write)
    return run.id


def list_runs(
    db: Database,
    *,
    sets: Sequence[str] | None = None,
    dataset: str | None = None,
    setting: str | None = None,
    model: str | None = None,
) -> list[rows.ProtocolRunRow]:
    """The stored runs, oldest first."""
    return db.read(
        rows.ProtocolRunRow,
        "depedit/list_runs",
        knowledge_sets=None if sets is None else list(sets),
        dataset=dataset,
        setting=setting,
        model=model,
    )


def page_runs(
    db: Database,
    limit: int,
    cursor: str | None = None,
    *,
    sets: Sequence[str] | None = None,
    **only: str | None,
) -> tuple[list[rows.ProtocolRunRow], str | None, int]:
    """One page of the runs: (runs, oldest first, cursor of the next page or None, total number).

    Args:
        only: `dataset`, `setting`, `model`.

    Raises:
        UsageError: the cursor is not one of ours.
    """
    skip = read_offset(cursor)
    wanted = {"knowledge_sets": None if sets is None else list(sets), **only}
    found = db.read(rows.ProtocolRunRow, "depedit/list_runs", skip=skip, limit=limit, **wanted)
    total = db.read(int, "depedit/count_runs", **wanted)[0]
    return found, next_offset(skip + limit, total), total


def answers_of(db: Database, run: str) -> list[rows.AnsweredRow]:
    """The answers of a run, each with the expected and the established answer.

    Raises:
        NotFoundError: no such run.
    """
    _run_row(db, run)
    return db.read(rows.AnsweredRow, "depedit/answers", run=run)


def delete_run(db: Database, id: str) -> None:
    """Delete a run with its answers, not its set. NotFoundError if there is none."""
    _run_row(db, id)
    db.write(int, "depedit/delete_run", id=id)


def _set_row(db: Database, id: str, *, bodies: bool = False) -> rows.KnowledgeSetRow:
    found = db.read(rows.KnowledgeSetRow, "depedit/list_sets", ids=[id], bodies=bodies)
    if not found:
        known = [row.id for row in db.read(rows.KnowledgeSetRow, "depedit/list_sets")]
        raise NotFoundError("knowledge set", id, known, listing=LISTING)
    return found[0]


def _run_row(db: Database, id: str) -> rows.ProtocolRunRow:
    found = db.read(rows.ProtocolRunRow, "depedit/list_runs", ids=[id])
    if not found:
        known = [row.id for row in db.read(rows.ProtocolRunRow, "depedit/list_runs")]
        raise NotFoundError("run", id, known, listing=f"{LISTING} --runs")
    return found[0]


def _require_complete(knowledge: KnowledgeSet, answers: Sequence[Answer]) -> None:
    wanted = {q.id for q in questions(knowledge)}
    given = [a.question for a in answers]
    unexpected, missing = sorted(set(given) - wanted), sorted(wanted - set(given))
    if unexpected or missing or len(given) != len(set(given)):
        other = f"{unexpected[0]!r} is none of its questions" if unexpected else "one is repeated"
        problem = f"{missing[0]!r} has no answer" if missing else other
        raise UsageError(
            f"The answers do not fit the knowledge set {knowledge.id!r}: it has {len(wanted)}"
            f" questions, there are {len(given)} answers, and {problem}.",
            remedy="Give one answer to each of its questions.",
        )


def _question_row(question: Question) -> dict[str, object]:
    return {
        "id": question.id,
        "phase": question.phase,
        "copy": question.copy,
        "role": question.role,
        "subject": question.subject,
        "relation": question.relation,
        "question": question.asked,
        "expected": None if question.expected is None else question.expected.strip(),
        "change": question.change,
        "established": question.established,
    }
