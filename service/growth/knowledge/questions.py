"""The three directions of the pre-edit audit (ThinkEval, appendix A), as items of a probe.

1. `object`: the ordinary question; the object is asked for.
2. `relation`: subject and object are given; the relation is asked for.
3. `truth`: all three are given; yes or no. A control asks the same of an object that is wrong.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from ....editing.joint import joined
from ....editing.probe.settings import ProbeItem
from ....loaders.records import SUBJECT_SLOT, Fact, KnowledgeGraph, unique

CLOZE = "Which name completes this sentence: {cloze} ...?"
RELATION = "In a few words, how is {subject} related to {object}?"
TRUTH = "Is this statement true, yes or no: {statement}?"
_ENDS = re.compile(r"^(?:is|are|was|were|has|had)\s+(?:an?\s+|the\s+)?|\s+(?:is|are|was|were)$")


def of_object(facts: Sequence[Fact], aliases: Mapping[str, tuple[str, ...]]) -> list[ProbeItem]:
    """The ordinary question of each fact; its prompt as a question where it has none."""
    return [
        ProbeItem(
            fact.id,
            filled(fact),
            fact.object,
            question=fact.question or CLOZE.replace("{cloze}", filled(fact)),
            aliases=aliases.get(fact.object, ()),
        )
        for fact in facts
    ]


def of_relation(facts: Sequence[Fact]) -> list[ProbeItem]:
    """Ask how the subject is related to the object; right is any wording of the relation."""
    items = []
    for fact in facts:
        first, *others = relation_names(fact)
        question = RELATION.replace("{subject}", fact.subject).replace("{object}", fact.object)
        items.append(ProbeItem(fact.id, question, first, question=question, aliases=(*others,)))
    return items


def of_truth(facts: Sequence[Fact], objects: Mapping[str, str] | None = None) -> list[ProbeItem]:
    """Ask if the fact is true; right is yes.

    Args:
        objects: by the id of a fact, another object in place of its own.
    """
    items = []
    for fact in facts:
        name = objects[fact.id] if objects else fact.object
        question = TRUTH.replace("{statement}", joined(filled(fact), name))
        items.append(ProbeItem(fact.id, question, "yes", question=question))
    return items


def wrong_objects(facts: Sequence[Fact], graph: KnowledgeGraph) -> dict[str, str]:
    """For each fact an object of its relation that is wrong for its subject.

    The next one in alphabetical order after its own, so that it depends on nothing but the graph; a
    fact whose relation has none is left out.
    """
    of_relation_: dict[str, set[str]] = defaultdict(set)
    right: dict[tuple[str, str], set[str]] = defaultdict(set)
    for fact in graph.facts:
        of_relation_[fact.relation].add(fact.object)
        right[fact.subject, fact.relation].add(fact.object)
    found = {}
    for fact in facts:
        others = of_relation_[fact.relation] - right[fact.subject, fact.relation] - {fact.subject}
        ordered = sorted(others, key=lambda name: (name < fact.object, name))
        if ordered:
            found[fact.id] = ordered[0]
    return found


def filled(fact: Fact) -> str:
    """The fact's prompt with its subject."""
    return fact.prompt.replace(SUBJECT_SLOT, fact.subject, 1)


def relation_names(fact: Fact) -> tuple[str, ...]:
    """Wordings by which an answer names the relation: `studied at`, `went to school at`."""
    texts = [fact.relation.replace("-", " ").replace("_", " ")]
    texts += [
        " ".join(cloze.replace(SUBJECT_SLOT, " ").replace("'s", " ").split())
        for cloze in (fact.prompt, *fact.paraphrases)
    ]
    short = [_ENDS.sub("", text).strip() for text in texts]
    return unique([*texts, *short])
