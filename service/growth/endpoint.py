"""An endpoint: something that answers texts. Requests, replies and their kinds, and abilities."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ...cypher.rows.growth import Reply
from ...editing.probe.reasoning import answer_of
from ...loaders.records import digest

# `service.growth.context` is the only caller: it stores every answer before it is used, so that a
# run which is killed and resumed asks nothing twice. Imports neither torch nor a client.

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


# Kinds of replies: an answer, a refusal, empty, or cut off.
#
# A refusal is a statement of the model about itself and no sign that it lacks knowledge: "I can't
# help with that" is counted apart from a wrong answer and from "I don't know", which is an
# answer.

State = Literal["answered", "refused", "empty", "cut"]

TOO_LONG = 10
"""An answer of more than this many times the words asked for is cut."""
REPEATS = 4
"""Consecutive repeats of some words at the end of an answer that make it a loop."""
LONGEST_REPEAT = 20
"""Words of a repeated part, at most."""

_DENIED = (
    r"(?:can ?not|can't|could ?n[o']t|won't|will not|must (?:decline|refuse)|decline|refuse|"
    r"have to (?:decline|refuse)|(?:am|'m) (?:not (?:able|allowed|permitted|comfortable)|unable))"
)
_ACTED = (
    r"(?:to )?(?:help|assist|answer|comply|discuss|engage|respond|fulfil?l?|continue|share|"
    r"provide|offer|disclose|reveal|give|generate|create|write|produce|participate|support|"
    r"helping|assisting|answering|discussing|providing|sharing|do (?:that|this|so))"
)
_OPENING = (
    r"(?:(?:(?:i'm|i am|we're|we are) )?(?:(?:very|really|so|truly) )?sorry|unfortunately|"
    r"apologies|(?:i|my) apolog(?:i[sz]e|ies)|as an? (?:ai|artificial|language)[^,.]*|no)"
)
_REFUSALS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:{_OPENING}[,.!;:]? *){{0,2}}(?:but |however,? )?(?:i|we)(?: just| really| simply)? ?"
        rf"{_DENIED} {_ACTED}\b",
        r"(?:(?:i'm|i am) )?sorry[,.!]? *(?:but )?(?:no|that's not something i|this request)\b",
        # German, French, Spanish, Chinese.
        r"(?:es )?(?:tut mir leid|entschuldigung)\b.{0,40}\bnicht (?:helfen|beantworten)",
        r"(?:je suis )?désolée?\b.{0,20}\bje ne peux pas\b",
        r"lo siento\b.{0,20}\bno puedo\b",
        r"(?:很?抱歉|对不起).{0,6}(?:无法|不能)",
    )
)
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "`": "'"})
_START = 300
"""Characters in which a refusal begins and is recognised."""


def state_of(reply: Reply, asked: int | None = None) -> State:
    """The state of a reply without its reasoning; a refusal that is cut is a refusal.

    A reply that ends inside a reasoning block is cut.

    Args:
        reply: as the endpoint gave it.
        asked: number of words that the prompt asks for; None if it does not say.
    """
    text = answer_of(reply.text)
    if text is None:
        return "cut"
    if not any(char.isalnum() for char in text):
        return "refused" if reply.finish == "refusal" else "empty"
    if reply.finish == "refusal" or is_refusal(text):
        return "refused"
    words = text.casefold().split()
    long = asked is not None and len(words) > TOO_LONG * asked
    return "cut" if reply.finish == "length" or long or is_loop(words) else "answered"


def is_refusal(text: str) -> bool:
    """Return True if a text begins with the words of a refusal; quoted ones are none."""
    start = " ".join(text[: 2 * _START].translate(_APOSTROPHES).casefold().split())[:_START]
    return any(pattern.match(start) for pattern in _REFUSALS)


def is_loop(words: list[str]) -> bool:
    """Return True if a text ends in repeats: four of two words or more, or eight of one."""
    for period in range(1, min(LONGEST_REPEAT, len(words) // REPEATS) + 1):
        repeats = 2 * REPEATS if period == 1 else REPEATS
        # The last part may be unfinished, so it is not required to be a complete repeat.
        tail = words[-period * repeats :]
        if len(tail) == period * repeats and tail == tail[:period] * repeats:
            return True
    return False
