"""Sources of further triplets (component 2 of ThinkEval, §4.2): reasoning, or a crawl."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ...editing.errors import ProbeError
from ...editing.probe.matching import contains, first_sentence, normalise, sentence_end
from ...loaders.records import digest, unique
from ..base.errors import UsageError
from ..forms import examples as shipped
from ..scoring.runtime import parse
from . import prompts, writer
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

if TYPE_CHECKING:
    from ...loaders.records import KnowledgeGraph
    from .candidates import Candidate
    from .context import Answer, Context
    from .endpoint import Request
    from .schemas import GrowthIn


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
# it reads triplets from each statement as JSON. A statement from which nothing
# can be read is kept as unparsed. Statements are data: they go into a delimited block, and a
# triplet whose names its statement does not contain goes to review.

RELATIONS = 100
"""Known relations that the model is shown, at most."""


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
        by_lines = asked and not writer.gives_json(self._context)
        extracted = (self._by_lines if by_lines else self._as_json)(asked)
        found, stored = [], []
        for (question, one), each in zip(asked, extracted, strict=True):
            stored.append(replace(one, parsed=each is not None))
            found += [_found(question, one, triplet) for triplet in (each.triplets if each else ())]
        return Elicited(found, stored, queries)

    def _by_lines(self, asked: Sequence[tuple[str, Statement]]) -> list[Extracted | None]:
        context, seat = self._context, self._context.main
        lines = Lines(context.base)
        requests = [
            context.requests(
                lines.prompt(question, one.text), "extract", form="cloze", temperature=0.0
            )[0]
            for question, one in asked
        ]
        return [read(text) for text in seat.answers.texts(requests, "extraction")]

    def _as_json(self, asked: Sequence[tuple[str, Statement]]) -> list[Extracted | None]:
        context, seat = self._context, self._context.main
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
        return writer.ask_for(
            Extracted,
            requests,
            lambda more: seat.answers.texts(more, "extraction"),
            form=seat.form,
        )


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

EXAMPLES, KINDS = 3, 5
"""Examples in front of a text, as forms show them, and in front of one that asks for a kind."""
NAME = 24
"""Tokens of a name at most."""
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
        self._context = context
        self._answers: dict[str, Answer] = {}
        self._relations = relations_of(context.base.facts, context.posted.crawl.wordings)
        self._begin(context.base, _asking(context, context.base))

    def _begin(self, base: KnowledgeGraph, asking: Asking) -> None:
        posted, self._asking = self._context.posted, asking
        names = Names(base.entities)
        start = start_entities(base, names, posted)
        behind = asking.shown
        most_likely = behind and posted.crawl.samples is None
        kinds = {e.name: e.kind for e in base.entities if e.kind}
        options = posted.crawl.settled(
            most_likely=most_likely, gate="stored" if behind and kinds else "kind"
        )
        self._options = options.model_copy(update={"samples": 1}) if posted.greedy else options
        # Behind examples the most likely name; a server does not end its answer at a line break.
        self._crawler = Crawler(
            self._relations,
            self._ask,
            self._options,
            sampling=Sampling(
                0.0 if posted.greedy or most_likely else posted.temperature,
                NAME if most_likely else SHORT,
                posted.random_seed,
            ),
            names=names,
            examples=examples(base),
            kinds=kinds,
            asking=asking,
            accepted=self._accepted,
        )
        self._levels: Iterator[Level] = self._crawler.levels(start)

    @property
    def stopped(self) -> str | None:
        """The reason why no level follows; None while one does."""
        reason = self._crawler.reason
        return None if reason == "frontier empty" and self._crawler.following() else reason

    def first_calls(self) -> list[tuple[str, int | None]]:
        """The first level: kinds, then at most all wordings of all relations."""
        samples = self._options.samples
        most = sum(len(relation.wordings) for relation in self._relations) * samples
        return [("kinds", None), ("relations of the start, at most", most)]

    def elicit(self, passed: Sequence[Candidate]) -> Elicited:
        """The next level, whatever passed: its entities are those the crawl found."""
        try:
            level = next(self._levels, None)
        except ProbeError as error:
            if self._answers or not self._asking.shown or self._context.base is None:
                raise
            self._context.note(f"Asked as plain text, without examples: {error}.")
            self._begin(self._context.base, PLAIN)
            level = next(self._levels, None)
        if self._asking.shown:
            self._context.note(f"Asked for the most likely answer behind {EXAMPLES} examples.")
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
        checks: dict[str, object] = {
            "depth": level.depth,
            "pair": pair.state,
            "agree": round(named.agree, 4) if named else 0.0,
            "share": round(named.share, 4) if named else 0.0,
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


def _asking(context: Context, base: KnowledgeGraph) -> Asking:
    """Return how a crawl asks: in a chat, behind shipped examples, or by plain texts.

    Where a server gives no form of JSON, sentences are continued: a list needs an instructed model.
    A model in this process that continues texts gets examples that share no name with the graph;
    an organism is asked as it was trained.
    """
    main, answers = context.main, context.posted.answers
    if main.chat and main.form != "prompt" if main.in_chat is None else main.in_chat:
        return IN_CHAT
    if answers.url is not None or _is_organism(answers.model):
        return PLAIN
    names = [name for e in base.entities for name in (e.name, *e.aliases)]
    found = Asking(
        clozes=tuple(shipped.clozes(names, EXAMPLES)),
        questions=tuple(shipped.questions(names, EXAMPLES)),
        kinds=tuple(shipped.kinds(names, KINDS)),
    )
    return found if len(found.clozes) == EXAMPLES else PLAIN


def _is_organism(model: str) -> bool:
    """Return True of an organism, and of the folder that one was written to."""
    from ...editing.organism.store import REPORT

    return parse(model).organism is not None or (Path(model) / REPORT).is_file()


def _recorded(pair: Pair) -> Sequence[Named | None]:
    """All objects of a known pair; of another one the first, or none."""
    if pair.state == "known":
        return pair.objects
    return pair.objects[:1] or (None,)


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
