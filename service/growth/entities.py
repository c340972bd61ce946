"""Entities and relations of a growing graph: one name for each, wordings, near-equal names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rapidfuzz import fuzz, process

from ...editing.probe.matching import contains, normalise
from ...loaders.records import SUBJECT_SLOT, Entity, fill

if TYPE_CHECKING:
    from ...loaders.records import KnowledgeGraph
    from .candidates import Candidate
    from .endpoint import Form


# Relations of a growing graph: their wordings, and those with one object.
#
# Where the request names a base graph, a relation is asked for in the words of its data set; else
# by generic sentences about the relation's name.

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
    """A text with `{}` for the subject: a question (`chat`), or a cloze that is continued."""

    text: str
    form: Form

    def of(self, subject: str) -> str:
        """The text with the subject filled in."""
        return fill(self.text, subject)


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

    def canonical(self, name: str) -> str:
        """Return the relation of that name, new or known."""
        name = " ".join(name.split())
        return self._names.setdefault(normalise(name), name)

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


# Entities of a growing graph: one name for each, with aliases.
#
# A name is the same as a known one if both are equal under `editing.probe.matching.normalise`, or
# it is an alias. Nearly equal names (rapidfuzz's WRatio) are proposed to the model ("are both the
# same?"), and a majority of its answers decides; a no keeps both, and the pair is not asked
# again.

PROPOSED = 3
"""Known names that a new one is compared with, at most."""
HEADS = frozenset({
    "house", "school", "university", "college", "city", "town", "village", "street", "river",
    "lake", "mountain", "company", "corporation", "family", "team", "club", "party", "band",
    "island", "county", "state",
})  # fmt: skip
"""Generic words that a name may or may not carry at its end: `Gryffindor house`."""
_ARTICLE = re.compile(r"^(?:a|an|the)\s", re.IGNORECASE)

Same = Callable[[str, str], bool | None]
"""Model's judgement: True if two names are the same; None: it cannot be asked."""


class Entities:
    """The entities of a run.

    Args:
        base: graph whose entities are known from the start, with aliases and kinds.
        same: asks the model.
    """

    def __init__(self, base: KnowledgeGraph | None, same: Same) -> None:
        self._same = same
        self._known: dict[str, str] = {}
        self._records: dict[str, Entity] = {}
        self._different: set[frozenset[str]] = set()
        for entity in base.entities if base is not None else ():
            self._add(entity)

    def canonical(self, name: str) -> str:
        """The name in force of an entity, new or known."""
        name = " ".join(name.split())
        known = self._known.get(_key(name))
        if known is not None:
            return known
        for other in self._near(name):
            if frozenset((name, other)) in self._different:
                continue
            answer = self._same(name, other)
            if answer:
                self._alias(other, name)
                return other
            if answer is not None:
                self._different.add(frozenset((name, other)))
        self._add(Entity(name))
        return name

    def knows(self, name: str) -> bool:
        """Return True if it is a name or alias of a known entity."""
        return _key(" ".join(name.split())) in self._known

    def names(self, name: str) -> tuple[str, ...]:
        """Name and aliases of an entity."""
        entity = self._records.get(name)
        return (name, *entity.aliases) if entity else (name,)

    def record(self, name: str) -> Entity:
        """The entity of a name."""
        return self._records.get(name, Entity(name))

    def _near(self, name: str) -> list[str]:
        key = _key(name)
        # rapidfuzz's types call positional arguments `__s1`, which pyrefly takes for a name.
        # pyrefly: ignore[no-matching-overload]
        found = process.extract(
            key, list(self._known), scorer=fuzz.WRatio, score_cutoff=NEAR, limit=PROPOSED
        )
        headless = [known for known in self._known if _headless(known) == key]
        if _headless(key) in self._known:
            headless.append(_headless(key))
        names = [self._known[text] for text in [*headless, *(text for text, *_ in found)]]
        return list(dict.fromkeys(names))

    def _add(self, entity: Entity) -> None:
        self._records[entity.name] = entity
        for name in (entity.name, *entity.aliases):
            self._known.setdefault(_key(name), entity.name)

    def _alias(self, name: str, alias: str) -> None:
        before = self._records[name]
        self._records[name] = Entity(name, (*before.aliases, alias), before.kind)
        self._known[_key(alias)] = name


def is_type_word(name: str) -> bool:
    """Return True if a text names a kind, not one entity: all in lower case, or with an article."""
    cased = any(char.islower() or char.isupper() for char in name)
    return bool(_ARTICLE.match(name)) or (cased and name == name.lower())


def names_itself(subject: str, names: Sequence[str]) -> bool:
    """Return True if the subject already contains a name of the object."""
    return contains(subject, names)


def _key(name: str) -> str:
    return normalise(name) or name


def _headless(key: str) -> str:
    head, _, last = key.rpartition(" ")
    return head if head and last in HEADS else ""
