"""Sources of further triplets (component 2 of ThinkEval, §4.2): reasoning, or a crawl."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from ...editing.probe.matching import contains, first_sentence, normalise, sentence_end
from ...loaders.records import digest, unique
from ..base.errors import UsageError
from ..scoring.runtime import parse
from . import missed, prompts, writer
from .candidates import Elicited, Found, Statement
from .context import LONG, SHORT
from .crawl import (
    IN_CHAT,
    PLAIN,
    Asking,
    Crawler,
    Level,
    Names,
    Pair,
    examples,
    relations_of,
    unknown_entity,
)
from .crawl import Found as Named
from .endpoint import Sampling, state_of
from .lines import Extracted, ExtractedTriplet, Lines, read
from .ways import FACTS, measured, shortened

if TYPE_CHECKING:
    from ...loaders.records import KnowledgeGraph
    from .candidates import Candidate
    from .context import Answer, Context
    from .endpoint import Request
    from .schemas import GrowthIn, SettledCrawl


class Elicitor(Protocol):
    """One way to find triplets.

    Attributes:
        expands_chains: True if the questions of new chains are asked, and reasoned about.
        stopped: why it will find nothing more; None while it may.
    """

    expands_chains: bool

    @property
    def stopped(self) -> str | None:
        """See the class."""
        ...

    def elicit(self, passed: Sequence[Candidate]) -> Elicited:
        """Triplets from candidates that passed, each given once in the order of appearance.

        Raises:
            BudgetReached: nothing of this call counts.
            EndpointError: the endpoint does not answer.
        """
        ...

    def missed(self, seed: Candidate | None) -> str:
        """Why no fact, or no chain from the seed, was found."""
        ...

    def first_calls(self) -> list[tuple[str, int | None]]:
        """List the first iteration's requests after the seed: (kind, number or None: unknown)."""
        ...


# Statements of a text: its sentences in order, without list markers; by rules, without a model.
#
# A line is cut at the ends of its sentences as `editing.probe.matching` finds them (ThinkEval,
# App. P: answers are segmented by rules).

_MARKER = re.compile(
    r"^\s*(?:(?:[-*+•–—·▪◦]|#{1,6}|>|\(?\d{1,3}[.):]|\(?[a-zA-Z][.)](?=\s)|step\s+\d{1,3}\s*[:.)-])\s*)+",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"(\*\*|__|`)")


def statements(text: str) -> list[str]:
    """Return the statements of a text; a part without letter or digit is none."""
    found = []
    for line in text.splitlines():
        rest = _EMPHASIS.sub("", _without_marker(line)).strip()
        while rest:
            end = sentence_end(rest) or len(rest)
            found.append(rest[:end].strip())
            rest = rest[end:].strip()
    return [each for each in found if any(char.isalnum() for char in each)]


def _without_marker(line: str) -> str:
    found = _MARKER.match(line)
    # An initial is no list marker: `J. K. Rowling`.
    if found is None or re.match(r"\s*[A-Z]\.\s+(?:[A-Z]\.|[A-Z][a-z]+\s)", line):
        return line
    return line[found.end() :]


# Step-by-step reasoning as the source of triplets (ThinkEval, §4.2 and App. P).
#
# The model answers each passed question by reasoning; the answer is cut into statements by rules;
# triplets are read from each statement by the extractor as JSON. A statement from which nothing
# can be read is kept as unparsed. Statements are data: they go into a delimited block, and a
# triplet whose names its statement does not contain goes to review.

RELATIONS = 100
"""Known relations that the extractor is shown, at most."""


class StepByStep:
    """Component 2 by reasoning."""

    expands_chains = True
    stopped = None

    def __init__(self, context: Context) -> None:
        if not context.main.chat:
            raise UsageError(
                f"{context.main.answers.endpoint.model} answers no messages, so it cannot reason"
                " step by step.",
                remedy="Use a chat model, or --elicit crawl, which needs relation templates only.",
            )
        self._context = context
        self._read = self._unparsed = 0

    def missed(self, seed: Candidate | None) -> str:
        """Return the ends of the seed, the statements and the triplets, in sentences."""
        found = self._context.candidates.all("triplet")
        counts = (self._read, self._unparsed)
        return missed.of_growth(seed, found, self._context.pass_share, counts)

    def first_calls(self) -> list[tuple[str, int | None]]:
        """Reasoning about the seed's question, then one extraction a statement."""
        return [("reasoning", self._context.posted.cot_samples), ("extraction", None)]

    def elicit(self, passed: Sequence[Candidate]) -> Elicited:
        """Reason about each question, and read triplets from every statement."""
        context = self._context
        texts = list(dict.fromkeys(map(self._question, passed)))
        asked = [
            (text, request)
            for text in texts
            for request in context.requests(
                prompts.fill("cot", question=text),
                "cot",
                n=context.posted.cot_samples,
                max_tokens=LONG,
            )
        ]
        answers = context.main.answers.ask([request for _, request in asked], "reasoning")
        found: list[tuple[str, Statement]] = []
        for (question, _), answer in zip(asked, answers, strict=True):
            found += [(question, one) for one in self._statements(answer)]
        return self._extract(found, len(asked))

    def _question(self, one: Candidate) -> str:
        """The question that passed; where a sentence to be continued did, the relation's own."""
        subject, relation, _ = one.triplet
        known = self._context.relations.templates.get(relation) if one.kind == "triplet" else None
        if known is None or not known.questions:
            return one.question or ""
        clozes = [text.replace("{}", subject, 1) for text in (known.prompt, *known.paraphrases)]
        asked = known.questions[0].replace("{}", subject, 1)
        return asked if one.question in clozes else one.question or ""

    def _statements(self, answer: Answer) -> list[Statement]:
        if state_of(answer.reply) == "refused":
            return []
        return [
            Statement(digest([answer.id, place], 20), text, place, answer=answer.id)
            for place, text in enumerate(statements(answer.text))
        ]

    def _extract(self, asked: Sequence[tuple[str, Statement]], queries: int) -> Elicited:
        by_lines = asked and not writer.gives_json(self._context, self._context.role("extractor"))
        extracted = (self._by_lines if by_lines else self._as_json)(asked)
        found, stored = [], []
        for (question, one), each in zip(asked, extracted, strict=True):
            self._read += 1
            self._unparsed += each is None
            stored.append(replace(one, parsed=each is not None))
            found += [_found(question, one, triplet) for triplet in (each.triplets if each else ())]
        return Elicited(found, stored, queries)

    def _by_lines(self, asked: Sequence[tuple[str, Statement]]) -> list[Extracted | None]:
        context, seat = self._context, self._context.role("extractor")
        lines = Lines(context.base)
        requests = [
            context.requests(
                lines.prompt(question, one.text), "extract", form="cloze", temperature=0.0
            )[0]
            for question, one in asked
        ]
        return [read(text) for text in seat.answers.texts(requests, "extraction")]

    def _as_json(self, asked: Sequence[tuple[str, Statement]]) -> list[Extracted | None]:
        context, seat = self._context, self._context.role("extractor")
        known = ", ".join(context.relations.names[:RELATIONS]) or "none so far"
        requests = [
            context.requests(
                prompts.fill(
                    "extract",
                    relations=known,
                    question=prompts.data(question),
                    statement=prompts.data(one.text),
                ),
                "extract",
                max_tokens=LONG,
                temperature=0.0,
            )[0]
            for question, one in asked
        ]
        extracted = writer.ask_for(
            Extracted,
            requests,
            lambda more: seat.answers.texts(more, "extraction"),
            form=seat.form,
        )
        return [each.value for each in extracted]


def _found(question: str, statement: Statement, extracted: ExtractedTriplet) -> Found:
    subject_named = contains(f"{question} {statement.text}", [extracted.subject])
    object_named = contains(statement.text, [extracted.object])
    return Found(
        extracted.subject,
        extracted.relation,
        extracted.object,
        (statement.id,),
        checks={"asked": question},
        review=None if subject_named and object_named else "its statement does not name it",
    )


# A crawl as the source of triplets: relation templates asked of every new entity.
#
# An iteration of the run is a level of the crawl (`service.growth.crawl`). Its triplets carry the
# fraction of answers that name them, so they are not validated again; objects below the
# thresholds and unknown pairs are recorded with their figures, and are no facts.

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
        self._pairs: list[Pair] = []
        self._names = Names(self._base.entities)
        self._start = start_entities(self._base, self._names, context.posted)
        self._relations = relations_of(self._base.facts, context.posted.crawl.wordings)
        self._asking, self._options = IN_CHAT if asks_in_chat(context) else PLAIN, _options(context)
        self._crawler = self._opened()
        self._levels: Iterator[Level] = self._crawler.levels(self._start)

    def _opened(self) -> Crawler:
        return Crawler(
            self._relations,
            self._ask,
            self._options,
            sampling=self._sampling,
            names=self._names,
            examples=examples(self._base),
            kinds={e.name: e.kind for e in self._base.entities if e.kind},
            asking=self._asking,
            accepted=self._accepted,
        )

    @property
    def _is_text(self) -> bool:
        """True for a model that continues texts, and was not trained on them."""
        is_text = not self._asking.chat and not is_organism(self._context.posted)
        return is_text and self._options.depth > 0

    @property
    def _sampling(self) -> Sampling:
        """Drawn answers, or the most likely ones where nothing asks for several behind examples."""
        posted = self._context.posted
        drawn = Sampling(0.0 if posted.greedy else posted.temperature, SHORT, posted.random_seed)
        if not self._asking.shown:
            return drawn
        return shortened(drawn) if posted.crawl.samples is None else drawn

    @property
    def stopped(self) -> str | None:
        """The reason why no level follows; None while one does."""
        reason = self._crawler.reason
        return None if reason == "frontier empty" and self._crawler.following() else reason

    def first_calls(self) -> list[tuple[str, int | None]]:
        """The first level: kinds, then at most all wordings of all relations."""
        samples = self._options.samples
        most = sum(len(relation.wordings) for relation in self._relations) * samples
        calls: list[tuple[str, int | None]] = [
            ("kinds", None),
            ("relations of the start, at most", most),
        ]
        if self._is_text:
            both = 2 * FACTS * max(len(each.wordings) for each in self._relations)
            return [("with and without examples, at most", both), *calls]
        return calls

    def elicit(self, passed: Sequence[Candidate]) -> Elicited:
        """The next level, whatever passed: its entities are those the crawl found."""
        if not self._pairs and self._is_text:
            self._choose_examples()
        level = next(self._levels, None)
        if level is None:
            return Elicited([])
        self._pairs += level.pairs
        statements: dict[str, Statement] = {}
        found = [
            self._found(pair, named, level, statements)
            for pair in level.pairs
            for named in _recorded(pair)
        ]
        return Elicited(found, tuple(statements.values()))

    def _choose_examples(self) -> None:
        found = measured(self._base, self._relations, self._sampling, self._ask)
        self._context.note(found.sentence)
        self._asking = found.asking
        if self._asking.shown:
            self._options = _options(self._context, self._asking)
            self._crawler = self._opened()
            self._levels = self._crawler.levels(self._start)

    def missed(self, seed: Candidate | None) -> str:
        """Return the thresholds that the pairs missed, in a sentence."""
        del seed
        return missed.of_crawl(self._pairs, self._start, self._options)

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
            "chat": self._asking.chat,
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


def _options(context: Context, asking: Asking = PLAIN) -> SettledCrawl:
    """Return the options of a run's crawl: a model of most likely answers is asked once."""
    posted = context.posted
    kinds = asking.shown and any(e.kind for e in context.base.entities) if context.base else False
    found = posted.crawl.settled(
        most_likely=asking.shown and posted.crawl.samples is None,
        gate="stored" if kinds else "kind",
    )
    return found.model_copy(update={"samples": 1}) if posted.greedy else found


def is_organism(posted: GrowthIn) -> bool:
    """Return True for an organism in this process, which is asked as it was trained."""
    return posted.answers.url is None and parse(posted.answers.model).organism is not None


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


def open_elicitor(context: Context) -> Elicitor:
    """Return the elicitor that the request of a run names."""
    return Crawl(context) if context.posted.elicit == "crawl" else StepByStep(context)
