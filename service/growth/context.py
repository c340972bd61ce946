"""Shared data of one pass over a run: request, stored answers, entities, relations."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

from ...cypher import rows
from ...editing import interruption
from ...editing.probe.matching import first_sentence, normalise
from ...loaders.records import digest
from ..base.database import Progress, silent
from . import prompts
from .endpoint import Endpoint, Form, Kind, Message, Reply, Request, Sampling
from .entities import Entities, Relations

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ...cypher.sending import Tx
    from ...loaders.records import KnowledgeGraph
    from ..base.leases import Lease
    from .candidates import Candidates, Statement
    from .openai_endpoint import Form as JsonForm
    from .schemas import GrowthIn


# Answers of a run: each is stored before it is used, and equal requests are asked once.
#
# A run is a function of its request, its stored answers and the decisions about its candidates:
# after a kill it starts again from the beginning, finds its stored answers, and continues.

T = TypeVar("T")

TICK_S = 1.0
"""Seconds between two reports of a call that is in progress."""
BATCH = 2000
"""Answers that are looked up, or stored, in one query."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A stored answer.

    Attributes:
        id: within the run.
        query: id of its query within the run; samples of one text share it.
    """

    id: str
    query: str
    request: Request
    reply: Reply

    @property
    def text(self) -> str:
        """The answer as it came."""
        return self.reply.text


class BudgetReached(Exception):
    """The run may not ask any more; `reason` is recorded as why it stopped."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class Budget:
    """The limits of a run; None is no limit.

    Attributes:
        calls, tokens: spent so far, stored answers included.
        seconds: wall time of earlier attempts.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    started: float = field(default_factory=time.monotonic)

    @property
    def spent_seconds(self) -> float:
        """Wall time of all attempts."""
        return self.seconds + time.monotonic() - self.started

    def check(self) -> None:
        """Refuse any further call once tokens or time are spent.

        Raises:
            BudgetReached: they are.
        """
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            raise BudgetReached(f"token budget of {self.max_tokens:,} reached")
        self.check_time()

    def check_time(self) -> None:
        """Refuse to continue, also within a call, once time is spent; raises as `check`."""
        if self.max_seconds is not None and self.spent_seconds >= self.max_seconds:
            raise BudgetReached(f"time budget of {self.max_seconds:g} s reached")

    def allowed(self, wanted: Sequence[Request]) -> int:
        """Return how many of the wanted requests may be asked now, from the first one on.

        A request may be asked if its longest answer leaves the run within its tokens.

        Raises:
            BudgetReached: none.
        """
        self.check()
        n = len(wanted)
        if self.max_calls is not None:
            n = min(n, self.max_calls - self.calls)
        if n < 1:
            raise BudgetReached(f"call budget of {self.max_calls:,} reached")
        if self.max_tokens is None:
            return n
        left = accumulate(map(_longest, wanted[:n]), int.__sub__, initial=self.max_tokens)
        n = sum(each >= self.tokens for each in left) - 1
        if n < 1:
            raise BudgetReached(f"token budget of {self.max_tokens:,} reached")
        return n


BYTES = 3
"""Bytes of a token of a prompt, at least on average."""
FRAME = 24
"""Tokens of a chat template around a turn."""


def _longest(request: Request) -> int:
    """Tokens of a request with the longest answer."""
    prompt = sum(FRAME + len(turn.text.encode()) // BYTES for turn in request.messages)
    return prompt + request.sampling.max_tokens


@dataclass(slots=True)
class Usage:
    """The cost of the answers that a pass has used, at any time they were asked."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class Answers:
    """The answers of one run by one endpoint.

    Args:
        run: id of the run.
        endpoint: the model that answers.
        budget: shared by all endpoints of the run.
        lease: of the job; every write is fenced by it. None in tests and commands without one.
        check: called between two parts; raises where the job shall stop.
        progress: called with answered and all requests of a call.

    Attributes:
        iteration: stored with further answers.
        usage: of the answers used so far, each counted once.
    """

    def __init__(
        self,
        db: Database,
        run: str,
        endpoint: Endpoint,
        budget: Budget,
        *,
        lease: Lease | None = None,
        check: Callable[[], None] = lambda: None,
        progress: Progress = silent,
    ) -> None:
        self.db, self.run, self.endpoint, self.budget = db, run, endpoint, budget
        self.iteration = 0
        self.usage = Usage()
        self._lease, self._check, self._progress = lease, check, progress
        self._known: dict[str, Reply] = {}
        self._queries: dict[tuple[object, ...], str] = {}

    def ask(self, requests: Sequence[Request], stage: str = "asking") -> list[Answer]:
        """The answers, in the order of the requests.

        Raises:
            BudgetReached: some could not be asked; those that were are stored.
            EndpointError: the endpoint does not answer; earlier answers are stored.
        """
        keys = [request.id(self.endpoint.id) for request in requests]
        wanted = dict(zip(keys, requests, strict=True))
        self._look_up([key for key in wanted if key not in self._known])
        missing = [(key, r) for key, r in wanted.items() if key not in self._known]
        self._ask(missing, stage)
        return [self._answer(key, r) for key, r in zip(keys, requests, strict=True)]

    def texts(self, requests: Sequence[Request], stage: str = "asking") -> list[str]:
        """The texts of the answers, in the order of the requests; raises as `ask`."""
        return [answer.text for answer in self.ask(requests, stage)]

    def _answer(self, key: str, request: Request) -> Answer:
        return Answer(key, self._query(request), request, self._known[key])

    def _query(self, request: Request) -> str:
        """Id of a request's query; computed once for all samples."""
        about = (request.messages, request.sampling, request.form, request.schema)
        if about not in self._queries:
            self._queries[about] = query_of(request, self.endpoint.id)
        return self._queries[about]

    def _look_up(self, keys: Sequence[str]) -> None:
        for start in range(0, len(keys), BATCH):
            part = list(keys[start : start + BATCH])
            for row in self.db.read(
                rows.KnownAnswerRow, "growth/known_answers", run=self.run, ids=part
            ):
                self._learn(row.id, row)

    def _learn(self, key: str, reply: Reply) -> None:
        self._known[key] = reply
        self.usage.calls += 1
        self.usage.tokens_in += reply.tokens_in or 0
        self.usage.tokens_out += reply.tokens_out or 0

    def _ask(self, missing: Sequence[tuple[str, Request]], stage: str) -> None:
        done, shown = 0, time.monotonic()

        def within() -> None:
            """End a call at the time limit, and show once a second that it is in progress."""
            nonlocal shown
            self.budget.check_time()
            if time.monotonic() - shown > TICK_S:
                shown = time.monotonic()
                self._progress(done, len(missing), stage)

        while done < len(missing):
            rest = missing[done:]
            part = rest[: self.budget.allowed([request for _, request in rest])]
            asked = [request for _, request in part]
            with interruption.checked(within):
                for replies in _closing(self.endpoint.ask(asked)):
                    self._store([(part[place], reply) for place, reply in replies])
                    done += len(replies)
                    self._progress(done, len(missing), stage)
                    self._check()
                    if done < len(missing):
                        self.budget.check()

    def _store(self, replies: Sequence[tuple[tuple[str, Request], Reply]]) -> None:
        stored = [self._row(key, request, reply) for (key, request), reply in replies]

        def store(part: list[dict[str, Any]], tx: Tx) -> None:
            tx.run(
                rows.WrittenRow,
                "growth/write_answers",
                run=self.run,
                iteration=self.iteration,
                rows=part,
            )
            if self._lease is not None:
                self._lease.assert_owned(tx.run)

        for start in range(0, len(stored), BATCH):
            self.db.atomically(partial(store, stored[start : start + BATCH]))
        for (key, _), reply in replies:
            self._learn(key, reply)
            self.budget.calls += 1
            self.budget.tokens += (reply.tokens_in or 0) + (reply.tokens_out or 0)

    def _row(self, key: str, request: Request, reply: Reply) -> dict[str, Any]:
        return {
            "id": key,
            "query": self._query(request),
            "kind": request.kind,
            "question": request.messages[-1].text,
            "messages": _messages(request),
            "sample": request.sample,
            "text": reply.text,
            "finish": reply.finish,
            "seconds": reply.seconds,
            "tokens_in": reply.tokens_in,
            "tokens_out": reply.tokens_out,
        }


def _closing(parts: Iterator[T]) -> Iterator[T]:
    """The parts; a generator is closed at once where their reader stops."""
    try:
        yield from parts
    finally:
        if isinstance(parts, Generator):
            parts.close()


def query_of(request: Request, endpoint: str) -> str:
    """Id of a request's query within the run: the same for all samples of one text."""
    return digest([endpoint, request.settings()], 24)


def _messages(request: Request) -> str:
    fields = {"kind": request.kind} | request.settings()
    return json.dumps(fields, ensure_ascii=False)


def spent(db: Database, run: str, budget: Budget) -> None:
    """Count the cost of the stored answers of a run."""
    usage = db.read(rows.UsageRow, "growth/usage", run=run)
    budget.calls = sum(row.calls for row in usage)
    budget.tokens = sum(row.tokens_in + row.tokens_out for row in usage)


SHORT, LONG = 64, 512
"""Tokens of a direct answer, and of reasoning or JSON, at most."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A model of a run: its answers, and how its endpoint gives JSON.

    Attributes:
        form: see `service.growth.writer`.
        in_chat, asked: see `service.growth.open_endpoint`.
    """

    answers: Answers
    form: JsonForm = "prompt"
    in_chat: bool | None = None
    asked: str | None = None

    @property
    def chat(self) -> bool:
        """True if it answers messages."""
        return self.answers.endpoint.chat


@dataclass(slots=True)
class Context:
    """One pass over a run.

    Attributes:
        main: the model whose knowledge is grown.
        judge: the model that judges; None: the main one.
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
    judge: Seat | None = None
    base: KnowledgeGraph | None = None
    added: Sequence[tuple[str, str, str]] = ()
    lease: Lease | None = None
    progress: Progress = silent
    check: Callable[[], None] = lambda: None
    entities: Entities = field(init=False)
    relations: Relations = field(init=False)
    statements: dict[str, str] = field(default_factory=dict)
    judged: int = 0
    _notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.entities = Entities(self.base, self.same)
        self.relations = Relations(self.base)

    @property
    def seats(self) -> list[Seat]:
        """All models, the main one first."""
        return [self.main, *([self.judge] if self.judge else [])]

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
        """Return True if most answers of the model say that two names are the same."""
        if not self.main.chat:
            return None
        text = prompts.fill("same", names=prompts.data(f"{one}\n{other}"))
        asked = self.requests(text, "same", n=self.samples, max_tokens=8)
        replies = [
            normalise(first_sentence(answer)) for answer in self.main.answers.texts(asked, "names")
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

    def note(self, sentence: str) -> None:
        """Record how the model is asked, beside how it was chosen where it was opened."""
        if sentence not in self._notes:
            self._notes.append(sentence)
            asked = " ".join(filter(None, (self.main.asked, *self._notes)))
            self.write(float, "growth/set_run", id=self.run, asked=asked)

    def store(self, statements: Sequence[Statement]) -> None:
        """Store statements before candidates refer to them."""
        self.statements |= {one.id: one.text for one in statements}
        stored = [
            {
                "id": one.id,
                "text": one.text,
                "answer": one.answer,
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
