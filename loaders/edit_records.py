"""Reader of files with one edit per record (CounterFact, zsRE).

An unusable record is refused and reported, and the others are read; only a file without any usable
record is an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from .assembly import GraphAssembly
from .errors import SchemaError
from .reading.json_stream import items
from .reading.sources import Place
from .records import (
    LITERAL_SLOT,
    SUBJECT_SLOT,
    Fact,
    RewriteRequest,
    as_template,
    slot_parts,
    slug,
)
from .texts import examples, quoted

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Edit:
    """One record: the request, with the id it has without others, and the record's number."""

    request: RewriteRequest
    number: str


def read_records(
    path: Path,
    assembly: GraphAssembly,
    limit: int | None,
    parse: Callable[[Place, dict[str, Any]], T],
) -> list[T]:
    """Read the records that `parse` accepts; report those it refuses with a SchemaError.

    Raises:
        UnreadableFileError: the file is missing, cut off, or not JSON.
        SchemaError: the file is not a list, or no record is usable.
    """
    found: list[T] = []
    refused: list[SchemaError] = []
    for item in items(path, limit):
        place = Place(path, f"record {item.index}")
        assembly.read["records"] = item.index + 1
        try:
            if item.problem is not None:
                raise place.error(item.problem)
            found.append(parse(place, place.mapping(item.value)))
        except SchemaError as error:
            refused.append(error)
            assembly.refuse(error)
    if not found:
        first = f": {refused[0].where}: {refused[0].problem}" if refused else ""
        raise SchemaError(path, "records", f"none of the {len(refused)} can be used{first}")
    return found


def texts(place: Place, record: dict[str, Any], name: str) -> tuple[str, ...]:
    """An optional list of texts, in its order and with its repeats."""
    listed = place.at(name).sequence(record.get(name, []))
    return tuple(place.at(f"{name}[{i}]").text(text) for i, text in enumerate(listed))


def number_of(place: Place, record: dict[str, Any]) -> str:
    """`case-` and the record's `case_id`, or its index in the file if it has none."""
    number = record.get("case_id", place.where.removeprefix("record "))
    return place.at("case_id").name(f"case-{number}")


def target_of(place: Place, rewrite: dict[str, Any], key: str, assembly: GraphAssembly) -> str:
    """The name in a target of a rewrite, an object with `str`; a number is read as text."""
    there = place.at(key)
    target = there.mapping(place.field(rewrite, key))
    return assembly.object_name(place.at(f"{key}.str"), there.field(target, "str"))


def slotted(text: str, subject: str) -> str:
    """The complete text as a template: `{}` for the last occurrence of the subject, if any.

    CounterFact's paraphrases begin with an unrelated sentence, which may name the subject as well.
    """
    return as_template(text, subject, last=True)


def to_forget(
    place: Place, dataset: str, relations: Relations, subject: str, prompt: str, answer: str
) -> RewriteRequest:
    """The request to forget the answer to a prompt about the subject."""
    relation = place.name(relations[prompt])
    return RewriteRequest(
        id=RewriteRequest.make_id(subject, relation, "", answer),
        dataset=dataset,
        prompt=prompt,
        subject=subject,
        relation=relation,
        target_true=answer,
        target_new="",
        n_records=1,
    )


def prompt_of(place: Place, text: str, subject: str) -> str:
    """The prompt of a complete text that names the subject; the answer follows it."""
    prompt = slotted(text, subject)
    if len(slot_parts(prompt)) == 1:
        raise place.error(f"does not name the subject {quoted(subject)}: {quoted(text)}")
    if LITERAL_SLOT in prompt:
        raise place.error(
            f"has {{}} beside the subject, which a prompt cannot have: {quoted(text)}"
        )
    return prompt


class Relations(dict[str, str]):
    """Prompt -> relation: its slug, with a number if two prompts have the same slug."""

    def __init__(self) -> None:
        super().__init__()
        self._sharing: Counter[str] = Counter()

    def __missing__(self, prompt: str) -> str:
        name = slug(prompt.replace(SUBJECT_SLOT, " "))
        self._sharing[name] += 1
        number = self._sharing[name]
        self[prompt] = name if number == 1 else f"{name}-no-{number}"
        return self[prompt]


def add_edits(edits: Sequence[Edit], assembly: GraphAssembly) -> None:
    """Add a fact and a rewrite request for each record to the graph, with unique ids.

    A record with the same content as an earlier one is merged with it; a record with the same edit
    in other words gets its number at the end of its id.
    """
    placed = Placed()
    same: list[str] = []
    for edit in edits:
        if (merged := placed.add(edit)) is not None:
            same.append(merged)
        assembly.facts.append(fact_of(edit.request, edit.request.target_true))
    requests = placed.requests
    assembly.rewrites.extend(requests.values())
    if same:
        assembly.note("merged", f"{len(same)} records", f"repeat others: {examples(same)}")


class Placed:
    """Requests by id. A record gets the first id that is free or has the same content.

    Records with the same id and number try the same sequence of ids. The contents found there are
    memoised, so that each id is tried once and not once per record.
    """

    def __init__(self) -> None:
        self.requests: dict[str, RewriteRequest] = {}
        self._tried: dict[tuple[str, str], tuple[dict[RewriteRequest, str], Iterator[str]]] = {}

    def add(self, edit: Edit) -> str | None:
        """Add the request; returns the id of an earlier request with the same content, if any."""
        key = (edit.request.id, edit.number)
        found, untried = self._tried.setdefault(key, ({}, _ids(edit)))
        content = _content(edit.request)
        while content not in found:
            id_ = next(untried)
            if id_ not in self.requests:
                self.requests[id_] = replace(edit.request, id=id_)
                found[content] = id_
                return None
            found.setdefault(_content(self.requests[id_]), id_)
        id_ = found[content]
        earlier = self.requests[id_]
        n_records = earlier.n_records + edit.request.n_records
        self.requests[id_] = replace(earlier, n_records=n_records)
        return id_


def _content(request: RewriteRequest) -> RewriteRequest:
    """The request without its id and count, for comparison."""
    return replace(request, id="", n_records=0)


def _ids(edit: Edit) -> Iterator[str]:
    """The ids that a record may get, in the order of preference."""
    yield edit.request.id
    yield f"{edit.request.id}--{edit.number}"
    yield from (f"{edit.request.id}--{edit.number}-{i}" for i in count(2))


def fact_of(request: RewriteRequest, object_: str) -> Fact:
    """The fact that a request is about, with one of its objects."""
    return Fact(
        subject=request.subject,
        relation=request.relation,
        object=object_,
        prompt=request.prompt,
        questions=(request.question,) if request.question else (),
        # A fact's clozes are filled in many places, so none has a `{}` that is text.
        paraphrases=tuple(
            text
            for text in request.paraphrases
            if len(slot_parts(text)) == 2 and LITERAL_SLOT not in text
        ),
    )
