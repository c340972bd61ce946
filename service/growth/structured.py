"""Structured answers: a pydantic model asked for as JSON.

The server's own format is used where it has an effect (`service.growth.endpoints.capabilities`),
else the JSON schema is part of the prompt. An answer is read leniently (code fence, text around the
JSON, unknown keys) and validated strictly; one that is invalid is returned to the model with the
validator's message, at most twice. An answer that stays invalid is no value, and is counted.

The caller asks: it stores every answer before this module reads it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from .endpoints.capabilities import Form
from .endpoints.endpoint import Kind, Message, Request, Sampling

REPAIRS = 2
"""Repair turns of one answer, at most."""
JSON_ONLY = (
    "Answer with JSON only, without any text around it. It must satisfy this JSON schema:\n{schema}"
)
REPAIR = (
    "Your last answer could not be used: {problem}\n"
    "Answer again with the corrected JSON only, without any text around it."
)
READ, RETURNED, PROBLEMS = 100_000, 4_000, 8
"""Characters of an answer that are read, and that a repair turn repeats; problems it names."""
FAILURES = 100
"""Brackets that begin no JSON until reading stops: each is read to the end of a malformed text."""

T = TypeVar("T", bound=BaseModel)
Ask = Callable[[list[Request]], Sequence[str]]
"""Asks the requests and returns the text of each answer, in their order."""


@dataclass(frozen=True, slots=True)
class Structured(Generic[T]):
    """The result of one structured request.

    Attributes:
        value: the validated answer; None if it stayed invalid (unparsed).
        repairs: number of repair turns that were asked.
        problem: defect of the last answer; empty if there is a value.
        texts: the answers, in order.
    """

    value: T | None
    repairs: int
    problem: str
    texts: tuple[str, ...]


class InvalidAnswerError(ValueError):
    """An answer holds no JSON that satisfies the model."""


def ask_for(
    model: type[T], requests: Sequence[Request], ask: Ask, *, form: Form = "prompt"
) -> list[Structured[T]]:
    """Ask for JSON; all requests at once, then those to be repaired.

    Args:
        model: type of an answer.
        requests: plain requests for it; schema and instructions are added here.
        ask: see `Ask`; called at most 1 + `REPAIRS` times.
        form: the form that the endpoint is able to give.
    """
    turns = [prepared(request, model, form) for request in requests]
    texts: list[list[str]] = [[] for _ in requests]
    values: list[T | None] = [None] * len(requests)
    problems = [""] * len(requests)
    waiting = list(range(len(requests)))
    for _ in range(1 + REPAIRS):
        if not waiting:
            break
        for i, text in zip(waiting, ask([turns[i] for i in waiting]), strict=True):
            texts[i].append(text)
            try:
                values[i], problems[i] = parse(text, model), ""
            except InvalidAnswerError as error:
                problems[i] = str(error)
                turns[i] = repair(turns[i], text, problems[i])
        waiting = [i for i in waiting if values[i] is None]
    return [
        Structured(value, len(answers) - 1, problem, tuple(answers))
        for value, problem, answers in zip(values, problems, texts, strict=True)
    ]


def prepared(request: Request, model: type[BaseModel], form: Form) -> Request:
    """The request with the model's JSON schema: as a field, or in its last turn."""
    schema = schema_of(model)
    if form in ("json_schema", "tools"):
        return _with(request, request.messages, request.kind, schema)
    last = request.messages[-1]
    asked = f"{last.text}\n\n{JSON_ONLY.replace('{schema}', schema)}"
    messages = (*request.messages[:-1], Message(last.role, asked))
    return _with(request, messages, request.kind, schema if form == "json_object" else None)


def repair(request: Request, text: str, problem: str) -> Request:
    """Return the request's conversation, its invalid answer, and the answer's defect."""
    messages = (
        *request.messages,
        # An empty turn is an error for many servers.
        Message("assistant", text[:RETURNED] if text.strip() else "(no answer)"),
        Message("user", REPAIR.replace("{problem}", problem)),
    )
    return _with(request, messages, "repair", request.schema)


def _with(
    request: Request, messages: tuple[Message, ...], kind: Kind, schema: str | None
) -> Request:
    sampling: Sampling = request.sampling
    return Request(messages, sampling, request.sample, kind, request.form, schema)


def schema_of(model: type[BaseModel]) -> str:
    """The JSON schema of a model as one line, with sorted keys."""
    return json.dumps(model.model_json_schema(), sort_keys=True, ensure_ascii=False)


def parse(text: str, model: type[T]) -> T:
    """The first JSON value in a text that satisfies the model.

    Values are not converted (`"1"` is no number); unknown keys are ignored unless the model itself
    forbids them.

    Raises:
        InvalidAnswerError: there is none; says why the first value does not satisfy it.
    """
    problem = ""
    for value in _values(text[:READ]):
        try:
            # As JSON, so that lists and strings may become tuples and enumerations in strict mode.
            return model.model_validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            problem = problem or _problem(error)
    if problem:
        raise InvalidAnswerError(problem)
    found = "is cut off or malformed" if "{" in text else "has no JSON"
    raise InvalidAnswerError(f"the answer {found}.")


def _values(text: str) -> Iterator[object]:
    """JSON objects and lists of a text, outermost ones, in order."""
    decoder = json.JSONDecoder()
    place = failures = 0
    while failures < FAILURES and (start := _first(text, place)) is not None:
        try:
            value, place = decoder.raw_decode(text, start)
        except ValueError:
            place = start + 1
            failures += 1
        except RecursionError:
            return
        else:
            yield value


def _first(text: str, start: int) -> int | None:
    found = [at for at in (text.find("{", start), text.find("[", start)) if at >= 0]
    return min(found, default=None)


def _problem(error: ValidationError) -> str:
    """The validator's messages: place and reason of each, without the values."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [
        f"{'.'.join(map(str, each['loc'])) or 'the JSON'}: {each['msg']}"
        for each in found[:PROBLEMS]
    ]
    more = f"; and {len(found) - PROBLEMS} more" if len(found) > PROBLEMS else ""
    return "; ".join(lines) + more
