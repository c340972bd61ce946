"""ELKEN (Peng et al. 2024): events, each with questions about facts and about tendencies.

`train.json` and files of its form are lists of records with `event_type`, `event` (a sentence),
`fact` and `tendency`. Both have `qas`, whose answers follow from the event, and `local_qas`, whose
answers it does not change. A question about a fact has `question`, `subject` (`id`, and `name` or
`ent2name`), `rel_id` and `answer` (`id`, `name`, `alias`), which is `unknown` where the event makes
it so. One about a tendency has `question`, `candidate` (three options, `(A)` to `(C)`) and `answer`
(a letter).

The facts of the graph are those of `fact.local_qas`: the prompt is the question with {} for the
subject, the relation is `rel_id`. Each question of `fact.qas` is a request whose id begins with its
event, `case-3--hudson-s-bay-company--p749--grupo-televisa`; an answer that becomes unknown is a
request to forget. The file states no old object. It is taken from a question of `fact.local_qas`
anywhere in the file with the same subject and relation, or from a field `target_true` that you add
to the question. A question without either is reported and is no request.

Each request has all questions of its event as checks, `reliability/fact`, `reliability/unknown`,
`locality/fact`, `reliability/tendency` and `locality/tendency`. A tendency is asked with its
options and without their letters. An event that changes tendencies only is refused, as it names no
subject and no object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .assembly import GraphAssembly
from .edit_records import Edit, add_edits, fact_of, number_of, prompt_of, read_records
from .errors import SchemaError
from .reading.json_stream import first_keys
from .reading.sources import Place, default_name
from .records import Check, LoadedGraph, RewriteRequest, unique
from .texts import examples, folded, quoted, tidy

SUMMARY = "ELKEN: events with questions about facts and tendencies"
NEEDED = {"event", "fact", "tendency"}
UNKNOWN = "unknown"
OLD = "target_true"
_OPTION = re.compile(r"\(([A-C])\)")


@dataclass(frozen=True, slots=True)
class _Question:
    """A question about a fact.

    Attributes:
        old: the old object, if the question states it.
    """

    place: Place
    text: str
    prompt: str
    subject: str
    relation: str
    answers: tuple[str, ...]
    old: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        return folded(self.subject), tidy(self.relation)

    @property
    def becomes_unknown(self) -> bool:
        return folded(self.answers[0]) == UNKNOWN


@dataclass(slots=True)
class _Event:
    """A record: its questions about facts, and those about tendencies as checks."""

    place: Place
    number: str
    changed: list[_Question]
    local: list[_Question]
    tendencies: tuple[Check, ...]


@dataclass
class _Reading:
    """The state of reading one file.

    Attributes:
        objects: the object of a local question by subject and relation.
    """

    assembly: GraphAssembly
    objects: dict[tuple[str, str], str] = field(default_factory=dict)


def recognises(path: Path) -> bool:
    """Return True if the first record has ELKEN's keys."""
    return first_keys(path) >= NEEDED


def load(path: Path | str, *, name: str | None = None, limit: int | None = None) -> LoadedGraph:
    """Read an ELKEN file.

    Args:
        path: the file.
        name: the data set's name; by default the file's.
        limit: number of events to read, from the beginning.

    Raises:
        UnreadableFileError: the file is missing, cut off, or not JSON.
        SchemaError: no event has a fact; single unusable events and questions are refused in the
            report.
    """
    path = Path(path)
    reading = _Reading(GraphAssembly(name or default_name(path)))
    assembly = reading.assembly

    def parse(place: Place, record: dict[str, Any]) -> _Event:
        return _event(place, record, reading)

    events = read_records(path, assembly, limit, parse)
    for event in events:
        for question in event.local:
            reading.objects.setdefault(question.key, question.answers[0])
    edits = [edit for event in events for edit in _edits(event, reading)]
    add_edits(edits, assembly)
    for event in events:
        for local in event.local:
            request = _request(local, local.answers[0], assembly.name)
            assembly.facts.append(fact_of(request, local.answers[0]))
    if not assembly.facts:
        raise events[0].place.at("fact.qas").error(NO_OLD)
    asked = [question for event in events for question in (*event.changed, *event.local)]
    assembly.read["questions"] = len(asked) + sum(len(event.tendencies) for event in events)
    for question in asked:
        if not question.becomes_unknown:
            name_, *aliases = question.answers
            assembly.aliases[name_] = unique((*assembly.aliases.get(name_, ()), *aliases))
    return assembly.finish(str(path), "elken")


NO_OLD = (
    f"states no old object, and no question of fact.local_qas does, so it is no request: add"
    f" {OLD!r} to the question"
)
NO_FACT = (
    "is empty, and so is fact.local_qas: the event changes tendencies only, which name no subject"
    " and no object. Choose events that have questions about facts"
)


def _event(place: Place, record: dict[str, Any], reading: _Reading) -> _Event:
    place.at("event").text(place.field(record, "event"))
    event = _Event(
        place,
        number_of(place, record),
        list(_questions(place, record, "qas", reading)),
        list(_questions(place, record, "local_qas", reading)),
        (
            *_tendencies(place, record, "qas", "reliability/tendency"),
            *_tendencies(place, record, "local_qas", "locality/tendency"),
        ),
    )
    if not event.changed and not event.local:
        raise place.at("fact.qas").error(NO_FACT)
    return event


def _listed(
    place: Place, record: dict[str, Any], part: str, key: str
) -> Iterator[tuple[Place, Any]]:
    """Place and value of each question of `fact` or `tendency`."""
    fields = place.at(part).mapping(place.field(record, part))
    at = f"{part}.{key}"
    for i, item in enumerate(place.at(at).sequence(fields.get(key, []))):
        yield place.at(f"{at}[{i}]"), item


def _questions(
    place: Place, record: dict[str, Any], key: str, reading: _Reading
) -> Iterator[_Question]:
    """The questions about facts; an unusable one is reported and left out."""
    for there, item in _listed(place, record, "fact", key):
        try:
            yield _question(there, there.mapping(item), reading.assembly)
        except SchemaError as error:
            reading.assembly.refuse(error)


def _question(place: Place, fields: dict[str, Any], assembly: GraphAssembly) -> _Question:
    about, answer = (
        place.at(key).mapping(place.field(fields, key)) for key in ("subject", "answer")
    )
    named = "ent2name" if "ent2name" in about else "name"
    subject = place.at("subject").object_name(place.at("subject").field(about, named))
    first = assembly.text(place.at("answer"), place.at("answer").field(answer, "name"))
    at = place.at("answer", "alias")
    listed = at.sequence(answer.get("alias", []))
    aliases = [at.name(each) for each in listed if each != ""]
    if folded(first) != UNKNOWN:
        first = place.at("answer").object_name(first)
    text = place.at("question").text(place.field(fields, "question"))
    old = fields.get(OLD)
    return _Question(
        place,
        text,
        prompt_of(place.at("question"), text, subject),
        subject,
        place.at("rel_id").name(place.field(fields, "rel_id")),
        unique((first, *aliases)),
        None if old is None else assembly.object_name(place.at(OLD), old),
    )


def _tendencies(place: Place, record: dict[str, Any], key: str, criterion: str) -> Iterator[Check]:
    for there, item in _listed(place, record, "tendency", key):
        fields = there.mapping(item)
        text = there.at("question").text(there.field(fields, "question"))
        candidate = there.at("candidate").text(there.field(fields, "candidate"))
        _, *parts = _OPTION.split(candidate)
        options = {
            letter: option.strip() for letter, option in zip(parts[::2], parts[1::2], strict=True)
        }
        right = options.get(str(there.field(fields, "answer")))
        if not right or not all(options.values()):
            raise there.at("answer").error(f"is none of the options {quoted(candidate)}")
        shown = "; ".join(options.values())
        yield Check(
            criterion,
            f"Options: {shown}. {text}",
            (right,),
            wrong=unique(option for option in options.values() if option != right),
        )


def _edits(event: _Event, reading: _Reading) -> Iterator[Edit]:
    """The requests of an event; the questions without an old object are reported together."""
    assembly = reading.assembly
    found: list[tuple[_Question, str]] = []
    without: list[str] = []
    for question in event.changed:
        old = question.old or reading.objects.get(question.key)
        if old is None or folded(old) == folded(question.answers[0]):
            without.append(quoted(question.text))
        else:
            found.append((question, old))
    if without:
        assembly.note(
            "refused",
            f"{event.place.where}, fact.qas",
            f"{len(without)} of {len(event.changed)} questions: each {NO_OLD}: {examples(without)}",
        )
    checks = _checks(event, dict(found))
    for question, old in found:
        request = _request(question, old, assembly.name)
        request = replace(request, id=f"{event.number}--{request.id}", checks=checks)
        yield Edit(request, event.number)


def _request(question: _Question, old: str, dataset: str) -> RewriteRequest:
    new = "" if question.becomes_unknown else question.answers[0]
    return RewriteRequest(
        id=RewriteRequest.make_id(question.subject, question.relation, new, old),
        dataset=dataset,
        prompt=question.prompt,
        subject=question.subject,
        relation=question.relation,
        target_true=old,
        target_new=new,
        question=question.text,
        n_records=1,
    )


def _checks(event: _Event, old: dict[_Question, str]) -> tuple[Check, ...]:
    changed = (
        Check(
            f"reliability/{UNKNOWN if question.becomes_unknown else 'fact'}",
            question.text,
            question.answers,
            old_answers=(old[question],) if question in old else (),
        )
        for question in event.changed
    )
    local = (
        Check("locality/fact", question.text, question.answers, old_answers=question.answers)
        for question in event.local
    )
    return (*changed, *local, *event.tendencies)
