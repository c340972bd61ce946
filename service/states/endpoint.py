"""A state behind a server of the OpenAI protocol: vLLM, llama.cpp, Ollama, OpenAI and others.

Its answers are sampled, k for each distinct prompt, each with a seed of its own, and matched as
those of a model in this process (`editing.probe.matching`). A server that gives one answer
only, whatever the seed, is refused: copies would count as agreement. Where the server scores a
prompt (`echo` with `logprobs` on `/completions`, as vLLM does), likelihoods are taken too;
whether it does is found by what it answers, not by its status. One text is scored twice, at the
opening and after the questions: the record has the largest difference, and above MOST_REPEATED
there is an error.

Empty answers and refusals state no object, so they count in the denominator of a share.
Undecided answers do not (`editing.probe.matching`): a share is (right answers) / (decided
answers), and is missing where no answer is decided. Among them are replies that end inside a
reasoning block, or consist of a server's field for reasoning alone. The record has the numbers
of all of these.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from ...editing.errors import ProbeError
from ...editing.probe import matching, measured
from ...editing.probe.prompts import (
    CHAT_CLOZE,
    CHAT_QUESTION,
    QUESTION,
    Query,
    Rendered,
    answer_text,
    plainly,
)
from ...editing.probe.reasoning import is_unclosed
from ...editing.probe.sentences import first_clause
from ...loaders.records import digest
from ..base.errors import EndpointError, UsageError
from ..base.llm import Client, ScoredToken
from ..growth import openai_endpoint
from ..growth.endpoint import Message, Reply, Request, Sampling, state_of
from ..growth.openai_endpoint import CLOZE, Capabilities, OpenAIProtocol, in_parallel
from ..scoring.probe import Answer, Progress, Question, probe_with
from .schemas import StateOut
from .spec import StateIn

if TYPE_CHECKING:
    from ...editing.probe import ProbeSettings
    from ...editing.probe.settings import Measure
    from ..scoring.runtime import Runtime


def commonest(texts: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the commonest answer among samples, the first of equals; None without one.

    Args:
        names: whose dots and commas do not end an answer.
    """
    said = Counter(text for each in texts if (text := first_clause(each, names)))
    return said.most_common(1)[0][0] if said else None


# Replies of a server that is asked by a state, kept as they come.
#
# A session is one opening of an endpoint: its replies are in one file until it ends well. One
# that was killed, or whose server failed, is resumed within a day: what was answered is not asked
# again, and the record has the moment of its beginning.

RESUMED_FOR = timedelta(days=1)
"""Age of a session that is no longer resumed: the model behind the address may be another."""


class Session:
    """Replies by key, with the moment when the session began.

    Args:
        file: one reply a line; None: in memory only.

    Attributes:
        moment: ISO 8601, UTC.
        resumed: number of replies of an earlier attempt.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self.moment, self._found = _read(file)
        self.resumed = len(self._found)
        if file is not None:
            # Written again as a whole: the last line of a killed process may be incomplete.
            file.write_text(json.dumps({"moment": self.moment}) + "\n", encoding="utf-8")
            self.put(self._found)

    def get(self, key: str) -> Any:
        """The reply of a key; None if it has not come yet."""
        return self._found.get(key)

    def put(self, found: Mapping[str, Any]) -> None:
        """Keep replies, at once."""
        self._found.update(found)
        if self._file is not None:
            lines = "".join(json.dumps([key, value]) + "\n" for key, value in found.items())
            with self._file.open("a", encoding="utf-8") as out:
                out.write(lines)


@contextmanager
def session(file: Path) -> Iterator[Session]:
    """A session in a file, which is deleted when the block ends without an error.

    While another process has a session of the same file, this one is in memory.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(f"{file}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield Session()
        return
    try:
        yield Session(file)
        file.unlink(missing_ok=True)
    finally:
        lock.release()


def _read(file: Path | None) -> tuple[str, dict[str, Any]]:
    """Moment and replies of a file, or those of a new session."""
    now = datetime.now(UTC)
    new = now.isoformat(timespec="seconds")
    if file is None or not file.is_file():
        return new, {}
    try:
        head, *lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        moment = str(json.loads(head)["moment"])
        if now - datetime.fromisoformat(moment) > RESUMED_FOR:
            return new, {}
        pairs = [json.loads(line) for line in lines if line.endswith("\n")]
        return moment, {str(key): value for key, value in pairs}
    except (ValueError, KeyError, TypeError):
        return new, {}


FOLDER = "endpoints"
COUNTS = ("answers", "empty", "refused", "cut", "undecided", "unclosed")
"""Counts of replies; `unclosed`: they end inside a reasoning block, so are undecided."""
SCORED = {"echo": True, "logprobs": 1}
"""Fields with which a server gives the log-probabilities of a prompt's own tokens."""
MOST_REPEATED = 1e-3
"""Largest difference between two likelihoods of one text that is accepted; above it, refused."""


@contextmanager
def opened(runtime: Runtime, state: StateIn, address: str) -> Iterator[EndpointState]:
    """Open an endpoint for the duration of a `with` block.

    Raises:
        EndpointError: the server does not answer, refuses, or fails at every try.
        UsageError: it does not sample.
    """
    secret = runtime.settings.llm_api_key
    client = Client(address, state.model, key=secret.get_secret_value() if secret else None)
    name = digest([client.address, state.model])
    try:
        with session(runtime.settings.home / FOLDER / f"{name}.jsonl") as replies:
            found = openai_endpoint.probe(client, texts_only=True)
            _require_sampling(found, client)
            yield EndpointState(client, state, found, replies)
    finally:
        client.close()


class EndpointState:
    """A model at a server that samples.

    Args:
        able: what the server is able to do.
        replies: where replies are kept as they come.
    """

    def __init__(
        self, client: Client, state: StateIn, able: Capabilities, replies: Session
    ) -> None:
        self._client, self._able, self._replies = client, able, replies
        self._protocol = OpenAIProtocol(client, able)
        self._counts = dict.fromkeys(COUNTS, 0)
        self._counted: set[str] = set()
        self._undecided: set[str] = set()
        repeated = repeated_difference(client) if able.completions else None
        exact = repeated is not None
        self._repeated = repeated or 0.0
        identity = [client.address, client.model, replies.moment]
        self._about = StateOut(
            spec=state.spec,
            name=state.name,
            kind="endpoint",
            digest=digest(identity, 64),
            exact=exact,
            about={
                "model": client.model,
                "address": client.address,
                "moment": replies.moment,
                "resumed": replies.resumed,
                "capabilities": {
                    "sampled": able.sampled,
                    "completions": able.completions,
                    "scores_prompts": exact,
                },
            },
        )

    @property
    def about(self) -> StateOut:
        """Its record, with the numbers of replies so far, and of each kind."""
        counts = self._about.about | {"replies": self._counts | {"undecided": len(self._undecided)}}
        if self._about.exact:
            counts["repeated_difference"] = self._repeated
        return self._about.model_copy(update={"about": counts})

    def ask(
        self,
        questions: Sequence[Question],
        settings: ProbeSettings,
        *,
        progress: Progress | None = None,
    ) -> list[Answer]:
        """Answers to questions, one each, in order: by samples, and likelihoods if it has them.

        Raises:
            EndpointError: the server refuses, or fails at every try, or its likelihoods of one text
                differ; what came is kept.
            UsageError: likelihoods only are asked for, and the server gives none; or the settings
                need plain texts or a chat that it does not have.
        """
        chat = self._uses_chat(settings)
        exact = self._about.exact and not chat
        if "p" not in settings.measures and not exact:
            raise UsageError(
                f"The server at {self._client.address} gives samples only, no likelihoods.",
                remedy="Ask with --samples 5 or more.",
            )
        measures: tuple[Measure, ...] = tuple(m for m in settings.measures if m == "p" or exact)
        if set(measures) - {"p"}:
            self._repeats(0.0)
        settings = replace(settings, measures=measures)

        def measure(queries: Sequence[Query]) -> dict[str, list[Any]]:
            values: dict[str, list[Any]] = {"answers": [()] * len(queries)}
            if "p" in measures:
                values |= self._sampled(queries, settings, progress, chat=chat)
            if set(measures) - {"p"}:
                values |= self._likelihoods(queries, progress)
            return {k: v for k, v in values.items() if k == "answers" or k in measures}

        found = probe_with(
            questions, lambda items: measured(items, settings, Rendering(chat=chat), measure)
        )
        return [
            replace(answer, says=commonest(answer.answers, (q.fact.object, *q.aliases)))
            for q, answer in zip(questions, found, strict=True)
        ]

    def _uses_chat(self, settings: ProbeSettings) -> bool:
        """Return True if prompts are turns of a chat: where the server continues no plain text."""
        if settings.chat == "never" and not self._able.completions:
            raise UsageError(
                f"The server at {self._client.address} continues no plain text.",
                remedy="Use --chat auto.",
            )
        return settings.chat == "always" or not self._able.completions

    def _sampled(
        self,
        queries: Sequence[Query],
        settings: ProbeSettings,
        progress: Progress | None,
        *,
        chat: bool,
    ) -> dict[str, list[Any]]:
        """Sampled proportion of right answers and the answers as matched, for each query."""
        names: dict[Rendered, dict[str, None]] = {}
        for query in queries:
            names.setdefault(query.rendered, {}).update(dict.fromkeys(query.names))
        requests = [
            Request(
                messages=(Message("user", rendered.text),),
                sampling=Sampling(settings.temperature, settings.max_new_tokens, settings.seed),
                sample=k,
                kind="direct",
                form="chat" if chat else "cloze",
            )
            for rendered in names
            for k in range(settings.samples)
        ]
        texts = self._texts(requests, progress)
        found: dict[Rendered, tuple[str, ...]] = {}
        for i, (rendered, known) in enumerate(names.items()):
            own = texts[i * settings.samples : (i + 1) * settings.samples]
            found[rendered] = tuple(matching.first_sentence(text, known) for text in own)
        keys = [request.id(self._protocol.id) for request in requests]
        replies = {
            rendered: keys[i * settings.samples : (i + 1) * settings.samples]
            for i, rendered in enumerate(names)
        }
        answers = [found[query.rendered] for query in queries]
        shares = []
        for query, given in zip(queries, answers, strict=True):
            verdicts = [matching.gives(text, query.names, longer=query.longer) for text in given]
            shares.append(matching.share(verdicts))
            for key, verdict in zip(replies[query.rendered], verdicts, strict=True):
                self._undecided |= {key} if verdict is None else set()
        return {"p": shares, "answers": answers}

    def _texts(self, requests: Sequence[Request], progress: Progress | None) -> list[str]:
        """Texts of all replies; those that are kept already are not asked for again."""
        keys = [request.id(self._protocol.id) for request in requests]
        open_ = [i for i, key in enumerate(keys) if self._replies.get(key) is None]
        done = len(requests) - len(open_)
        if progress is not None:
            progress(done, len(requests), "sampling")
        for part in self._protocol.ask([requests[i] for i in open_]):
            self._replies.put(
                {keys[open_[place]]: [reply.text, reply.finish] for place, reply in part}
            )
            done += len(part)
            if progress is not None:
                progress(done, len(requests), "sampling")
        for key in keys:
            self._count(key)
        return [self._replies.get(key)[0] for key in keys]

    def _count(self, key: str) -> None:
        """Count a reply once, however often it is used."""
        if key in self._counted:
            return
        self._counted.add(key)
        text, finish = self._replies.get(key)
        state = state_of(Reply(text, finish, 0.0, None, None))
        self._counts["answers"] += 1
        if is_unclosed(text):
            self._counts["unclosed"] += 1
        if state in self._counts:
            self._counts[state] += 1

    def _likelihoods(
        self, queries: Sequence[Query], progress: Progress | None
    ) -> dict[str, list[Any]]:
        """Both likelihoods of each query, as `editing.probe.likelihood` defines them."""
        # Imports torch, which samples do not need.
        from ...editing.probe.likelihood import prefix_free

        rows = list(
            dict.fromkeys((query.rendered, name) for query in queries for name in query.names)
        )
        scored = dict(zip(rows, self._scored(rows, progress), strict=True))
        values: dict[str, list[Any]] = {"likelihood": [], "likelihood_norm": []}
        ids: dict[str, int] = {}
        for query in queries:
            found: dict[tuple[int, ...], list[float]] = {}
            for name in query.names:
                tokens = scored[query.rendered, name]
                key = tuple(ids.setdefault(token.text, len(ids)) for token in tokens)
                found[key] = [token.log_p or 0.0 for token in tokens]
            total = sum(math.exp(sum(found[key])) for key in prefix_free(list(found)))
            best = max(math.exp(sum(each) / len(each)) for each in found.values())
            values["likelihood"].append(min(total, 1.0))
            values["likelihood_norm"].append(min(best, 1.0))
        return values

    def _scored(
        self, rows: Sequence[tuple[Rendered, str]], progress: Progress | None
    ) -> list[tuple[ScoredToken, ...]]:
        """The tokens of each name after its prompt."""
        keys = [digest([self._protocol.id, row[0].text, row[1], "scored"], 24) for row in rows]
        open_ = [i for i, key in enumerate(keys) if self._replies.get(key) is None]
        done = len(rows) - len(open_)

        def one(row: tuple[Rendered, str]) -> tuple[ScoredToken, ...]:
            return scored_answer(self._client, row[0].text, answer_text(*row))

        for part in in_parallel([rows[i] for i in open_], one):
            self._replies.put({keys[open_[place]]: tokens for place, tokens in part})
            done += len(part)
            if progress is not None:
                progress(done, len(rows), "likelihood")
        found = [tuple(ScoredToken(*token) for token in self._replies.get(key)) for key in keys]
        if open_:  # alone now, among others before
            self._repeats(_difference(found[open_[0]], one(rows[open_[0]])))
        return found

    def _repeats(self, difference: float) -> None:
        """Record how far the likelihoods of one text differ that was scored twice.

        Raises:
            EndpointError: they differ too much for a comparison.
        """
        self._repeated = max(self._repeated, difference)
        if self._repeated > MOST_REPEATED:
            raise EndpointError(
                f"The server at {self._client.address} gives different probabilities to one text:"
                f" its likelihood differs by {self._repeated:.2g} between two requests, so they"
                " depend on the order of requests or on those beside them.",
                remedy="Start the server so that a text always gets the same numbers (one sequence"
                " at a time, or its batch-invariant mode), or compare samples only: --measure p.",
            )


class Rendering:
    """Prompts for a server: plain texts, or the user's turn of a chat that it templates."""

    def __init__(self, *, chat: bool) -> None:
        self._chat = chat

    def cloze(self, text: str) -> Rendered:
        """A filled cloze, as for a model in this process."""
        return self._rendered(CHAT_CLOZE.replace("{cloze}", text.rstrip()) if self._chat else text)

    def question(self, text: str) -> Rendered:
        """A question, as for a model in this process."""
        frame = CHAT_QUESTION if self._chat else QUESTION
        return self._rendered(frame.replace("{question}", text.strip()))

    def _rendered(self, text: str) -> Rendered:
        # Behind a chat the server's template ends in a text that is not known here.
        return replace(plainly(text), special=False, lead="") if self._chat else plainly(text)


def _require_sampling(able: Capabilities, client: Client) -> None:
    """Refuse a server that gives one answer only.

    Raises:
        UsageError: it does not sample.
    """
    if able.sampled == "no":
        raise UsageError(
            f"The server at {client.address} does not sample: it gives equal answers to an open"
            " question, whatever the seed. Copies would count as agreement.",
            remedy="Use a server that samples, or name the model's folder or hub name.",
        )


def repeated_difference(client: Client) -> float | None:
    """The difference between two likelihoods of one text; None if the server scores no prompts.

    Whether it gives the log-probabilities of a prompt's tokens is found by its effect.
    """
    try:
        first, second = (scored_answer(client, CLOZE, " Paris") for _ in range(2))
        return _difference(first, second)
    except ProbeError:
        return None
    except EndpointError as error:
        if error.answered is None or error.answered in (401, 403, 429):
            raise
        return None


def _difference(one: Sequence[ScoredToken], other: Sequence[ScoredToken]) -> float:
    """The absolute difference of two likelihoods of one text."""
    first, second = (math.exp(sum(t.log_p or 0.0 for t in tokens)) for tokens in (one, other))
    return abs(first - second)


def scored_answer(client: Client, prompt: str, answer: str) -> tuple[ScoredToken, ...]:
    """The tokens of an answer after its prompt, with their log-probabilities.

    Raises:
        ProbeError: the server gives none, or its tokens do not divide there.
        EndpointError: it refuses, or fails at every try.
    """
    found = client.complete(f"{prompt}{answer}", temperature=0.0, max_tokens=1, extra=SCORED)
    text, start = "", None
    for i, token in enumerate(found.tokens):
        if text == prompt:
            start = i
            break
        text += token.text
    # The one token that it wrote itself is the last, unless it wrote none.
    end = len(found.tokens) - (found.tokens_out or 0)
    own = found.tokens[start:end] if start is not None else ()
    if not own or any(token.log_p is None or not token.log_p <= 1e-6 for token in own):
        raise ProbeError(
            f"the server at {client.address} gives no probability for '{answer.strip()}' after"
            f" '{prompt}'",
            remedy="Ask for samples only.",
        )
    return own
