"""Records of a KnowGIC file, in either of its layouts, checked field by field.

`knowgic.py` describes the layouts. The records are read unchanged; nothing is merged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .reading.json_stream import items
from .reading.sources import Place
from .texts import folded, quoted

PARTS = ("questions", "answers", "prompts", "subjects")


@dataclass(frozen=True, slots=True)
class Link:
    """One step of a chain, as in the file."""

    subject: str
    prompt: str
    answer: str
    question: str


@dataclass(frozen=True, slots=True)
class Request:
    """A `requested_rewrite`, as in the file."""

    subject: str
    prompt: str
    target_true: str
    target_new: str

    @property
    def key(self) -> tuple[str, ...]:
        """Identifies the rewrite, case-insensitively."""
        return (
            folded(self.subject),
            self.prompt,
            folded(self.target_true),
            folded(self.target_new),
        )


@dataclass(frozen=True, slots=True)
class Record:
    """A record of either layout."""

    place: Place
    request: Request
    chains: tuple[tuple[Link, ...], ...]
    context: tuple[Link, ...]

    @property
    def links(self) -> Iterator[Link]:
        """Every link, those of the chains first."""
        for chain in self.chains:
            yield from chain
        yield from self.context


def read_records(file: Path) -> list[Record]:
    """Read and check the records of a file in either layout."""
    checked: dict[tuple[str, object], str] = {}
    records: list[Record] = []
    for item in items(file):
        place = Place(file, f"record {item.index}")
        if item.problem is not None:
            raise place.error(item.problem)
        records.append(_record(place, item.value, checked))
    if not records:
        raise Place(file, "").error("the list of records is empty")
    return records


def _record(place: Place, item: object, checked: dict[tuple[str, object], str]) -> Record:
    fields = place.mapping(item)
    requests = place.at("requested_rewrite").sequence(place.field(fields, "requested_rewrite"))
    if len(requests) != 1:
        raise place.at("requested_rewrite").error(f"expected one rewrite, found {len(requests)}")
    request = _request(place.at("requested_rewrite[0]"), requests[0])
    if ("chain" in fields) == ("chains" in fields):
        raise place.error("needs either 'chain' (an object) or 'chains' (a list), and not both")
    if "chain" in fields:
        chains = [_links(place.at("chain"), fields["chain"], checked)]
    else:
        listed = place.at("chains").sequence(fields["chains"])
        chains = [
            _links(place.at(f"chains[{j}]"), chain, checked) for j, chain in enumerate(listed)
        ]
    if not chains or not all(chains):
        raise place.error("has a chain without links")
    listed = place.field(fields, "broader_context")
    context = _links(place.at("broader_context"), listed, checked)
    return Record(place, request, tuple(chains), context)


def _request(place: Place, item: object) -> Request:
    fields = place.mapping(item)
    targets: list[str] = []
    for key in ("target_true", "target_new"):
        target = place.at(key).mapping(place.field(fields, key))
        targets.append(place.at(f"{key}.str").object_name(place.at(key).field(target, "str")))
    if folded(targets[0]) == folded(targets[1]):
        raise place.error(f"target_new and target_true are the same, {quoted(targets[0])}")
    return Request(
        place.at("subject").object_name(place.field(fields, "subject")),
        place.at("prompt").prompt(place.field(fields, "prompt")),
        *targets,
    )


def _links(place: Place, item: object, checked: dict[tuple[str, object], str]) -> tuple[Link, ...]:
    """The links of a chain.

    Args:
        checked: texts by part and value, those of this chain are added; the chains of a file repeat
            most of their texts.
    """
    fields = place.mapping(item)
    lists: dict[str, list[Any]] = {}
    for part in PARTS:
        lists[part] = place.at(part).sequence(place.field(fields, part))
    if len({len(values) for values in lists.values()}) > 1:
        lengths = ", ".join(f"{part} {len(values)}" for part, values in lists.items())
        raise place.error(f"the four lists differ in length: {lengths}")

    def cell(part: str, i: int) -> str:
        value = lists[part][i]
        known = checked.get((part, value)) if isinstance(value, str) else None
        if known is None:
            there = place.at(f"{part}[{i}]")
            check = {"prompts": there.prompt, "questions": there.text}.get(part, there.name)
            known = checked[part, value] = check(value)
        return known

    return tuple(
        Link(cell("subjects", i), cell("prompts", i), cell("answers", i), cell("questions", i))
        for i in range(len(lists["subjects"]))
    )
