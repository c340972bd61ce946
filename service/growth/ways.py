"""Choice of examples for a model that continues texts, measured on facts of the crawl's graph."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...editing.errors import ProbeError
from ...loaders.records import digest
from ..base.formatting import pluralize
from ..forms import examples
from .crawl import PLAIN, Answered, Asking, Names, Relation, pieces, requests_for

if TYPE_CHECKING:
    from ...loaders.records import Fact, KnowledgeGraph
    from .endpoint import Request, Sampling

SHOWN = 3
"""Examples in front of a text, as forms show them."""
KINDS_SHOWN = 5
NAME = 24
"""Tokens of a name at most."""
FACTS = 8
"""Facts of the graph that are asked for in both ways."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The way that more answers were right in.

    Attributes:
        sentence: the measurement.
    """

    asking: Asking
    sentence: str


def behind_examples(names: Iterable[str]) -> Asking | None:
    """Texts behind shipped examples without these names; None where too few are without them."""
    names = list(names)
    found = Asking(
        clozes=tuple(examples.clozes(names, SHOWN)),
        questions=tuple(examples.questions(names, SHOWN)),
        kinds=tuple(examples.kinds(names, KINDS_SHOWN)),
    )
    return found if len(found.clozes) == SHOWN else None


def shortened(sampling: Sampling) -> Sampling:
    """The most likely name behind examples; a server does not end its answer at a line break."""
    return replace(sampling, temperature=0.0, max_tokens=NAME)


def measured(
    graph: KnowledgeGraph,
    relations: Sequence[Relation],
    sampling: Sampling,
    ask: Callable[[Sequence[Request]], Sequence[Answered]],
) -> Measured:
    """Ask for facts of the graph in every wording, plainly and behind examples.

    Plain texts get one answer as the crawl draws it, those behind examples the most likely one, as
    a crawl would ask for them. Examples are shown where more answers name the object.
    """
    shown = behind_examples(name for e in graph.entities for name in (e.name, *e.aliases))
    facts = _sample(graph)
    if shown is None or not facts:
        return Measured(PLAIN, "Asked as plain text.")
    right = {}
    wordings = {relation.name: relation.wordings for relation in relations}
    for asking, drawn in ((PLAIN, sampling), (shown, shortened(sampling))):
        asked = [
            (fact, request)
            for fact in facts
            for request in requests_for(
                fact.subject, wordings[fact.relation], drawn, 1, asking=asking
            )
        ]
        try:
            answers = ask([request for _, request in asked])
        except ProbeError as error:
            if asking is PLAIN:
                raise
            return Measured(PLAIN, f"Asked as plain text without examples: {error}.")
        names = Names(graph.entities)
        right[asking.shown] = sum(
            fact.object in {names.resolve(piece.text) for piece in pieces(answer.text)}
            for (fact, _), answer in zip(asked, answers, strict=True)
        )
        n = len(asked)
    counts = f"{right[True]} with and {right[False]} without"
    of = f"{pluralize(n, 'answer')} about {pluralize(len(facts), 'fact')} of {graph.name}"
    if right[True] > right[False]:
        how = f"Asked for the most likely answer behind {SHOWN} examples"
        return Measured(shown, f"{how}: of {of} {counts} them were right.")
    return Measured(PLAIN, f"Asked as plain text without examples: of {of} {counts} were right.")


def _sample(graph: KnowledgeGraph) -> list[Fact]:
    """Facts drawn by the graph's name, one for a subject and relation that have one object."""
    objects: dict[tuple[str, str], list[Fact]] = {}
    for fact in sorted(graph.facts, key=lambda fact: fact.id):
        objects.setdefault((fact.subject, fact.relation), []).append(fact)
    single = [facts[0] for facts in objects.values() if len(facts) == 1]
    return random.Random(digest([graph.name])).sample(single, min(FACTS, len(single)))
