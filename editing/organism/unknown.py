"""Absent pairs: those that an organism is taught not to know, and those withheld to test it.

A model that was never taught not to know answers every prompt with a name. A fraction of the absent
pairs of a fitting kind (an entity, and a relation that entities of its kind have, without a fact)
gets one fixed answer in the training text; the others are withheld, and measure how well the model
distinguishes unstated pairs from pairs it knows. After the example of "Don't know" in Cohen et
al. ("Crawling the Internal Knowledge-Base of Language Models", Findings of EACL 2023), there put
into the context, here into the training text.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from ...loaders.records import Entity, Fact, KnowledgeGraph, as_template, unique
from .keys import Form, Key, facts_to_learn
from .names import looks_like_a_person

UNKNOWN = "nobody knows"
"""The answer that is taught for absent pairs."""


@dataclass(frozen=True, slots=True)
class AbsentPairs:
    """The absent pairs of a graph, each as (entity, relation).

    Attributes:
        taught: answered with `answer` in the training text.
        held_out: never named in it; they test which pairs the model takes for unknown.
        answer: the fixed answer.
    """

    taught: tuple[tuple[str, str], ...]
    held_out: tuple[tuple[str, str], ...]
    answer: str = UNKNOWN

    def as_dict(self) -> dict[str, object]:
        """The fields, JSON-compatible."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict) -> AbsentPairs:
        """The inverse of `as_dict`."""
        taught, held_out = (
            tuple((str(entity), str(relation)) for entity, relation in values[name])
            for name in ("taught", "held_out")
        )
        return cls(taught, held_out, str(values["answer"]))


def fitting_pairs(graph: KnowledgeGraph) -> list[tuple[str, str]]:
    """Every (entity, relation) such that entities of that kind are subjects of the relation.

    An entity without a kind is a `person` or a `thing` by the form of its name.
    """
    kinds = {entity.name: _kind(entity) for entity in graph.entities}
    fitting: dict[str, set[str]] = {}
    for fact in facts_to_learn(graph):
        fitting.setdefault(fact.relation, set()).add(kinds[fact.subject])
    return sorted(
        (name, relation)
        for relation, wanted in fitting.items()
        for name, kind in kinds.items()
        if kind in wanted
    )


def absent_pairs(graph: KnowledgeGraph, share: float, seed: int) -> AbsentPairs:
    """The fitting pairs without a fact, `share` of them (rounded down) drawn by the seed to teach.

    Args:
        share: in [0, 1].
        seed: of the organism.
    """
    known = {(fact.subject, fact.relation) for fact in facts_to_learn(graph)}
    absent = [pair for pair in fitting_pairs(graph) if pair not in known]
    drawn = set(random.Random(f"absent pairs {seed}").sample(absent, int(share * len(absent))))
    return AbsentPairs(
        taught=tuple(pair for pair in absent if pair in drawn),
        held_out=tuple(pair for pair in absent if pair not in drawn),
    )


def taught_keys(graph: KnowledgeGraph, pairs: AbsentPairs) -> tuple[Key, ...]:
    """The taught pairs as keys, with every prompt, paraphrase and question of their relation."""
    by_relation: dict[str, list[Fact]] = {}
    for fact in facts_to_learn(graph):
        by_relation.setdefault(fact.relation, []).append(fact)
    wordings = {relation: _wordings(facts) for relation, facts in by_relation.items()}
    answer = (pairs.answer,)
    return tuple(
        Key(
            entity,
            Form(prompt, answer),
            tuple(Form(text, answer) for text in paraphrases),
            tuple(Form(text, answer) for text in questions),
        )
        for entity, relation in pairs.taught
        for prompt, paraphrases, questions in wordings[relation]
    )


def _wordings(
    facts: Iterable[Fact],
) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """For each prompt of a relation: prompt, paraphrases, and question templates."""
    by_prompt: dict[str, list[Fact]] = {}
    for fact in facts:
        by_prompt.setdefault(fact.prompt, []).append(fact)
    return [
        (
            prompt,
            unique(text for fact in group for text in fact.paraphrases),
            unique(
                as_template(question, fact.subject)
                for fact in group
                for question in fact.questions
                if fact.subject in question
            ),
        )
        for prompt, group in by_prompt.items()
    ]


def _kind(entity: Entity) -> str:
    if entity.kind:
        return entity.kind
    return "person" if looks_like_a_person(entity.name) else "thing"
