"""Completions of the OpenAI protocol: the content of a server's JSON, in one shape.

Servers leave fields out, and give them other types than the protocol has; what cannot be read is
absent here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..editing.probe.reasoning import unfinished


class ScoredToken(NamedTuple):
    """A token of a prompt or answer: its text, and its log-probability."""

    text: str
    log_p: float | None


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer of a server.

    Attributes:
        text: of the first choice; empty where it is null. A server that gives reasoning in a field
            of its own and no answer with it (the limit of tokens ended it) gives a reasoning block
            that is not closed (`editing.probe.reasoning`).
        finish: the protocol's reason (`stop`, `length`, `content_filter`, ...), or `refusal` where
            the message has that field.
        arguments: of the first tool call, as JSON text; None without one.
        choices: number of choices.
        tokens_in, tokens_out: as counted by the server; None where it does not.
        seconds: of the successful try.
        tokens: of the first choice, each with its log-probability (None for the first of a prompt),
            where the server gives them (`logprobs`, with `echo` those of the prompt too).
    """

    text: str
    finish: str
    arguments: str | None
    choices: int
    tokens_in: int | None
    tokens_out: int | None
    seconds: float
    tokens: tuple[ScoredToken, ...] = ()


def usable(choices: object) -> bool:
    """Return True if the `choices` of an answer have a first one."""
    return isinstance(choices, list) and bool(choices) and isinstance(choices[0], dict)


def completion_of(found: dict[str, Any], seconds: float) -> Completion:
    """The first choice of a server's answer."""
    choice = found["choices"][0]
    message = _dict(choice.get("message"))
    text = _text(choice.get("text") if "text" in choice else message.get("content"))
    thought = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    if thought.strip() and not text.strip() and not message.get("tool_calls"):
        text = unfinished(thought)
    refusal = message.get("refusal")
    usage = _dict(found.get("usage"))
    return Completion(
        text=refusal if isinstance(refusal, str) and refusal else text,
        finish="refusal" if refusal else str(choice.get("finish_reason") or "stop"),
        arguments=_arguments(message.get("tool_calls")),
        choices=len(found["choices"]),
        tokens_in=_number(usage.get("prompt_tokens")),
        tokens_out=_number(usage.get("completion_tokens")),
        seconds=seconds,
        tokens=_tokens(choice.get("logprobs")),
    )


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(content: object) -> str:
    """Content of a message: a text, or parts of which some have one."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _arguments(calls: object) -> str | None:
    if not isinstance(calls, list) or not calls or not isinstance(calls[0], dict):
        return None
    function = calls[0].get("function")
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _tokens(found: object) -> tuple[ScoredToken, ...]:
    """Tokens of `logprobs` of `/completions`; empty where a field is missing or ill-formed."""
    parts = _dict(found)
    texts, values = parts.get("tokens"), parts.get("token_logprobs")
    if not isinstance(texts, list) or not isinstance(values, list) or len(texts) != len(values):
        return ()
    numbers = all(isinstance(value, int | float) or value is None for value in values)
    if not numbers or not all(isinstance(text, str) for text in texts):
        return ()
    return tuple(ScoredToken(*pair) for pair in zip(texts, values, strict=True))
