"""The writer of a run: questions and paraphrases by a model, asked for as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from ...editing.probe.matching import contains, first_sentence, gives, share
from ...loaders.records import SUBJECT_SLOT
from . import prompts
from .context import LONG
from .endpoint import Kind, Message, Request, Sampling
from .entities import Wording
from .lines import Extracted
from .openai_endpoint import Form

if TYPE_CHECKING:
    from .candidates import Candidate
    from .context import Context


# Structured answers: a pydantic model asked for as JSON.
#
# The server's own format is used where it has an effect (`service.growth.openai_endpoint`), else
# the JSON schema is part of the prompt. An answer is read leniently (code fence, text around the
# JSON, unknown keys) and validated strictly; one that is invalid is returned to the model with
# the validator's message, at most twice. An answer that stays invalid is no value.
#
# The caller asks: it stores every answer before this module reads it.

REPAIRS = 2
"""Repair turns of one answer, at most."""
JSON_ONLY = (
    "Answer with JSON only, without any text around it. It must satisfy this JSON schema:\n{schema}"
)
REPAIR = (
    "Your last answer could not be used: {problem}\n"
    "Answer again with the corrected JSON only, without any text around it."
)
TRIED = 96
"""Tokens in which a model that gives JSON has answered about a short statement."""
READ, RETURNED, PROBLEMS = 100_000, 4_000, 8
"""Characters of an answer that are read, and that a repair turn repeats; problems it names."""
FAILURES = 100
"""Brackets that begin no JSON until reading stops: each is read to the end of a malformed text."""

T = TypeVar("T", bound=BaseModel)
Ask = Callable[[list[Request]], Sequence[str]]
"""Asks the requests and returns the text of each answer, in their order."""


class InvalidAnswerError(ValueError):
    """An answer holds no JSON that satisfies the model."""


def ask_for(
    model: type[T], requests: Sequence[Request], ask: Ask, *, form: Form = "prompt"
) -> list[T | None]:
    """Ask for JSON; all requests at once, then those to be repaired. None: it stayed invalid.

    Args:
        model: type of an answer.
        requests: plain requests for it; schema and instructions are added here.
        ask: see `Ask`; called at most 1 + `REPAIRS` times.
        form: the form that the endpoint is able to give.
    """
    turns = [prepared(request, model, form) for request in requests]
    values: list[T | None] = [None] * len(requests)
    waiting = list(range(len(requests)))
    for _ in range(1 + REPAIRS):
        if not waiting:
            break
        for i, text in zip(waiting, ask([turns[i] for i in waiting]), strict=True):
            try:
                values[i] = parse(text, model)
            except InvalidAnswerError as error:
                turns[i] = repair(turns[i], text, str(error))
        waiting = [i for i in waiting if values[i] is None]
    return values


def gives_json(context: Context) -> bool:
    """Return True if the model gives JSON: its server has a form for it, or a short try has it.

    A weak model repeats the schema that it is shown, up to the last token that it may write.
    """
    seat = context.main
    if seat.form != "prompt":
        return True
    text = prompts.fill(
        "extract",
        relations="none so far",
        question=prompts.data("What is the capital of Norway?"),
        statement=prompts.data("Oslo is the capital of Norway."),
    )
    tried = context.requests(text, "extract", max_tokens=TRIED, temperature=0.0)[0]
    (answer,) = seat.answers.texts([prepared(tried, Extracted, seat.form)], "a first JSON")
    try:
        parse(answer, Extracted)
    except InvalidAnswerError:
        context.note(
            f"{seat.answers.endpoint.model} does not answer in JSON: triplets are lines behind"
            " examples, and it writes no questions."
        )
        return False
    return True


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


# The writer of a run: questions, other questions after a failure, and paraphrases, by a model.
#
# Whatever it writes is checked: it names the subject, and not the object. A model that answers no
# messages writes nothing; then the wordings of the relation are used (`service.growth.entities`).

PARAPHRASES = 3
"""Paraphrases of a fact (ThinkEval, App. R)."""
SHOWN = 5
"""Answers that the writer is shown."""


class Written(BaseModel):
    """A question about a fact, and the beginning of a sentence that its object completes."""

    question: str
    sentence: str


class Question(BaseModel):
    """Another question."""

    question: str


class Paraphrases(BaseModel):
    """Other beginnings of a sentence."""

    paraphrases: list[str]


class Writer:
    """Writes for the candidates of one pass."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def _writes(self) -> bool:
        return self._context.main.chat and gives_json(self._context)

    def questions(self, candidates: Sequence[Candidate]) -> dict[str, Wording]:
        """A question for each candidate whose relation has no wordings; by its id."""
        wanted = [
            one for one in candidates if one.triplet[1] not in self._context.relations.templates
        ]
        if not wanted or not self._writes():
            return {}
        texts = [
            prompts.fill("question", triplet=prompts.data(" | ".join(one.triplet)))
            for one in wanted
        ]
        found = {}
        for one, written in zip(wanted, self._ask(Written, texts, "refine"), strict=True):
            if written is None:
                continue
            subject = one.triplet[0]
            if self._usable(one, written.sentence):
                cloze = written.sentence.strip().rstrip(" .…")
                one.prompt = cloze.replace(subject, SUBJECT_SLOT, 1)
            if contains(written.question, [subject]):
                found[one.id] = Wording(_slotted(written.question.strip(), subject), "chat")
        return found

    def refined(self, one: Candidate) -> Wording | None:
        """Another question than those that failed; None where the writer has none."""
        if not self._writes():
            return None
        tried = "\n".join(
            line
            for question, answers in one.asked
            for line in (f"Question: {question}", *(f"Answer: {text}" for text in answers[:SHOWN]))
        )
        shown = prompts.data(f"Fact: {' | '.join(one.triplet)}\n{tried}")
        (written,) = self._ask(Question, [prompts.fill("refine", tried=shown)], "refine")
        if written is None or not contains(written.question, [one.triplet[0]]):
            return None
        return Wording(_slotted(written.question.strip(), one.triplet[0]), "chat")

    def paraphrases(self, candidates: Sequence[Candidate]) -> None:
        """Give validated candidates whose relation has none up to three paraphrases.

        Each must itself lead to the object (elicitation, step 1.3).
        """
        context = self._context
        wanted = [
            one
            for one in candidates
            if one.triplet[1] not in context.relations.templates and not one.checks.get("written")
        ]
        if not wanted or not self._writes():
            return
        texts = [
            prompts.fill(
                "paraphrase",
                subject=one.triplet[0],
                sentence=prompts.data(prompt_of(context, one).replace("{}", one.triplet[0], 1)),
            )
            for one in wanted
        ]
        written = self._ask(Paraphrases, texts, "paraphrase")
        offered = [
            (one, text.strip().rstrip(" .…"))
            for one, each in zip(wanted, written, strict=True)
            for text in (each.paraphrases[:PARAPHRASES] if each else [])
            if self._usable(one, text)
        ]
        asked = [
            context.requests(text, "paraphrase", n=context.samples, form="cloze")
            for _, text in offered
        ]
        flat = [request for each in asked for request in each]
        answers = iter(context.main.answers.texts(flat, "paraphrases"))
        for one in wanted:
            one.checks["written"] = True
        for (one, text), requests in zip(offered, asked, strict=True):
            names = context.entities.names(one.triplet[2])
            answered = [first_sentence(next(answers), names) for _ in requests]
            right = share([gives(text, names) for text in answered])
            if right is not None and right >= context.pass_share - 1e-9:
                one.paraphrases += (text.replace(one.triplet[0], SUBJECT_SLOT, 1),)

    def _usable(self, one: Candidate, text: str) -> bool:
        subject, _, object = one.triplet
        rest = text.replace(subject, " ", 1)
        named = contains(rest, self._context.entities.names(object))
        return subject in text and "{" not in text and not named

    def _ask(self, model: type[T], texts: Sequence[str], kind: Kind) -> list[T | None]:
        asked = [
            self._context.requests(text, kind, max_tokens=LONG, temperature=0.0)[0]
            for text in texts
        ]
        main = self._context.main
        return ask_for(
            model,
            asked,
            lambda requests: main.answers.texts(requests, "writing"),
            form=main.form,
        )


def prompt_of(context: Context, one: Candidate) -> str:
    """The cloze of a triplet: the writer's, or its relation's."""
    return one.prompt or context.relations.template(one.triplet[1]).prompt


def _slotted(question: str, subject: str) -> str:
    return question.replace(subject, SUBJECT_SLOT, 1) if subject in question else question
