"""A crawl as the source of triplets: relation templates asked of every new entity.

An iteration of the run is a level of the crawl (`service.growth.crawl.crawler`). Its triplets
carry the fraction of answers that name them, so they are not validated again; objects below the
thresholds and unknown pairs are recorded with their figures, and are no facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ....editing.probe.matching import first_sentence, normalise
from ....loaders.records import digest, unique
from ...errors import UsageError
from ..context import SHORT
from ..crawl.crawler import Crawler, Level, Pair
from ..crawl.crawler import Found as Named
from ..crawl.kinds import examples
from ..crawl.names import Names, unknown_entity
from ..crawl.wordings import relations_of
from ..endpoints.endpoint import Sampling
from ..findings import Elicited, Found, Statement
from ..schemas import CrawlOptions

if TYPE_CHECKING:
    from ....loaders.records import KnowledgeGraph
    from ..answers import Answer
    from ..candidates import Candidate
    from ..context import Context
    from ..endpoints.endpoint import Request
    from ..schemas import GrowthIn

SHOWN = 3
"""Answers of a triplet that are stored as its statements; its queries lead to all."""


class Crawl:
    """Component 2 by relation templates."""

    expands_chains = False

    def __init__(self, context: Context) -> None:
        if context.base is None:
            raise UsageError(
                "A crawl takes its relations from a stored graph, and none is named.",
                remedy="Name it with --base.",
            )
        self._context, self._base = context, context.base
        self._answers: dict[str, Answer] = {}
        names = Names(self._base.entities)
        start = start_entities(self._base, names, context.posted)
        options = context.posted.crawl
        self._relations = relations_of(self._base.facts, options.wordings)
        self._crawler = Crawler(
            self._relations,
            self._ask,
            _options(context.posted),
            sampling=_sampling(context.posted),
            names=names,
            examples=examples(self._base),
            kinds={e.name: e.kind for e in self._base.entities if e.kind},
            chat=asks_in_chat(context),
            accepted=self._accepted,
        )
        self._levels: Iterator[Level] = self._crawler.levels(start)

    @property
    def stopped(self) -> str | None:
        """The reason why no level follows; None while one does."""
        reason = self._crawler.reason
        return None if reason == "frontier empty" and self._crawler.following() else reason

    def start(self) -> Elicited:
        """Nothing is known before the first level."""
        return Elicited([])

    def first_calls(self) -> list[tuple[str, int | None]]:
        """The first level: kinds, then at most all wordings of all relations."""
        samples = _options(self._context.posted).samples
        most = sum(len(relation.wordings) for relation in self._relations) * samples
        return [("kinds", None), ("relations of the start, at most", most)]

    def elicit(self, passed: Sequence[Candidate]) -> Elicited:
        """The next level, whatever passed: its entities are those the crawl found."""
        level = next(self._levels, None)
        if level is None:
            return Elicited([])
        statements: dict[str, Statement] = {}
        found = [
            self._found(pair, named, level, statements)
            for pair in level.pairs
            for named in _recorded(pair)
        ]
        return Elicited(found, tuple(statements.values()))

    def _accepted(self, fact: Named) -> str | None:
        """The object of a fact as person or judge decided; None where it does not count."""
        candidates = self._context.candidates
        one = candidates.found((fact.subject, fact.relation, fact.object))
        if one is None:
            return fact.object
        if one.state == "pruned":
            return None
        # A corrected triplet leads on once it counts, whichever candidate has it.
        there = one if one.corrected is not None else candidates.other(one)
        if there is None:
            return fact.object
        return there.triplet[2] if there.state in ("new", "validated", "duplicate") else None

    def _ask(self, requests: Sequence[Request]) -> list[Answer]:
        level = self._context.main.answers.iteration
        answers = self._context.main.answers.ask(requests, f"crawl: level {level}")
        self._answers |= {answer.id: answer for answer in answers}
        return answers

    def _found(
        self, pair: Pair, named: Named | None, level: Level, statements: dict[str, Statement]
    ) -> Found:
        ids = []
        for answer in named.answers[:SHOWN] if named else pair.answers[:1]:
            one = digest([answer, 0], 20)
            text = first_sentence(self._answers[answer].text)
            statements.setdefault(one, Statement(one, text, 0, answer=answer))
            ids.append(one)
        fact = named is not None and named.state == "fact"
        checks = {
            "depth": level.depth,
            "chat": asks_in_chat(self._context),
            "pair": pair.state,
            "unknown": round(pair.unknown, 4),
            "kind": level.entities.get(pair.subject),
            "agree": round(named.agree, 4) if named else 0.0,
            "share": round(named.share, 4) if named else 0.0,
            "inverse": self._crawler.inverse(named) if named and fact else None,
        }
        if named and self._context.posted.crawl.invented:
            guessed = self._crawler.guessed(named)
            checks["invented"] = guessed
            checks["lift"] = named.share / guessed if guessed else None
        return Found(
            pair.subject,
            pair.relation,
            named.object if named else "",
            tuple(ids),
            share=named.share if named and fact else None,
            n_answers=len(pair.answers),
            queries=tuple(dict.fromkeys(self._answers[each].query for each in pair.answers)),
            unknown=pair.state != "known",
            discarded=None if fact or pair.state != "known" else "below the thresholds",
            checks=checks,
        )


def asks_in_chat(context: Context) -> bool:
    """Return True if a crawl asks in a chat: as measured here, or as the server is able to.

    Where a server gives no form of JSON, sentences are continued: a list needs an instructed model.
    """
    main = context.main
    return main.chat and main.form != "prompt" if main.in_chat is None else main.in_chat


def _recorded(pair: Pair) -> Sequence[Named | None]:
    """All objects of a known pair; of another one the first, or none."""
    if pair.state == "known":
        return pair.objects
    return pair.objects[:1] or (None,)


def _options(posted: GrowthIn) -> CrawlOptions:
    """Return the options of a request's crawl: a greedy model is asked once."""
    return posted.crawl.model_copy(update={"samples": 1}) if posted.greedy else posted.crawl


def _sampling(posted: GrowthIn) -> Sampling:
    return Sampling(0.0 if posted.greedy else posted.temperature, SHORT, posted.random_seed)


def start_entities(base: KnowledgeGraph, names: Names, posted: GrowthIn) -> list[str]:
    """The entity that a request begins with, by name or alias; without one all of its graph's.

    Raises:
        UsageError: the seed is empty.
        NotFoundError: the base graph does not have it; close names are suggested.
    """
    if posted.seed is None:
        return list(unique(name for fact in base.facts for name in (fact.subject, fact.object)))
    if not normalise(posted.seed.split("|")[0]):
        raise UsageError("A crawl needs an entity to begin with.", remedy="Name it with --start.")
    text = posted.seed.split("|")[0].strip()
    found = names.find(text)
    if found is None:
        raise unknown_entity(text, base.name, names)
    return [found]


def elicitor(context: Context) -> Crawl:
    """The elicitor of a run."""
    return Crawl(context)
