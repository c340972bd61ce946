"""The crawl itself: breadth first over entities, one batch of requests a level.

For each entity of a level and each relation that fits its kind, all wordings are asked several
times. The fraction of answers that name an object is its share; a pair whose top share is low is
unknown, and objects of the others are kept by share and by how many wordings name them. New names
are the entities of the next level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ..endpoints.endpoint import Request, Sampling
from ..schemas import CrawlOptions
from . import invented
from .answer_lists import JoinedNames, pieces
from .kinds import (
    KIND_PROMPT,
    KIND_QUESTION,
    KIND_SAMPLES,
    Gate,
    kind_of,
    not_kinds,
)
from .names import Names
from .unknowns import (
    PairState,
    is_refusal,
    is_unknown,
    pair_state,
)
from .wordings import Relation, Wording, requests_for

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
        unnamed: objects all in lower case, which are not asked themselves.
    """

    depth: int
    entities: Mapping[str, str | None]
    pairs: tuple[Pair, ...]
    new: tuple[str, ...]
    unnamed: tuple[str, ...]

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
        chat: True if the endpoint answers messages.
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
        chat: bool = False,
        accepted: Callable[[Found], str | None] = lambda fact: fact.object,
    ) -> None:
        self._accepted = accepted
        self._last: Level | None = None
        self.reason: Reason | None = None
        self.depths: dict[str, int] = {}
        self._relations, self._ask, self._options, self._chat = relations, ask, options, chat
        self._sampling = sampling or Sampling()
        self._names = names or Names()
        self._examples = {name: tuple(of) for name, of in (examples or {}).items()}
        self._joined = JoinedNames()
        self._gate: Gate | None = None
        self._not_kinds = not_kinds(w.template for r in relations for w in r.wordings)
        self._kinds: dict[str, str | None] = dict(kinds or {}) if options.gate == "stored" else {}
        self._shares: dict[tuple[str, str], dict[str, float]] = {}
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

    def inverse(self, fact: Found) -> float | None:
        """Fraction of answers that name the subject, where the relation is asked of the object.

        A check that is stored and filters nothing: a model states a fact in one direction and not
        in the other (Berglund et al., "The Reversal Curse", ICLR 2024). None if it was not asked.
        """
        shares = self._shares.get((fact.object, fact.relation))
        return None if shares is None else shares.get(fact.subject, 0.0)

    def guessed(self, fact: Found) -> float | None:
        """Fraction of invented subjects' answers that name the object; None if none was asked."""
        shares = self._guessed.get(fact.relation)
        return None if shares is None else shares.get(fact.object, 0.0)

    def _ask_invented(self, relations: Iterable[Relation]) -> None:
        """Ask relations of invented subjects; nothing that they answer is learnt or followed."""
        names = invented.NAMES[: self._options.invented]
        missing = {r.name: r for r in relations if names and r.name not in self._guessed}
        asked = {
            name: [
                request
                for subject in names
                for request in requests_for(
                    subject, relation.wordings, self._sampling, self._options.samples,
                    chat=self._chat,
                )
            ]
            for name, relation in missing.items()
        }  # fmt: skip
        if not asked:
            return
        answers = iter(self._ask([request for each in asked.values() for request in each]))
        for name, requests in asked.items():
            texts = [next(answers).text for _ in requests]
            self._guessed[name] = invented.shares(texts, self._guesses)

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
        wording = (Wording(KIND_QUESTION, True) if self._chat else Wording(KIND_PROMPT),)
        # "X is a sibling of" begins like "X is a person": many samples, for some are of no use.
        k = self._options.samples * KIND_SAMPLES
        requests = [
            request
            for entity in missing
            for request in requests_for(
                entity, wording, self._sampling, k, chat=self._chat, kind="kind"
            )
        ]
        answers = self._ask(requests) if requests else []
        for i, entity in enumerate(missing):
            texts = (answer.text for answer in answers[i * k : (i + 1) * k])
            self._kinds[entity] = kind_of(texts, self._not_kinds)
        if first:
            of = {name: [self._kinds[e] for e in names] for name, names in self._examples.items()}
            self._gate = Gate(of)

    def _within_budget(self, pairs: list[tuple[str, Relation]]) -> list[tuple[str, Relation]]:
        most = self._options.max_questions
        if most is None or len(self._shares) + len(pairs) <= most:
            return pairs
        self.reason = "budget"
        return pairs[: most - len(self._shares)]

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
                chat=self._chat,
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
            tuple(name for name in unseen if name not in new),
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
        self._shares[entity, relation.name] = shares
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
