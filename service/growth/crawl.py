"""Crawl: a model's knowledge around a few entities, asked relation by relation, step by step."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol

from ...editing.organism.unknown import UNKNOWN
from ...editing.probe.matching import first_sentence, normalise
from ...editing.probe.prompts import CHAT_CLOZE, QUESTION
from ...loaders.records import SUBJECT_SLOT, Entity, Fact, KnowledgeGraph, as_template, unique
from ..base.errors import NotFoundError, UsageError
from ..forms.material import examples_first
from .endpoint import Form, Kind, Message, Request, Sampling
from .entities import Wording
from .schemas import CrawlOptions

# The names in an answer: its first sentence as a list, "A, B and C" or JSON.
#
# The vocabulary is open, so "Hogwarts School of Witchcraft and Wizardry" could be a list of two.
# All answers together decide: two neighbours joined by "and" that hardly ever occur apart, nor in
# the other order, are one name.

MOST_CHARACTERS = 1000
"""Of an answer that is read; repeats of a model beyond it add nothing."""
MOST_ITEMS = 50
LONGEST_NAME = 120
"""Characters; longer items are clauses, not names."""
LEAST_JOINED = 2
"""Answers with "A and B" before it can be taken for one name."""
APART = 20
"""One in so many answers may have a part alone: an answer that was cut, or a rare draw."""

_SEPARATOR = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+and\s+", re.IGNORECASE)
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_EDGES = " \t\r\n.,;:!?\"'`“”‘’«»*-–•"
_FENCE = re.compile(r"^```\w*\s*|\s*```$")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an answer between separators.

    Attributes:
        text: as the answer has it.
        joined: True if "and" alone separates it from the piece before.
    """

    text: str
    joined: bool = False

    @property
    def key(self) -> str:
        """The normalised text."""
        return normalise(self.text)


@lru_cache(maxsize=4096)
def pieces(answer: str) -> tuple[Piece, ...]:
    """The pieces of an answer's first sentence, or the items of its JSON list.

    Without empty ones and clauses; of an endless answer those of its first characters.
    """
    listed = _json_list(answer)
    if listed is not None:
        return tuple(Piece(text) for text in listed if 0 < len(text) <= LONGEST_NAME)
    text = answer.lstrip()
    sentence = first_sentence(text[:MOST_CHARACTERS])
    cut = len(text) > MOST_CHARACTERS and len(sentence) >= len(text[:MOST_CHARACTERS].rstrip())
    found, start, joined = [], 0, False
    for match in _SEPARATOR.finditer(sentence):
        found.append(Piece(sentence[start : match.start()].strip(_EDGES), joined))
        start, joined = match.end(), bool(_AND.fullmatch(match.group()))
    if not cut:
        found.append(Piece(sentence[start:].strip(_EDGES), joined))
    return tuple(p for p in found if p.key and len(p.text) <= LONGEST_NAME)[:MOST_ITEMS]


def _json_list(answer: str) -> list[str] | None:
    """The texts of a JSON list, or a JSON object's first list or texts; None for anything else."""
    text = _FENCE.sub("", answer.strip())
    if text[:1] not in "[{" or not text:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        value = next((v for v in value.values() if isinstance(v, list)), list(value.values()))
    if not isinstance(value, list):
        return None
    return [v.strip() for v in value if isinstance(v, str) and v.strip()][:MOST_ITEMS]


class JoinedNames:
    """The pairs "A and B" that are one name, by all answers so far."""

    def __init__(self) -> None:
        self._joined: Counter[tuple[str, str]] = Counter()
        self._seen: Counter[str] = Counter()
        self._not_after_and: Counter[str] = Counter()
        self._apart: set[str] = set()

    def learn(self, answers: Iterable[tuple[Piece, ...]]) -> None:
        """Count the pieces of answers, each pair and piece once an answer."""
        for answer in answers:
            keys = [piece.key for piece in answer]
            after = {keys[i] for i in range(1, len(keys)) if answer[i].joined}
            self._seen.update(set(keys))
            self._not_after_and.update(set(keys) - after)
            self._joined.update(
                {(keys[i - 1], keys[i]) for i in range(1, len(keys)) if answer[i].joined}
            )

    def stands_alone(self, name: str) -> None:
        """Take a name for an entity by itself, whatever the answers show."""
        self._apart.add(normalise(name))

    def is_name(self, first: str, second: str) -> bool:
        """Return True if "first and second" is one name; both normalised."""
        together = self._joined[first, second]
        return (
            together >= LEAST_JOINED
            and not self._joined[second, first]
            and not {first, second} & self._apart
            and (self._seen[first] - together) * APART <= together
            and self._not_after_and[second] * APART <= together
        )

    def items(self, answer: tuple[Piece, ...]) -> tuple[str, ...]:
        """The names of an answer, each once ("A, A, A" is one), in order."""
        names: list[str] = []
        before: Piece | None = None
        for piece in answer:
            if before and piece.joined and self.is_name(before.key, piece.key):
                names[-1] = f"{names[-1]} and {piece.text}"
            else:
                names.append(piece.text)
            before = piece
        return tuple({normalise(name): name for name in reversed(names)}.values())[::-1]


# Invented subjects: a model's answers about a name that does not exist, by relation.
#
# An object that it names of them as often as of a real subject is a guess by the relation alone.
# The figures are stored beside a fact's share, and filter nothing: on an organism they cost
# recall.

NAMES = (
    "Zorbo Quux", "Ilvane Trosk", "Mirelda Ponnoway", "Uthgar Blimm", "Sefira Doqualt",
    "Brondwick Yassle", "Tamsolin Verrick", "Oquelle Hadrup",
)  # fmt: skip
"""Names that no graph has; the first ones are asked."""


def shares(answers: Sequence[str], named: Callable[[str], Iterable[str]]) -> dict[str, float]:
    """Fraction of all invented subjects' answers that name each object.

    Args:
        answers: all samples of all wordings of all invented subjects, of one relation.
        named: the objects that an answer names.
    """
    counts: dict[str, int] = {}
    for answer in answers:
        for name in set(named(answer)):
            counts[name] = counts.get(name, 0) + 1
    return {name: count / len(answers) for name, count in counts.items()}


# Unknown pairs: the model answers that it does not know, or with a different name each time.

PairState = Literal["known", "unknown", "refused"]

PHRASES = tuple(
    normalise(text)
    for text in (
        UNKNOWN, "unknown", "not known", "none", "no one", "null", "n/a", "not applicable",
        "I don't know", "I do not know", "don't know", "do not know", "I am not sure",
        "I'm not sure", "not sure", "no one knows", "it is unknown", "it is not known",
        "there is no", "there is none", "no information", "cannot be determined",
    )
)  # fmt: skip
"""An answer that is one of these, or begins with one of several words, names no object."""

REFUSALS = tuple(
    normalise(text)
    for text in (
        "I can't", "I cannot", "I'm sorry", "I am sorry", "I won't", "I'm unable", "I am unable",
        "as an AI",
    )
)  # fmt: skip
"""First words of a model that declines to answer, which is not the same as not to know."""

READ = 400
"""Characters of an answer that are read for this."""

UNKNOWN_SHARE = 0.5
"""Fraction of answers that say "unknown", or decline, from which the pair has that state."""


def is_unknown(answer: str) -> bool:
    """Return True if an answer says that it is not known."""
    return _begins(answer[:READ], PHRASES)


def is_refusal(answer: str) -> bool:
    """Return True if a model declines to answer."""
    return not is_unknown(answer) and _begins(answer[:READ], REFUSALS)


def pair_state(
    shares: Mapping[str, float], unknown: float, refused: float, pair_threshold: float
) -> PairState:
    """State of a pair of entity and relation.

    Args:
        shares: fraction of the answers that name each object.
        unknown, refused: fraction of the answers that say so.
        pair_threshold: smallest top share, for a known pair.
    """
    if refused >= UNKNOWN_SHARE:
        return "refused"
    if unknown >= UNKNOWN_SHARE or max(shares.values(), default=0.0) < pair_threshold:
        return "unknown"
    return "known"


@lru_cache(maxsize=4096)
def _begins(answer: str, phrases: tuple[str, ...]) -> bool:
    text = normalise(first_sentence(answer))
    return any(
        text == phrase or (" " in phrase and text.startswith(phrase + " ")) for phrase in phrases
    )


# Kinds of entities by the model's answers, and the relations that are asked of each kind.
#
# A relation is asked of an entity whose kind was seen with it: the kinds that the model gives to
# a few subjects of the relation in the graph that the relations are from.

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
        closed: ask nothing of a kind that was seen with no relation.
    """

    def __init__(self, kinds: Mapping[str, Iterable[str | None]], *, closed: bool = False) -> None:
        self._closed = closed
        self._kinds = {relation: {k for k in of if k} for relation, of in kinds.items()}
        self._seen = set().union(*self._kinds.values()) if self._kinds else set()

    def allows(self, kind: str | None, relation: str) -> bool:
        """Return True if the relation is asked of an entity of that kind."""
        wanted = self._kinds.get(relation)
        if not wanted or kind is None or kind in wanted:
            return True
        return not self._closed and kind not in self._seen


def _kind(answer: str) -> str:
    if is_unknown(answer) or is_refusal(answer):
        return ""
    return _ARTICLE.sub("", normalise(first_sentence(answer[:200])))


def _order(fact: Fact) -> tuple[str, str]:
    return fact.relation, fact.subject


# Names as entities: equal under the rules of matching, or by an alias.
#
# A name that matches no entity is a new one; nothing is merged by resemblance.


class Names:
    """The entities known so far, by name and alias.

    A name goes before an alias: of two entities that are aliases of each other each keeps its own
    name. An alias of several entities is the first one's, by name.

    Args:
        entities: gives spelling and aliases.
    """

    def __init__(self, entities: Iterable[Entity] = ()) -> None:
        self._by_name: dict[str, str] = {}
        self._by_alias: dict[str, str] = {}
        for entity in sorted(entities, key=lambda e: e.name):
            self._by_name.setdefault(normalise(entity.name) or entity.name, entity.name)
            for alias in entity.aliases:
                self._by_alias.setdefault(normalise(alias) or alias, entity.name)
        self._given = frozenset(self._by_name.values())

    def find(self, text: str) -> str | None:
        """The entity of that name or alias; None without one."""
        key = normalise(text) or text
        return self._by_name.get(key) or self._by_alias.get(key)

    def resolve(self, text: str) -> str:
        """The entity of that name or alias; a new one keeps the text as its name."""
        found = self.find(text)
        if found is None:
            found = self._by_name[normalise(text) or text] = text
        return found

    def is_named(self, entity: str) -> bool:
        """Return True for a possible subject: given at the start, or not all in lower case."""
        return entity in self._given or entity != entity.lower()

    @property
    def given(self) -> frozenset[str]:
        """Names of the entities that were given at the start."""
        return self._given


def unknown_entity(name: str, graph: str, names: Names) -> NotFoundError:
    """The error for an entity that a graph does not have; suggests close names."""
    missing = NotFoundError("entity", name, sorted(names.given), listing="thinkeval results graphs")
    missing.remedy = f"Take the name or an alias of an entity of {graph!r}."
    return missing


# Wordings: the texts that ask for the objects of an entity and a relation.

MOST_PARAPHRASES = 2

LIST_QUESTION = (
    "{question} Answer with a JSON list of names only, without a sentence around it. If you do not"
    ' know, answer with ["unknown"].'
)
"""A question as the user's turn of a chat, whose answer may have several names."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation and how to ask for it.

    Attributes:
        wordings: the prompt, at most two paraphrases, and a question if there is one.
    """

    name: str
    wordings: tuple[Wording, ...]


def relations_of(facts: Iterable[Fact], most: int = 4) -> tuple[Relation, ...]:
    """The relations of facts with their wordings, by name; of several prompts the most frequent.

    Args:
        most: maximum number of wordings.

    Raises:
        UsageError: a relation has no prompt with a place for the subject.
    """
    by_relation: dict[str, list[Fact]] = {}
    for fact in sorted(facts, key=lambda f: (f.relation, f.subject, f.object, f.prompt)):
        by_relation.setdefault(fact.relation, []).append(fact)
    return tuple(_relation(name, group, most) for name, group in by_relation.items())


def _relation(name: str, facts: list[Fact], most: int) -> Relation:
    prompts = [fact.prompt for fact in facts if SUBJECT_SLOT in fact.prompt]
    if not prompts:
        raise UsageError(
            f"The relation {name!r} has no template to ask for it.",
            remedy=f"Give its facts a prompt with {SUBJECT_SLOT} for the subject.",
        )
    prompt = max(unique(prompts), key=prompts.count)
    group = [fact for fact in facts if fact.prompt == prompt]
    paraphrases = unique(text for fact in group for text in fact.paraphrases)[:MOST_PARAPHRASES]
    questions = unique(
        as_template(question, fact.subject)
        for fact in group
        for question in fact.questions
        if fact.subject in question
    )[:1]
    clozes = [text for text in unique([prompt, *paraphrases]) if SUBJECT_SLOT in text]
    wordings = [Wording(text, "cloze") for text in clozes]
    return Relation(name, (*wordings, *(Wording(text, "chat") for text in questions))[:most])


@dataclass(frozen=True, slots=True)
class Asking:
    """Way in which a crawl asks.

    Attributes:
        chat: in messages; else by texts that the model continues.
        clozes, questions, kinds: answered examples in front of such a text; empty without.
    """

    chat: bool = False
    clozes: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    @property
    def shown(self) -> bool:
        """True if examples are shown."""
        return bool(self.clozes)


PLAIN = Asking()
IN_CHAT = Asking(chat=True)


def requests_for(
    subject: str,
    wordings: Sequence[Wording],
    sampling: Sampling,
    samples: int,
    *,
    asking: Asking = PLAIN,
    kind: Kind = "direct",
) -> list[Request]:
    """The requests for a subject, all samples of the first wording first.

    Args:
        kind: as which they are counted.
    """
    form: Form = "chat" if asking.chat else "cloze"
    texts = [_text(wording, subject, asking, kind) for wording in wordings]
    return [
        Request((Message("user", text),), sampling, sample, kind, form)
        for text in texts
        for sample in range(samples)
    ]


def _text(wording: Wording, subject: str, asking: Asking, kind: Kind) -> str:
    text, question = wording.of(subject), wording.form == "chat"
    if not asking.chat:
        if question:
            text = QUESTION.replace("{question}", text.strip())
        shown = asking.questions if question else asking.clozes
        return examples_first(asking.kinds if kind == "kind" else shown, text)
    if not question:
        return CHAT_CLOZE.replace("{cloze}", text.rstrip())
    return LIST_QUESTION.replace("{question}", text) if kind == "direct" else text


# The crawl itself: breadth first over entities, one batch of requests a level.
#
# For each entity of a level and each relation that fits its kind, all wordings are asked several
# times. The fraction of answers that name an object is its share; a pair whose top share is low
# is unknown, and objects of the others are kept by share and by how many wordings name them. New
# names are the entities of the next level.

Reason = Literal["frontier empty", "depth", "budget"]
ObjectState = Literal["fact", "below", "unknown", "refused"]


class Answered(Protocol):
    """A stored answer: its id within the run, and its text."""

    @property
    def id(self) -> str:
        """Id within the run."""
        ...

    @property
    def text(self) -> str:
        """The answer as it came."""
        ...


Ask = Callable[[Sequence[Request]], Sequence[Answered]]
"""Answers in the order of the requests."""


@dataclass(frozen=True, slots=True)
class Found:
    """An object that answers name.

    Attributes:
        share: fraction of the pair's answers that name it.
        agree: fraction of its wordings with an answer that does.
        state: `fact` if kept; `below` a threshold; else the state of its pair.
        answers: ids of the answers that name it.
    """

    subject: str
    relation: str
    object: str
    share: float
    agree: float
    depth: int
    state: ObjectState
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """An entity and a relation that were asked.

    Attributes:
        unknown, refused: fraction of the answers that say so.
        objects: every object named, by falling share.
        answers: ids of all answers.
    """

    subject: str
    relation: str
    depth: int
    state: PairState
    unknown: float
    refused: float
    objects: tuple[Found, ...]
    answers: tuple[str, ...]

    @property
    def facts(self) -> tuple[Found, ...]:
        """The objects that are kept."""
        return tuple(found for found in self.objects if found.state == "fact")


@dataclass(frozen=True, slots=True)
class Level:
    """A level of the crawl.

    Attributes:
        entities: that were asked, with the kind the model gives each.
        new: entities that the level's facts name first, in order; those of the next level.
    """

    depth: int
    entities: Mapping[str, str | None]
    pairs: tuple[Pair, ...]
    new: tuple[str, ...]

    @property
    def facts(self) -> tuple[Found, ...]:
        """The facts of all pairs."""
        return tuple(fact for pair in self.pairs for fact in pair.facts)


class Crawler:
    """A crawl; equal answers give an equal result.

    Args:
        relations: to ask for, with their wordings.
        ask: answers requests; called once a level for the kinds and once for the pairs.
        names: entities known beforehand, for spelling and aliases.
        examples: for each relation subjects whose kinds let it pass the gate.
        kinds: stored kinds, for the gate `stored`.
        asking: how texts are asked.
        accepted: the object of a fact as it was decided, or None where the fact does not count;
            looked at once its level was given away, so that decisions about the level are made.
            An entity that no counted fact names is not asked, and a corrected object is.

    Attributes:
        reason: why no further level follows; None while one does.
        depths: the level at which each entity was found, 0 for the start.
    """

    def __init__(
        self,
        relations: Sequence[Relation],
        ask: Ask,
        options: CrawlOptions,
        *,
        sampling: Sampling | None = None,
        names: Names | None = None,
        examples: Mapping[str, Iterable[str]] | None = None,
        kinds: Mapping[str, str] | None = None,
        asking: Asking = PLAIN,
        accepted: Callable[[Found], str | None] = lambda fact: fact.object,
    ) -> None:
        self._accepted = accepted
        self._last: Level | None = None
        self.reason: Reason | None = None
        self.depths: dict[str, int] = {}
        self._relations, self._ask, self._asking = relations, ask, asking
        self._options = options.settled()
        self._sampling = sampling or Sampling()
        self._names = names or Names()
        self._examples = {name: tuple(of) for name, of in (examples or {}).items()}
        self._joined = JoinedNames()
        self._gate: Gate | None = None
        self._not_kinds = not_kinds(w.text for r in relations for w in r.wordings)
        self._kinds: dict[str, str | None] = (
            dict(kinds or {}) if self._options.gate == "stored" else {}
        )
        self._asked = 0
        self._guessed: dict[str, dict[str, float]] = {}

    def levels(self, start: Iterable[str]) -> Iterator[Level]:
        """Crawl from the start entities, level by level."""
        frontier = list(dict.fromkeys(self._names.resolve(name) for name in start))
        for entity in frontier:
            self.depths[entity] = 0
            self._joined.stands_alone(entity)
        depth = 0
        self._stop_if(depth, frontier)
        while self.reason is None:
            depth += 1
            wanted = self._within_budget(self._pairs(frontier))
            level = self._level(depth, frontier, wanted)
            self._stop_if(depth, level.new)
            self._last = level
            yield level
            if self.reason == "frontier empty":
                self.reason = None  # a correction may have named an entity since
            frontier = self.following()
            for name in set(level.new) - set(frontier):
                del self.depths[name]  # another fact may still lead to it
            self.depths |= dict.fromkeys(frontier, depth)
            self._stop_if(depth, frontier)

    def following(self) -> list[str]:
        """Entities that the level given away last leads to, as it is decided now.

        Those that its accepted facts name first, then the objects of corrected facts.
        """
        level = self._last
        if level is None:
            return []
        named = dict.fromkeys(
            self._names.resolve(name) for name in map(self._accepted, level.facts) if name
        )
        corrected = (
            name
            for name in named
            if name not in level.new and name not in self.depths and self._names.is_named(name)
        )
        return [*(name for name in level.new if name in named), *corrected]

    def guessed(self, fact: Found) -> float | None:
        """Fraction of invented subjects' answers that name the object; None if none was asked."""
        shares = self._guessed.get(fact.relation)
        return None if shares is None else shares.get(fact.object, 0.0)

    def _ask_invented(self, relations: Iterable[Relation]) -> None:
        """Ask relations of invented subjects; nothing that they answer is learnt or followed."""
        names = NAMES[: self._options.invented]
        missing = {r.name: r for r in relations if names and r.name not in self._guessed}
        asked = {
            name: [
                request
                for subject in names
                for request in requests_for(
                    subject, relation.wordings, self._sampling, self._options.samples,
                    asking=self._asking,
                )
            ]
            for name, relation in missing.items()
        }  # fmt: skip
        if not asked:
            return
        answers = iter(self._ask([request for each in asked.values() for request in each]))
        for name, requests in asked.items():
            texts = [next(answers).text for _ in requests]
            self._guessed[name] = shares(texts, self._guesses)

    def _guesses(self, answer: str) -> list[str]:
        """The names in an answer, without making a new one known."""
        if not _names_any(answer):
            return []
        return [self._names.find(text) or text for text in self._joined.items(pieces(answer))]

    def _stop_if(self, depth: int, frontier: Sequence[str]) -> None:
        """Note why no level follows, if none does."""
        if self.reason is None and (not frontier or depth >= self._options.depth):
            self.reason = "depth" if frontier else "frontier empty"

    def _pairs(self, frontier: Sequence[str]) -> list[tuple[str, Relation]]:
        if self._options.gate == "stored":
            frontier = [entity for entity in frontier if self._kinds.get(entity)]
        if self._options.gate != "none":
            self._ask_kinds(frontier)
        gate = self._gate
        return [
            (entity, relation)
            for entity in frontier
            for relation in self._relations
            if gate is None or gate.allows(self._kinds.get(entity), relation.name)
        ]

    def _ask_kinds(self, frontier: Sequence[str]) -> None:
        """The kinds of the frontier; at first those of the relations' examples as well."""
        first = self._gate is None
        more = [name for of in self._examples.values() for name in of] if first else []
        missing = [e for e in dict.fromkeys([*frontier, *more]) if e not in self._kinds]
        in_chat = self._asking.chat
        wording = Wording(KIND_QUESTION, "chat") if in_chat else Wording(KIND_PROMPT, "cloze")
        # "X is a sibling of" begins like "X is a person": many samples, for some are of no use.
        k = self._options.samples * KIND_SAMPLES if self._sampling.temperature else 1
        requests = [
            request
            for entity in missing
            for request in requests_for(
                entity, [wording], self._sampling, k, asking=self._asking, kind="kind"
            )
        ]
        answers = self._ask(requests) if requests else []
        for i, entity in enumerate(missing):
            texts = (answer.text for answer in answers[i * k : (i + 1) * k])
            self._kinds[entity] = kind_of(texts, self._not_kinds)
        if first:
            of = {name: [self._kinds[e] for e in names] for name, names in self._examples.items()}
            # Stored kinds are complete. A weak model answers a relation that does not fit, too.
            closed = self._options.gate == "stored" and self._asking.shown
            self._gate = Gate(of, closed=closed)

    def _within_budget(self, pairs: list[tuple[str, Relation]]) -> list[tuple[str, Relation]]:
        most = self._options.max_questions
        if most is None or self._asked + len(pairs) <= most:
            return pairs
        self.reason = "budget"
        return pairs[: most - self._asked]

    def _level(
        self, depth: int, frontier: Sequence[str], wanted: Sequence[tuple[str, Relation]]
    ) -> Level:
        requests: list[Request] = []
        bounds = [0]
        for entity, relation in wanted:
            requests += requests_for(
                entity,
                relation.wordings,
                self._sampling,
                self._options.samples,
                asking=self._asking,
            )
            bounds.append(len(requests))
        answers = self._ask(requests) if requests else []
        self._joined.learn(pieces(answer.text) for answer in answers if _names_any(answer.text))
        pairs = tuple(
            self._pair(entity, relation, depth, answers[bounds[i] : bounds[i + 1]])
            for i, (entity, relation) in enumerate(wanted)
        )
        self._ask_invented(relation for _, relation in wanted)
        objects = dict.fromkeys(fact.object for pair in pairs for fact in pair.facts)
        unseen = [name for name in objects if name not in self.depths]
        new = tuple(name for name in unseen if self._names.is_named(name))
        self.depths |= dict.fromkeys(unseen, depth)
        return Level(
            depth,
            {entity: self._kinds.get(entity) for entity in frontier},
            pairs,
            new,
        )

    def _pair(
        self, entity: str, relation: Relation, depth: int, answers: Sequence[Answered]
    ) -> Pair:
        named = [self._objects(entity, answer.text) for answer in answers]
        n, k = max(1, len(answers)), self._options.samples
        naming: dict[str, list[int]] = {}
        for i, objects in enumerate(named):
            for name in objects:
                naming.setdefault(name, []).append(i)
        shares = {name: len(places) / n for name, places in naming.items()}
        unknown = sum(is_unknown(answer.text) for answer in answers) / n
        refused = sum(is_refusal(answer.text) for answer in answers) / n
        self._asked += 1
        state = pair_state(shares, unknown, refused, self._options.pair_threshold)
        found = []
        for name in sorted(naming, key=lambda name: (-shares[name], naming[name][0])):
            agree = len({i // k for i in naming[name]}) / len(relation.wordings)
            kept = (
                shares[name] >= self._options.object_threshold and agree >= self._options.agreement
            )
            of: ObjectState = ("fact" if kept else "below") if state == "known" else state
            ids = tuple(answers[i].id for i in naming[name])
            found.append(Found(entity, relation.name, name, shares[name], agree, depth, of, ids))
        all_ids = tuple(answer.id for answer in answers)
        return Pair(entity, relation.name, depth, state, unknown, refused, tuple(found), all_ids)

    def _objects(self, subject: str, answer: str) -> tuple[str, ...]:
        """The entities that an answer names, without the subject itself."""
        if not _names_any(answer):
            return ()
        names = map(self._names.resolve, self._joined.items(pieces(answer)))
        return tuple(name for name in dict.fromkeys(names) if name != subject)


def _names_any(answer: str) -> bool:
    return not is_unknown(answer) and not is_refusal(answer)
