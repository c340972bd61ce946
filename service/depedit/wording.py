"""How a set's facts are asked for: one template for all, one for each, or another than was taught.

    CQ_DT   each fact has a template of its own, and is asked for by the same
    CQ_UT   all facts of a relation share one
    ICQ_DT  each fact has a template of its own, and is asked for by another

What is drawn for a fact depends on the seed and the fact only, so a fact is worded alike wherever
it stands, and the same facts are established by the same words in CQ_DT and ICQ_DT. Implications
and unrelated facts are asked for as they would be edited in all three (nobody edits them).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from thinkeval.loaders.knowledge_sets import QA
from thinkeval.loaders.records import Fact, unique
from thinkeval.loaders.rule_records import Rule
from thinkeval.service.errors import UsageError


def templates(facts: Iterable[Fact]) -> dict[str, tuple[str, ...]]:
    """{relation: the clozes by which its facts are asked for}, prompts before paraphrases."""
    prompts: dict[str, list[str]] = {}
    paraphrases: dict[str, list[str]] = {}
    for fact in facts:
        prompts.setdefault(fact.relation, []).append(fact.prompt)
        paraphrases.setdefault(fact.relation, []).extend(fact.paraphrases)
    return {r: unique([*prompts[r], *paraphrases[r]]) for r in prompts}


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of one set.

    Attributes:
        templates: {relation: its clozes}.
        setting: one of SETTINGS.
        seed: of what is drawn.
    """

    templates: Mapping[str, tuple[str, ...]]
    setting: str
    seed: int

    def require(self, rule: Rule) -> None:
        """Make sure that the rule's relations have words enough for the setting.

        Raises:
            UsageError: a relation has none, or in ICQ_DT a premise only one.
        """
        needed = 2 if self.setting == "ICQ_DT" else 1
        for relation, least in zip(rule.relations, (needed, needed, 1), strict=True):
            if (n := len(self.templates.get(relation, ()))) < least:
                raise UsageError(
                    f"{self.setting} needs {least} wordings of a relation, and {relation!r} has"
                    f" {n}.",
                    remedy="Give its facts paraphrases, or build in another setting."
                    if n
                    else "Write templates for it in the rule, or take another rule.",
                )

    def specific(self, subject: str, relation: str, object_: str) -> QA:
        """A specific fact, which is edited and asked for."""
        qa = self.other(subject, relation, object_)
        if self.setting != "ICQ_DT":
            return qa
        others = [t for t in self.templates[relation] if t != qa.prompt]
        asked = self._draw("asked", subject, relation).choice(others)
        return QA(subject, relation, object_, qa.prompt, asked)

    def other(self, subject: str, relation: str, object_: str) -> QA:
        """An unrelated fact or an implication."""
        key = ("",) if self.setting == "CQ_UT" else (subject,)
        prompt = self._draw("prompt", *key, relation).choice(self.templates[relation])
        return QA(subject, relation, object_, prompt, prompt)

    def _draw(self, *about: str) -> random.Random:
        return random.Random("|".join((str(self.seed), *about)))
