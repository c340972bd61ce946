"""Shared data of one pass over a run: request, answers, entities, relations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...editing.probe.matching import first_sentence, normalise
from ..database import Progress, silent
from . import prompts
from .endpoints.endpoint import Form, Kind, Message, Request, Sampling
from .entities import Entities
from .relations import Relations

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ...loaders.records import KnowledgeGraph
    from ..leases import Lease
    from .answers import Answers
    from .candidates import Candidates
    from .endpoints.capabilities import Form as JsonForm
    from .findings import Statement
    from .schemas import GrowthIn, RoleName

SHORT, LONG = 64, 512
"""Tokens of a direct answer, and of reasoning or JSON, at most."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A role of a run: its answers, and how its endpoint gives JSON.

    Attributes:
        form: see `service.growth.structured`.
        in_chat: see `service.growth.endpoints.opened`.
    """

    answers: Answers
    form: JsonForm = "prompt"
    in_chat: bool | None = None

    @property
    def chat(self) -> bool:
        """True if it answers messages."""
        return self.answers.endpoint.chat


@dataclass(slots=True)
class Context:
    """One pass over a run.

    Attributes:
        main: the model whose knowledge is grown.
        roles: other models; a role without one is the main model's.
        base: graph whose relations and entities are known from the start.
        added: triplets that persons added.
        statements: texts of all statements, by id.
        judged: decisions that the judge made in this pass.
    """

    db: Database
    run: str
    graph: str
    posted: GrowthIn
    main: Seat
    candidates: Candidates
    roles: dict[RoleName, Seat] = field(default_factory=dict)
    base: KnowledgeGraph | None = None
    added: Sequence[tuple[str, str, str]] = ()
    lease: Lease | None = None
    progress: Progress = silent
    check: Callable[[], None] = lambda: None
    entities: Entities = field(init=False)
    relations: Relations = field(init=False)
    statements: dict[str, str] = field(default_factory=dict)
    judged: int = 0

    def __post_init__(self) -> None:
        self.entities = Entities(self.base, self.same)
        self.relations = Relations(self.base)

    def role(self, name: RoleName) -> Seat:
        """The model of a role."""
        return self.roles.get(name, self.main)

    @property
    def seats(self) -> list[Seat]:
        """All models, the main one first."""
        return [self.main, *self.roles.values()]

    @property
    def samples(self) -> int:
        """Answers to a validating question."""
        return 1 if self.posted.greedy else self.posted.samples

    @property
    def pass_share(self) -> float:
        """Least fraction of answers that name the object."""
        return self.posted.pass_share or 1 / self.samples

    def requests(
        self,
        text: str,
        kind: Kind,
        *,
        n: int = 1,
        form: Form = "chat",
        max_tokens: int = SHORT,
        temperature: float | None = None,
    ) -> list[Request]:
        """The samples of one text.

        Args:
            temperature: None for the request's.
        """
        heat = self.posted.temperature if temperature is None else temperature
        sampling = Sampling(
            0.0 if self.posted.greedy else heat, max_tokens, self.posted.random_seed
        )
        messages = (Message("user", text),)
        return [Request(messages, sampling, sample, kind, form) for sample in range(n)]

    def same(self, one: str, other: str) -> bool | None:
        """Return True if most answers of the extractor say that two names are the same."""
        seat = self.role("extractor")
        if not seat.chat:
            return None
        text = prompts.fill("same", names=prompts.data(f"{one}\n{other}"))
        asked = self.requests(text, "same", n=self.samples, max_tokens=8)
        replies = [
            normalise(first_sentence(answer)) for answer in seat.answers.texts(asked, "names")
        ]
        return 2 * sum(answer.split()[:1] == ["yes"] for answer in replies) > len(replies)

    def enter(self, iteration: int) -> None:
        """Answers from now on belong to this iteration."""
        for seat in self.seats:
            seat.answers.iteration = iteration

    def write(self, row_type: type[Any], name: str, /, **params: object) -> None:
        """Run a write, fenced by the lease.

        Raises:
            LeaseLostError, JobInterrupt: nothing is written.
        """

        def fenced(tx: Tx) -> None:
            tx.run(row_type, name, **params)
            if self.lease is not None:
                self.lease.assert_owned(tx.run)

        self.db.atomically(fenced)

    def store(self, statements: Sequence[Statement]) -> None:
        """Store statements before candidates refer to them."""
        self.statements |= {one.id: one.text for one in statements}
        stored = [
            {
                "id": one.id,
                "text": one.text,
                "answer": one.answer,
                "source": one.source,
                "place": one.place,
                "state": "parsed" if one.parsed else "unparsed",
            }
            for one in statements
        ]
        for start in range(0, len(stored), 2000):
            self.write(
                rows.WrittenRow,
                "growth/write_statements",
                run=self.run,
                rows=stored[start : start + 2000],
            )
