"""Questions of the first iteration of a run, without asking them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..graphs.datasets import get_or_import, stored_graph
from ..scoring.runtime import parse
from .answers import Answers, Budget
from .candidates import Candidates
from .context import Context, Seat
from .elicitors import open_elicitor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...cypher.run import Database
    from ..experiments.kind import Prepared
    from .endpoints.endpoint import Reply, Request
    from .schemas import EndpointIn, GrowthIn


class _Unopened:
    """An endpoint that is described, and never asked."""

    def __init__(self, endpoint: EndpointIn) -> None:
        self.id = self.model = endpoint.model
        self.chat = endpoint.url is not None or parse(endpoint.model).organism is None

    def ask(self, requests: Sequence[Request]) -> Iterator[list[tuple[int, Reply]]]:
        raise RuntimeError("a dry run asks nothing")

    def close(self) -> None:
        """Nothing is open."""


def first_calls(db: Database, prepared: Prepared[GrowthIn]) -> list[tuple[str, int | None]]:
    """The requests of the first iteration: (what, number of answers or None: not known).

    Raises:
        UsageError: the model cannot answer the request.
    """
    posted = prepared.request
    base = stored_graph(db, get_or_import(db, posted.base).id) if posted.base else None
    main = Seat(Answers(db, prepared.id, _Unopened(posted.answers), Budget()))
    context = Context(db, prepared.id, "", posted, main, Candidates({}), base=base)
    seed: list[tuple[str, int | None]] = []
    if posted.seed is not None and "|" in posted.seed:
        relation = context.relations.canonical(posted.seed.split("|")[1])[0]
        if main.chat and relation not in context.relations.templates:
            seed.append(("question about the seed", 1))
        seed.append(("validation of the seed", context.samples))
    elif posted.seed is None and base is not None and posted.elicit != "text":
        seed.append(("validation of the graph's facts", context.samples * len(base.facts)))
    return [*seed, *open_elicitor(context).first_calls()]
