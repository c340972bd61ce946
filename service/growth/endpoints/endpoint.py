"""An endpoint: something that answers texts. Requests, replies, and abilities.

`service.growth.answers` is the only caller: it stores every answer before it is used, so that a
run which is killed and resumed asks nothing twice. Imports neither torch nor a client.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ....loaders.records import digest

Role = Literal["system", "user", "assistant"]
Form = Literal["chat", "cloze"]
"""chat: messages; cloze: the one message's text is continued as it is."""
Kind = Literal[
    "direct", "chain", "cot", "extract", "repair", "refine", "same", "kind", "judge", "paraphrase"
]
"""Purpose of a request: its row in the accounts of a run."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat; of a cloze the only one, with role `user`."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """The settings by which an answer is drawn.

    Attributes:
        temperature: 0 for the most likely answer.
        max_tokens: maximum number of tokens of the answer.
        seed: of the random numbers; each sample of a request has further ones of its own.
    """

    temperature: float = 1.0
    max_tokens: int = 64
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """One sample of one text that an endpoint is asked for.

    Attributes:
        messages: the turns so far; the last one is the user's.
        sampling: how the answer is drawn.
        sample: number of the sample, from 0; others of the same text draw other answers.
        kind: see `Kind`.
        form: see `Form`.
        schema: JSON schema that the answer shall satisfy; None for plain text.
    """

    messages: tuple[Message, ...]
    sampling: Sampling
    sample: int
    kind: Kind
    form: Form = "chat"
    schema: str | None = None

    def id(self, endpoint: str) -> str:
        """Digest of endpoint, messages, settings and sample; equal requests are asked once."""
        return digest([endpoint, self.settings() | {"sample": self.sample}], 24)

    def settings(self) -> dict[str, object]:
        """All that the samples of one text share, as JSON has it."""
        # By hand: `dataclasses.asdict` takes as long as a small model's answer.
        sampling = self.sampling
        return {
            "messages": [{"role": one.role, "text": one.text} for one in self.messages],
            "sampling": {
                "temperature": sampling.temperature,
                "max_tokens": sampling.max_tokens,
                "seed": sampling.seed,
            },
            "form": self.form,
            "schema": self.schema,
        }


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of an endpoint.

    Attributes:
        text: the answer as it came.
        finish: `stop`, or `length` where it was cut at max_tokens, or `refusal` where the protocol
            itself marks one.
        seconds: the time of the call; of a batch in one process its share.
        tokens_in, tokens_out: as the endpoint counts them; None where it does not.
    """

    text: str
    finish: Literal["stop", "length", "refusal"]
    seconds: float
    tokens_in: int | None
    tokens_out: int | None


class Endpoint(Protocol):
    """A model that answers.

    Attributes:
        id: `model@address`, or `model@local`; no key is ever part of it.
        model: name of the model.
        chat: True if it answers messages; else only clozes.
    """

    id: str
    model: str
    chat: bool

    def ask(self, requests: Sequence[Request]) -> Iterator[list[tuple[int, Reply]]]:
        """Answer requests, in parts that can be stored as they come: (place of the request, reply).

        Raises:
            EndpointError: it cannot be reached, refuses, or fails again and again; earlier replies
                stay valid.
        """
        ...

    def close(self) -> None:
        """Release connections and memory."""
        ...
