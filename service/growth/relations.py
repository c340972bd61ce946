"""Relations of a growing graph: their wordings, near-equal names, and those with one object.

Where the request names a base graph, a relation is asked for in the words of its data set; else by
generic sentences about the relation's name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rapidfuzz import fuzz, process

from ...editing.probe.matching import normalise
from ...loaders.records import SUBJECT_SLOT

if TYPE_CHECKING:
    from ...loaders.records import KnowledgeGraph
    from .candidates import Candidate
    from .endpoints.endpoint import Form

NEAR = 92
"""Similarity (0 to 100) from which two names are proposed to be the same."""
TOP_SHARE, SUBJECTS = 0.8, 5
"""A relation has one object a subject if the largest fraction of answers that one object gets is
at least TOP_SHARE for so many subjects, and for most of its subjects."""

GENERIC = (
    'Which name completes the statement "{} {relation} ..."?',
    "Which name replaces the question mark in: {} | {relation} | ?",
    "To which name does {} have this relation: {relation}?",
)


@dataclass(frozen=True, slots=True)
class Wording:
    """A text with `{}` for the subject, which is asked or continued."""

    text: str
    form: Form

    def of(self, subject: str) -> str:
        """The text with the subject filled in."""
        return self.text.replace(SUBJECT_SLOT, subject, 1)


@dataclass(frozen=True, slots=True)
class Template:
    """The wordings by which a relation is asked for.

    Attributes:
        prompt: cloze with one `{}`.
        questions: with one `{}` each; may be none.
        paraphrases: further clozes.
    """

    prompt: str
    questions: tuple[str, ...] = ()
    paraphrases: tuple[str, ...] = ()


class Relations:
    """The relations of a run.

    Args:
        base: graph whose relations are known from the start.
    """

    def __init__(self, base: KnowledgeGraph | None = None) -> None:
        self._names: dict[str, str] = {}
        self.templates: dict[str, Template] = {}
        if base is not None:
            self.templates = templates_of(base)
            for name in self.templates:
                self._names[normalise(name)] = name

    @property
    def names(self) -> list[str]:
        """All names, in order of appearance."""
        return list(self._names.values())

    def canonical(self, name: str) -> tuple[str, str | None]:
        """The relation of that name, new or known; and a known one that is nearly equal."""
        name = " ".join(name.split())
        key = normalise(name)
        if key in self._names:
            return self._names[key], None
        # rapidfuzz's types call positional arguments `__s1`, which pyrefly takes for a name.
        # pyrefly: ignore[no-matching-overload]
        near = process.extractOne(key, list(self._names), scorer=fuzz.WRatio, score_cutoff=NEAR)
        self._names[key] = name
        return name, self._names[near[0]] if near else None

    def template(self, relation: str) -> Template:
        """Its wordings; those of a relation without any are generated from its name."""
        found = self.templates.get(relation)
        return found or Template(f"{SUBJECT_SLOT} {relation}")

    def wordings(self, relation: str, *, chat: bool, plain: bool = False) -> list[Wording]:
        """Return the texts that ask for its object, in the order in which they are tried.

        Args:
            chat: the model answers messages.
            plain: it does, but was measured to know the base graph better by plain text.
        """
        found = self.templates.get(relation)
        clozes = [self.template(relation).prompt]
        questions: Iterable[str] = [text.replace("{relation}", relation) for text in GENERIC]
        if found is not None:
            clozes = [found.prompt, *found.paraphrases]
            questions = found.questions or questions
        asked = [Wording(text, "chat") for text in questions]
        continued = [Wording(text, "cloze") for text in clozes]
        # A model without messages continues a sentence better than it answers a made-up question.
        first = not plain and (chat or found is not None)
        return [*asked, *continued] if first else [*continued, *asked]


def templates_of(graph: KnowledgeGraph) -> dict[str, Template]:
    """The wordings of every relation of a graph, in order of first appearance."""
    made: dict[str, Template] = {}
    for fact in graph.facts:
        questions = [
            question.replace(fact.subject, SUBJECT_SLOT, 1)
            for question in fact.questions
            if fact.subject in question
        ]
        known = made.get(fact.relation)
        if known is None or (questions and not known.questions):
            made[fact.relation] = Template(fact.prompt, tuple(questions), fact.paraphrases)
    return made


def conflicts(validated: Iterable[Candidate]) -> list[tuple[Candidate, Candidate]]:
    """Candidates of one-valued relations whose subject has an object with a larger share.

    Returns:
        Pairs (the conflicting candidate, the one with the largest share; the first of equal ones).
    """
    objects: dict[str, dict[str, list[Candidate]]] = defaultdict(lambda: defaultdict(list))
    for one in validated:
        subject, relation, _ = one.triplet
        objects[relation][subject].append(one)
    found = []
    for by_subject in objects.values():
        tops = {s: max(group, key=lambda c: c.share or 0) for s, group in by_subject.items()}
        sure = sum((top.share or 0) >= TOP_SHARE for top in tops.values())
        if sure < SUBJECTS or 2 * sure <= len(tops):
            continue
        for subject, group in by_subject.items():
            found += [(one, tops[subject]) for one in group if one is not tops[subject]]
    return found
