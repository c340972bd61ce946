"""Knowledge sets: what establish-and-update asks of a model (DepEdit, sections 3.1 to 3.4, 5.1).

A set has specific facts, over which its rule holds, unrelated facts, the rule, and the implications
that follow. Each copy of it changes some specific facts, and with them some implications.

Frozen records in plain Python; `loaders.depedit` reads and writes them as JSONL.
"""

from __future__ import annotations

from dataclasses import dataclass

from thinkeval.loaders.records import SUBJECT_SLOT
from thinkeval.loaders.rule_records import Rule

SETTINGS = ("CQ_DT", "CQ_UT", "ICQ_DT")
"""Consistent or inconsistent questions, diverse or uniform templates (section 5.1, table 2)."""


@dataclass(frozen=True, slots=True)
class QA:
    """A fact as question and answer, T(f).

    Attributes:
        prompt: cloze with one `{}` for the subject, by which it is established and edited.
        asked: cloze by which it is asked; the same in the CQ settings, another in ICQ.
    """

    subject: str
    relation: str
    object: str
    prompt: str
    asked: str

    @property
    def question(self) -> str:
        """The complete question that is asked."""
        return self.asked.replace(SUBJECT_SLOT, self.subject, 1)

    @property
    def key(self) -> tuple[str, str]:
        """Subject and relation: what the question is about."""
        return (self.subject, self.relation)


@dataclass(frozen=True, slots=True)
class Implication:
    """What follows from two specific facts by the rule.

    Attributes:
        premises: the two facts' keys, the rule's first premise first.
    """

    qa: QA
    premises: tuple[tuple[str, str], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Copy:
    """One version of a set after its update.

    Attributes:
        updates: the specific facts with another object than before, by key.
        updated: implications that hold now and did not before: those with another object, and new
            ones. These are what Upd.I asks for.
        kept: keys of the implications that hold as before (what Cons.NI asks for).
        lost: keys of the implications that follow from nothing now. Neither metric asks for them.
    """

    updates: tuple[QA, ...]
    updated: tuple[Implication, ...]
    kept: tuple[tuple[str, str], ...]
    lost: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class KnowledgeSet:
    """One simulation of the protocol.

    Attributes:
        id: unique within its data set, readable.
        dataset: the graph it was built from; "" where it came from a file.
        setting: one of SETTINGS.
        seed: of everything that was drawn.
        specific: facts over which the rule holds (24 in the paper).
        unrelated: facts of other relations (5).
        implications: what follows from `specific` by the rule (12).
        copies: 3, with 20 updates each.
        init: where its facts come from: `stored` as the graph has them (a model may know them),
            `shuffled` among their subjects (it cannot), or a `file`.
    """

    id: str
    dataset: str
    setting: str
    seed: int
    rule: Rule
    specific: tuple[QA, ...]
    unrelated: tuple[QA, ...]
    implications: tuple[Implication, ...]
    copies: tuple[Copy, ...]
    init: str = "stored"

    def after(self, copy: Copy) -> tuple[QA, ...]:
        """The specific facts as they are after the update, in the same order."""
        new = {qa.key: qa for qa in copy.updates}
        return tuple(new.get(qa.key, qa) for qa in self.specific)
