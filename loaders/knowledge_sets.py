"""Knowledge sets of the establish-and-update protocol (DepEdit, sections 3.1 to 3.4 and 5.1).

A set has a rule, specific facts to which the rule applies, the implications that they entail, and
unrelated facts. Each copy of the set changes some specific facts, and thereby some implications.

Frozen records in plain Python; `loaders/depedit.py` reads and writes them as JSONL.
"""

from __future__ import annotations

from dataclasses import dataclass

from .records import SUBJECT_SLOT
from .rule_records import Rule

SETTINGS = ("CQ_DT", "CQ_UT", "ICQ_DT")
"""Consistent or inconsistent questions, diverse or uniform templates (section 5.1, table 2)."""


@dataclass(frozen=True, slots=True)
class QA:
    """A fact as question and answer, T(f).

    Attributes:
        prompt: cloze with one `{}` for the subject, used to establish and edit the fact.
        asked: cloze used to probe it; the same in the CQ settings, another in ICQ.
    """

    subject: str
    relation: str
    object: str
    prompt: str
    asked: str

    @property
    def question(self) -> str:
        """The complete question, with the subject."""
        return self.asked.replace(SUBJECT_SLOT, self.subject, 1)

    @property
    def key(self) -> tuple[str, str]:
        """Subject and relation."""
        return (self.subject, self.relation)


@dataclass(frozen=True, slots=True)
class Implication:
    """A conclusion that two specific facts entail by the rule.

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
        updated: newly entailed implications: those with another object, and new ones. Upd.I is
            measured on them.
        kept: keys of the implications that are entailed as before; Cons.NI is measured on them.
        lost: keys of the implications that are no longer entailed; in neither metric.
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
        dataset: the graph from which it was built; "" for a set from a file.
        setting: one of SETTINGS.
        seed: seed of all random draws.
        specific: facts to which the rule applies (24 in the paper).
        unrelated: facts of other relations (5).
        implications: conclusions that `specific` entails by the rule (12).
        copies: 3, with 20 updates each.
        init: origin of its facts: `stored` as in the graph (a model may know them), `shuffled`
            among their subjects (it cannot know them), or a `file`.
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
        """The specific facts after the update, in the same order."""
        new = {qa.key: qa for qa in copy.updates}
        return tuple(new.get(qa.key, qa) for qa in self.specific)
