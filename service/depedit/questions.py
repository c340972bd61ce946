"""Questions of a knowledge set, a model's answers, and the conclusions of the set's rule."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...cypher.rows.depedit import Change, Phase
from ...loaders.knowledge_sets import QA, Copy, KnowledgeSet
from ...loaders.records import Fact, unique
from ...loaders.rule_records import Rule
from ..base.errors import UsageError
from ..models.depedit import Question, Role

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...editing.models import LoadedModel


# Every fact is asked once established, and again for every updated copy. The id of a question has
# set, phase or copy, role and index: `SET|establish|specific|0`, `SET|2|implication|11`.
#
# The setting of a set chooses the templates of its facts:
#
#     CQ_DT   each fact has its own template, for edit and question
#     CQ_UT   all facts of a relation share one template
#     ICQ_DT  each fact has one template for its edit and another for its question
#
# The template of a fact depends on the seed and the fact only, so a fact has the same wording in
# all sets, and is established with the same words in CQ_DT and ICQ_DT. Implications and unrelated
# facts have one template for edit and question in all settings.

Place = tuple[str, Phase, int | None]
"""Knowledge set, phase, updated copy."""


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
    place: Place = (knowledge.id, "establish", None)
    for i, qa in enumerate(knowledge.specific):
        yield _question(place, "specific", i, qa, "kept")
    for i, qa in enumerate(knowledge.unrelated):
        yield _question(place, "unrelated", i, qa, "kept")
    for i, implication in enumerate(knowledge.implications):
        yield _question(place, "implication", i, implication.qa, "kept")


def _update(knowledge: KnowledgeSet, index: int, copy: Copy) -> Iterator[Question]:
    place: Place = (knowledge.id, "update", index)
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
            change: Change = "lost" if implication.qa.key in lost else "kept"
            yield _question(place, "implication", i, implication.qa, change)
    for i, qa in enumerate(now.values(), start=len(knowledge.implications)):
        yield _question(place, "implication", i, qa, "new")


def _question(place: Place, role: Role, index: int, qa: QA, change: Change) -> Question:
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
        established=None,
    )


Statement = dict[str, str]
"""{subject, relation, object}, a parameter of `depedit/derive`."""


def ask(
    loaded: LoadedModel, texts: Sequence[str], names: Sequence[str], chat: str = "auto"
) -> list[str]:
    """Greedy answers of the current model to complete questions, in order.

    Args:
        names: names that may contain a dot.
    """
    from ...editing.probe.greedy import answers

    return answers(loaded, texts, names=names, chat=chat)


def names_of(knowledge: KnowledgeSet) -> tuple[str, ...]:
    """Every object of the set's facts, before and after its updates."""
    return tuple(dict.fromkeys(qa.object for qa in _all(knowledge)))


def _all(knowledge: KnowledgeSet) -> Iterable[QA]:
    yield from knowledge.specific
    yield from knowledge.unrelated
    yield from (implication.qa for implication in knowledge.implications)
    for copy in knowledge.copies:
        yield from copy.updates
        yield from (implication.qa for implication in copy.updated)


def fact(qa: QA) -> Statement:
    """A fact as a statement."""
    return {"subject": qa.subject, "relation": qa.relation, "object": qa.object}


def believed(
    knowledge: KnowledgeSet, facts: Sequence[QA], answers: Sequence[str]
) -> list[Statement]:
    """A model's answers to the questions of facts, as statements.

    Answers that are no name of the set are left out: they entail nothing.
    """
    names = set(names_of(knowledge)) | {qa.subject for qa in _all(knowledge)}
    return [
        {"subject": qa.subject, "relation": qa.relation, "object": answer.strip()}
        for qa, answer in zip(facts, answers, strict=True)
        if answer.strip() in names
    ]


def templates(facts: Iterable[Fact]) -> dict[str, tuple[str, ...]]:
    """{relation: clozes of its facts}, prompts before paraphrases."""
    prompts: dict[str, list[str]] = {}
    paraphrases: dict[str, list[str]] = {}
    for fact in facts:
        prompts.setdefault(fact.relation, []).append(fact.prompt)
        paraphrases.setdefault(fact.relation, []).extend(fact.paraphrases)
    return {r: unique([*prompts[r], *paraphrases[r]]) for r in prompts}


@dataclass(frozen=True, slots=True)
class Wording:
    """The wording of one set.

    Attributes:
        templates: {relation: its clozes}.
        setting: one of SETTINGS.
        seed: random seed of the choice of templates.
    """

    templates: Mapping[str, tuple[str, ...]]
    setting: str
    seed: int

    def require(self, rule: Rule) -> None:
        """Check that the rule's relations have enough templates for the setting.

        Raises:
            UsageError: a relation has none, or in ICQ_DT a premise has only one.
        """
        needed = 2 if self.setting == "ICQ_DT" else 1
        relations = [atom.relation for atom in (*rule.pair, rule.conclusion)]
        for relation, least in zip(relations, (needed, needed, 1), strict=True):
            if (n := len(self.templates.get(relation, ()))) < least:
                raise UsageError(
                    f"{self.setting} needs {least} wordings of a relation, and {relation!r} has"
                    f" {n}.",
                    remedy="Give its facts paraphrases, or build in another setting."
                    if n
                    else "Write templates for it in the rule, or choose another rule.",
                )

    def specific(self, subject: str, relation: str, object_: str) -> QA:
        """A specific fact, with templates for edit and question."""
        qa = self.other(subject, relation, object_)
        if self.setting != "ICQ_DT":
            return qa
        others = [t for t in self.templates[relation] if t != qa.prompt]
        asked = self._draw("asked", subject, relation).choice(others)
        return QA(subject, relation, object_, qa.prompt, asked)

    def other(self, subject: str, relation: str, object_: str) -> QA:
        """An unrelated fact or an implication, with one template."""
        key = ("",) if self.setting == "CQ_UT" else (subject,)
        prompt = self._draw("prompt", *key, relation).choice(self.templates[relation])
        return QA(subject, relation, object_, prompt, prompt)

    def _draw(self, *about: str) -> random.Random:
        return random.Random("|".join((str(self.seed), *about)))


# Conclusions of a set's rule from edited facts and a model's answers (`depedit/derive`).

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A conclusion and its premises.

    Attributes:
        source: index of the new fact.
        premises: subject and relation of both premises, in the rule's order.
    """

    source: int
    subject: str
    relation: str
    object: str
    premises: tuple[Key, Key]

    @property
    def key(self) -> Key:
        """Its subject and relation."""
        return (self.subject, self.relation)


def derived(
    db: Database, rule: Rule, new: Sequence[Statement], known: Sequence[Statement]
) -> list[Conclusion]:
    """All conclusions from a new fact and a known one, in a stable order."""
    from ...cypher import rows

    relation1, relation2 = (atom.relation for atom in rule.pair)
    conclusion = rule.conclusion.relation
    inverse1, inverse2 = rule.inverse
    found = db.read(
        rows.DeriveRow,
        "depedit/derive",
        new=list(new),
        known=list(known),
        relation1=relation1,
        relation2=relation2,
        inverse1=inverse1,
        inverse2=inverse2,
    )
    return [
        Conclusion(
            row.fact,
            row.subject,
            conclusion,
            row.object,
            ((row.first, relation1), (row.second, relation2)),
        )
        for row in found
    ]


def closed(
    db: Database, rule: Rule, new: Sequence[Statement], known: Sequence[Statement]
) -> list[Conclusion]:
    """All conclusions from the new facts, round by round, to the fixpoint.

    A conclusion of a round is a new fact of the next one, and replaces the known fact of the same
    subject and relation; new facts and conclusions of earlier rounds are never replaced. So each
    round adds new keys, and as subjects are names of the facts, the rounds terminate.
    """
    taken = {(fact["subject"], fact["relation"]) for fact in new}
    found: list[Conclusion] = []
    while new:
        fresh = [
            one for one in decided(derived(db, rule, new, known)).values() if one.key not in taken
        ]
        found += fresh
        taken |= {one.key for one in fresh}
        if rule.relations[2] not in rule.relations[:2]:
            break  # conclusions are no premises
        new = [
            {"subject": one.subject, "relation": one.relation, "object": one.object}
            for one in fresh
        ]
        over = {one.key for one in fresh}
        known = [f for f in known if (f["subject"], f["relation"]) not in over] + new
    return found


def decided(conclusions: Sequence[Conclusion]) -> dict[Key, Conclusion]:
    """One conclusion for each subject and relation: the object with most proofs.

    Of objects with equally many proofs, that of the first proof, in the order of `derived`. A proof
    counts once, whichever of its premises is the new one.
    """
    proofs: dict[Key, dict[str, dict[tuple[Key, Key], Conclusion]]] = {}
    for one in conclusions:
        by_object = proofs.setdefault(one.key, {})
        by_object.setdefault(one.object, {}).setdefault(one.premises, one)
    return {
        key: next(iter(max(by_object.values(), key=len).values()))
        for key, by_object in proofs.items()
    }
