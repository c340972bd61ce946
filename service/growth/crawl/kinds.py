"""Kinds of entities by the model's answers, and the relations that are asked of each kind.

A relation is asked of an entity whose kind was seen with it: the kinds that the model gives to a
few subjects of the relation in the graph that the relations are from.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ....editing.probe.matching import first_sentence, normalise
from ....loaders.records import SUBJECT_SLOT, Fact, KnowledgeGraph
from .unknowns import is_refusal, is_unknown

KIND_PROMPT = f"{SUBJECT_SLOT} is a"
KIND_QUESTION = f"What is {SUBJECT_SLOT}? Answer with one word for its kind."
KIND_SAMPLES = 4
"""Answers about a kind for each answer to a wording: about as many as a question has in all."""
EXAMPLES = 2
"""Subjects of each kind that are asked for each relation; where no kinds are stored, four times."""

_ARTICLE = re.compile(r"^(?:an?|the) ")


def kind_of(answers: Iterable[str], not_kinds: Sequence[str] = ()) -> str | None:
    """The kind that most answers give, the first of equals; None if none gives any.

    Args:
        not_kinds: how answers begin that state a fact (`not_kinds`). Where all do, the word before
            the relation's last one is the kind: "house" of "house at Hogwarts".
    """
    kinds = [kind for kind in map(_kind, answers) if kind]
    stated = {kind: next((s for s in not_kinds if kind.startswith(s)), None) for kind in kinds}
    counts = Counter(kind for kind in kinds if stated[kind] is None)
    counts = counts or Counter((stated[kind] or "").rsplit(" ", 2)[0] for kind in kinds)
    return max(counts, key=counts.__getitem__) if counts else None


def not_kinds(templates: Iterable[str]) -> tuple[str, ...]:
    """Return continuations of "X is a" in the templates ("X is a sibling of"): facts, not kinds."""
    return tuple(
        sorted(
            {
                normalise(template[len(KIND_PROMPT) :]) + " "
                for template in templates
                if template.startswith(KIND_PROMPT + " ")
            }
        )
    )


def examples(graph: KnowledgeGraph) -> dict[str, tuple[str, ...]]:
    """For each relation a few of its subjects, of each stored kind."""
    kinds = {entity.name: entity.kind for entity in graph.entities}
    found: dict[str, dict[str | None, list[str]]] = {}
    for fact in sorted(graph.facts, key=_order):
        names = found.setdefault(fact.relation, {}).setdefault(kinds.get(fact.subject), [])
        if fact.subject not in names:
            names.append(fact.subject)
    return {
        relation: tuple(
            name
            for kind, names in by_kind.items()
            for name in names[: EXAMPLES if kind else 4 * EXAMPLES]
        )
        for relation, by_kind in found.items()
    }


class Gate:
    """The relations that are asked of a kind.

    An entity whose kind is not known, or was seen with no relation at all, is asked for all.

    Args:
        kinds: the kinds of the subjects seen with each relation.
    """

    def __init__(self, kinds: Mapping[str, Iterable[str | None]]) -> None:
        self._kinds = {relation: {k for k in of if k} for relation, of in kinds.items()}
        self._seen = set().union(*self._kinds.values()) if self._kinds else set()

    def allows(self, kind: str | None, relation: str) -> bool:
        """Return True if the relation is asked of an entity of that kind."""
        wanted = self._kinds.get(relation)
        return not wanted or kind is None or kind not in self._seen or kind in wanted


def _kind(answer: str) -> str:
    if is_unknown(answer) or is_refusal(answer):
        return ""
    return _ARTICLE.sub("", normalise(first_sentence(answer[:200])))


def _order(fact: Fact) -> tuple[str, str]:
    return fact.relation, fact.subject
