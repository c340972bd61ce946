"""What a model answers: to a set's questions, and what it believes of the facts behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from thinkeval.loaders.knowledge_sets import QA, KnowledgeSet

if TYPE_CHECKING:
    from thinkeval.editing.models import LoadedModel

Fact = dict[str, str]
"""{subject, relation, object}, as `depedit/derive` takes it."""


def ask(
    loaded: LoadedModel, texts: Sequence[str], names: Sequence[str], chat: str = "auto"
) -> list[str]:
    """The greedy answers to complete questions, by the model as it stands; in order.

    Args:
        names: names that may hold a dot.
    """
    from thinkeval.editing.probe.greedy import answers

    return answers(loaded, texts, names=names, chat=chat)


def names_of(knowledge: KnowledgeSet) -> tuple[str, ...]:
    """Every object that the set speaks of, before its updates and after."""
    return tuple(dict.fromkeys(qa.object for qa in _all(knowledge)))


def _all(knowledge: KnowledgeSet) -> Iterable[QA]:
    yield from knowledge.specific
    yield from knowledge.unrelated
    yield from (implication.qa for implication in knowledge.implications)
    for copy in knowledge.copies:
        yield from copy.updates
        yield from (implication.qa for implication in copy.updated)


def fact(qa: QA) -> Fact:
    """A fact as it is."""
    return {"subject": qa.subject, "relation": qa.relation, "object": qa.object}


def believed(knowledge: KnowledgeSet, asked: Sequence[QA], said: Sequence[str]) -> list[Fact]:
    """The facts that a model's answers to the set's questions come to.

    An answer that is no name the set speaks of is none: nothing follows from it.
    """
    names = set(names_of(knowledge)) | {qa.subject for qa in _all(knowledge)}
    return [
        {"subject": qa.subject, "relation": qa.relation, "object": answer.strip()}
        for qa, answer in zip(asked, said, strict=True)
        if answer.strip() in names
    ]
