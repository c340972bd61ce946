"""Relations that the rules know without a base graph: their words, questions and relation names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ....loaders.records import SUBJECT_SLOT, KnowledgeGraph, unique
from ..relations import Template, templates_of


@dataclass(frozen=True, slots=True)
class Pattern:
    """The words of one relation: a cloze whose object follows, and which relation it states."""

    relation: str
    cloze: str


GENERAL: dict[str, Template] = {
    "was born in": Template("{} was born in", ("Where was {} born?",), ("{} comes from",)),
    "died in": Template("{} died in", ("Where did {} die?",)),
    "is the capital of": Template("{} is the capital of", ("Which country is {} the capital of?",)),
    "works at": Template("{} works at", ("Where does {} work?",), ("{} worked at",)),
    "works for": Template("{} works for", ("Who does {} work for?",), ("{} worked for",)),
    "lives in": Template("{} lives in", ("Where does {} live?",), ("{} lived in",)),
    "studied at": Template(
        "{} studied at",
        ("Where did {} study?",),
        ("{} attended", "{} graduated from", "{} went to school at"),
    ),
    "teaches at": Template("{} teaches at", ("Where does {} teach?",), ("{} taught at",)),
    "is located in": Template(
        "{} is located in", ("Where is {} located?",), ("{} lies in", "{} is situated in")
    ),
    "is part of": Template(
        "{} is part of", ("What is {} part of?",), ("{} is a part of", "{} belongs to")
    ),
    "is a member of": Template(
        "{} is a member of", ("What is {} a member of?",), ("{} was a member of", "{} joined")
    ),
    "was founded by": Template("{} was founded by", ("Who founded {}?",), ("{} was created by",)),
    "was written by": Template("{} was written by", ("Who wrote {}?",)),
    "wrote": Template("{} wrote", ("What did {} write?",), ("{} is the author of",)),
    "is married to": Template(
        "{} is married to", ("Who is {} married to?",), ("{} was married to", "{} married")
    ),
    "is the child of": Template(
        "{} is the child of",
        ("Who is a parent of {}?",),
        ("{} is the son of", "{} is the daughter of", "{} is a child of"),
    ),
    "is the father of": Template("{} is the father of", ("Who is {} the father of?",)),
    "is the mother of": Template("{} is the mother of", ("Who is {} the mother of?",)),
    "is a sibling of": Template(
        "{} is a sibling of",
        ("Who is a sibling of {}?",),
        ("{} is the brother of", "{} is the sister of"),
    ),
    "plays for": Template("{} plays for", ("Which team does {} play for?",), ("{} played for",)),
    "speaks": Template("{} speaks", ("Which language does {} speak?",)),
    "is a citizen of": Template("{} is a citizen of", ("Of which country is {} a citizen?",)),
}
"""Templates by relation; a base graph's relation with the same words takes precedence."""


def templates(base: KnowledgeGraph | None) -> dict[str, Template]:
    """Templates of a base graph's relations, then the general ones whose words it has not."""
    known = templates_of(base) if base is not None else {}
    used = {cloze.casefold() for each in known.values() for cloze in _clozes(each)}
    general = {
        relation: template
        for relation, template in GENERAL.items()
        if relation not in known and template.prompt.casefold() not in used
    }
    return known | general


def patterns(known: dict[str, Template]) -> list[Pattern]:
    """Every cloze once, the longest first: `is a member of` before `is`."""
    found: dict[str, Pattern] = {}
    for relation, template in known.items():
        for cloze in _clozes(template):
            if cloze.count(SUBJECT_SLOT) == 1:
                found.setdefault(cloze.casefold(), Pattern(relation, cloze))
    return sorted(found.values(), key=lambda each: -len(each.cloze))


def _clozes(template: Template) -> Iterable[str]:
    return unique((template.prompt, *template.paraphrases))
