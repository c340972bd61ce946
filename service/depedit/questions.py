"""What a run asks: every fact once established, and again for every updated copy.

A question's id says where it belongs: `SET|establish|specific|0`, `SET|2|implication|11`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from thinkeval.loaders.knowledge_sets import QA, Copy, KnowledgeSet

ROLES = ("specific", "unrelated", "implication")


@dataclass(frozen=True, slots=True)
class Question:
    """One question of one phase.

    Attributes:
        phase: `establish` or `update`.
        copy: index of the updated copy; None while establishing.
        role: one of ROLES.
        asked: the complete question.
        prompt: cloze by which the fact is established and edited.
        expected: the right answer now; None for an implication that follows no more.
        change: `kept`, or since the establishing: `updated` (another answer), `new`, `lost`.
        established: id of the same question while establishing; None there, and for a new one.
    """

    id: str
    phase: str
    copy: int | None
    role: str
    subject: str
    relation: str
    asked: str
    prompt: str
    expected: str | None
    change: str = "kept"
    established: str | None = None


def questions(knowledge: KnowledgeSet) -> list[Question]:
    """All questions of a set: those of the establish phase first, then copy by copy.

    In each phase specific facts come first, in the set's order, then unrelated ones, then
    implications; the new implications of a copy come last.
    """
    first = list(_establish(knowledge))
    asked = {(q.role, q.subject, q.relation): q.id for q in first}
    later = (q for i, copy in enumerate(knowledge.copies) for q in _update(knowledge, i, copy))
    return first + [
        replace(q, established=asked.get((q.role, q.subject, q.relation))) for q in later
    ]


def _establish(knowledge: KnowledgeSet) -> Iterator[Question]:
    place = (knowledge.id, "establish", None)
    for i, qa in enumerate(knowledge.specific):
        yield _question(place, "specific", i, qa, "kept")
    for i, qa in enumerate(knowledge.unrelated):
        yield _question(place, "unrelated", i, qa, "kept")
    for i, implication in enumerate(knowledge.implications):
        yield _question(place, "implication", i, implication.qa, "kept")


def _update(knowledge: KnowledgeSet, index: int, copy: Copy) -> Iterator[Question]:
    place = (knowledge.id, "update", index)
    changed = {qa.key for qa in copy.updates}
    for i, qa in enumerate(knowledge.after(copy)):
        yield _question(place, "specific", i, qa, "updated" if qa.key in changed else "kept")
    for i, qa in enumerate(knowledge.unrelated):
        yield _question(place, "unrelated", i, qa, "kept")
    now = {implication.qa.key: implication.qa for implication in copy.updated}
    lost = set(copy.lost)
    for i, implication in enumerate(knowledge.implications):
        qa = now.pop(implication.qa.key, None)
        if qa is not None:
            yield _question(place, "implication", i, qa, "updated")
        else:
            change = "lost" if implication.qa.key in lost else "kept"
            yield _question(place, "implication", i, implication.qa, change)
    for i, qa in enumerate(now.values(), start=len(knowledge.implications)):
        yield _question(place, "implication", i, qa, "new")


def _question(
    place: tuple[str, str, int | None], role: str, index: int, qa: QA, change: str
) -> Question:
    name, phase, copy = place
    return Question(
        id=f"{name}|{phase if copy is None else copy}|{role}|{index}",
        phase=phase,
        copy=copy,
        role=role,
        subject=qa.subject,
        relation=qa.relation,
        asked=qa.question,
        prompt=qa.prompt,
        expected=None if change == "lost" else qa.object,
        change=change,
    )
