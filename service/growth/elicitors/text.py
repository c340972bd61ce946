"""Given texts as the source of triplets: their statements, read by rules or by the extractor.

The triplets are known before the first question; each is then validated and reviewed like any
other, with the sentence that it comes from as its source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....loaders.records import digest
from ...errors import UsageError
from ..findings import Elicited, Found, Statement
from ..statements import statements
from ..text.rules import Reader
from .cot import StepByStep

if TYPE_CHECKING:
    from ..candidates import Candidate
    from ..context import Context


class _Texts:
    """What both ways to read share: statements of the request's texts, and no further source."""

    expands_chains = False
    stopped: str | None = None

    def __init__(self, context: Context) -> None:
        self._context = context

    def elicit(self, passed: Sequence[Candidate]) -> Elicited:
        """Nothing: all triplets of a text are known at the start."""
        del passed
        return Elicited([])

    def _all(self) -> list[Statement]:
        base = self._context.base
        names = tuple(
            name
            for entity in (base.entities if base is not None else ())
            for name in (entity.name, *entity.aliases)
            if "." in name
        )
        return [
            Statement(digest([text.name, place, each], 20), each, place, source=text.name)
            for text in self._context.posted.texts
            for place, each in enumerate(statements(text.text, names))
        ]


class ByRules(_Texts):
    """Triplets by rules (`service.growth.text.rules`); asks nothing."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reader = Reader(context.base)

    def start(self) -> Elicited:
        """All triplets of the texts; relations get the wordings by which they were read."""
        context, found, stored = self._context, [], []
        for one in self._all():
            read = self._reader.read(one.text)
            parsed = bool(read.triplets)
            stored.append(Statement(one.id, one.text, one.place, source=one.source, parsed=parsed))
            for subject, relation, object in read.triplets:
                name, _ = context.relations.canonical(relation)
                context.relations.templates.setdefault(name, self._reader.templates[relation])
                found.append(Found(subject, name, object, (one.id,)))
            for name, alias in read.aliases:
                context.entities.add_alias(context.entities.canonical(name), alias)
        return Elicited(found, stored)

    def first_calls(self) -> list[tuple[str, int | None]]:
        """None: rules ask nothing."""
        return []


class ByModel(_Texts, StepByStep):
    """Triplets by the extractor, from each statement by structured output."""

    def __init__(self, context: Context) -> None:
        _Texts.__init__(self, context)
        if not context.role("extractor").chat:
            raise UsageError(
                f"{context.role('extractor').answers.endpoint.model} answers no messages, so it"
                " cannot extract triplets.",
                remedy="Use --extractor rules, which reads simple sentences without a model.",
            )

    def start(self) -> Elicited:
        """All triplets of the texts."""
        return self._extract([(one.source or "", one) for one in self._all()], 0)

    def first_calls(self) -> list[tuple[str, int | None]]:
        """One extraction a statement."""
        return [("extraction", len(self._all()))]


def elicitor(context: Context) -> ByRules | ByModel:
    """The elicitor of a run."""
    return ByRules(context) if context.posted.extractor == "rules" else ByModel(context)
