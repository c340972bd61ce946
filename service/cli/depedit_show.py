"""What `thinkeval depedit show` prints: the questions of a set, the answers of a run."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from thinkeval.service.cli.options import emit_json, emit_table
from thinkeval.service.depedit import store
from thinkeval.service.depedit.metrics import TITLES
from thinkeval.service.depedit.questions import Question, questions
from thinkeval.service.errors import NotFoundError

if TYPE_CHECKING:
    from thinkeval.cypher.run import Database
    from thinkeval.loaders.knowledge_sets import KnowledgeSet


def show_set(knowledge: KnowledgeSet, copy: int | None, *, json: bool) -> None:
    """The questions of the establish phase, or of one copy."""
    _require_copy(knowledge.id, copy, len(knowledge.copies))
    asked = [q for q in questions(knowledge) if q.copy == copy]
    if json:
        emit_json(
            {
                "id": knowledge.id,
                "dataset": knowledge.dataset,
                "setting": knowledge.setting,
                "seed": knowledge.seed,
                "rule": knowledge.rule.text(),
                "questions": [asdict(q) for q in asked],
            }
        )
        return
    phase = "established" if copy is None else f"copy {copy}"
    emit_table(
        f"{knowledge.id}: {phase}",
        ["role", "taught as", "asked", "answer", "change"],
        [(q.role, _taught(q), q.asked, q.expected, q.change) for q in asked],
        note=f"{knowledge.rule.text()} {knowledge.setting}, seed {knowledge.seed},"
        f" {len(knowledge.copies)} updated copies",
    )


def _taught(question: Question) -> str | None:
    """How a fact is edited, where that is another question than is asked."""
    taught = question.prompt.replace("{}", question.subject, 1)
    return None if taught == question.asked else taught


def show_run(db: Database, run: str, copy: int | None, *, json: bool) -> None:
    """The metrics of a run, and its answers in the establish phase or one copy."""
    shares = store.metrics_of(db, run)
    found = store.answers_of(db, run)
    copies = {a.copy for a in found if a.copy is not None}
    _require_copy(run, copy, len(copies))
    answers = [a for a in found if a.copy == copy]
    if json:
        emit_json(
            {
                "id": run,
                "metrics": {name: asdict(share) for name, share in shares.items()},
                "answers": [asdict(a) for a in answers],
            }
        )
        return
    emit_table(
        run,
        ["metric", "share", "answers", "copies"],
        [(TITLES[name], s.value, s.n, s.copies) for name, s in shares.items()],
    )
    emit_table(
        "established" if copy is None else f"copy {copy}",
        ["role", "asked", "right", "answer", "established", "change"],
        [(a.role, a.asked, a.expected, a.answer, a.established, a.change) for a in answers],
    )


def _require_copy(name: str, copy: int | None, there_are: int) -> None:
    if copy is not None and copy >= there_are:
        known = [str(i) for i in range(there_are)]
        raise NotFoundError(
            f"copy of {name!r}", str(copy), known, listing=f"thinkeval depedit show {name}"
        )
