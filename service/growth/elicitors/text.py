"""Given texts as the source of triplets: the extractor reads them from each statement.

The triplets are known before the first question; each is then validated and reviewed like any
other, with the sentence that it comes from as its source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....loaders.records import digest
from ...errors import UsageError
from ..findings import Elicited, Statement
from ..statements import statements
from .cot import StepByStep

if TYPE_CHECKING:
    from ..candidates import Candidate
    from ..context import Context


class Texts(StepByStep):
    """Component 2 from the statements of the request's texts."""

    expands_chains = False

    def __init__(self, context: Context) -> None:
        seat = context.role("extractor")
        if not seat.chat:
            raise UsageError(
                f"{seat.answers.endpoint.model} answers no messages, so it cannot extract"
                " triplets.",
                remedy="Use a chat model: --model, or --endpoint for one behind a server.",
            )
        self._context = context

    def start(self) -> Elicited:
        """Return all triplets of the texts."""
        return self._extract([(one.source or "", one) for one in self._all()], 0)

    def elicit(self, passed: Sequence[Candidate]) -> Elicited:
        """Return nothing: all triplets of a text are known at the start."""
        del passed
        return Elicited([])

    def first_calls(self) -> list[tuple[str, int | None]]:
        """Return one extraction a statement."""
        return [("extraction", len(self._all()))]

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


def elicitor(context: Context) -> Texts:
    """Return the elicitor of a run."""
    return Texts(context)
