"""DepEdit's JSONL: one knowledge set per line (`loaders/depedit_records.py` defines the record).

Missing fields are derived where possible (`loaders/depedit_published.py`). A line that cannot be
read is refused and reported with its number, and the other lines are read; with `strict` the
complete file is refused.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from .depedit_published import published
from .depedit_records import OWN, from_json, to_json
from .errors import LoaderError, SchemaError
from .knowledge_sets import QA, SETTINGS, KnowledgeSet
from .reading.json_values import DECODER, JsonValueError
from .reading.sources import Place, read_text
from .records import slug
from .rule_records import Rule
from .texts import quoted

UNRELATED = 5
"""Number of unrelated facts drawn for a set without any, as in the published code."""


@dataclass(frozen=True, slots=True)
class LineNote:
    """A remark on one line of a file; `line` is counted from 1."""

    line: Annotated[int, Field(description="Number of the line, from 1.")]
    reason: Annotated[str, Field(description="The remark.")]


@dataclass(frozen=True, slots=True)
class LoadedSets:
    """The knowledge sets of a file.

    Attributes:
        sets: in the file's order.
        refused: lines that are not a knowledge set.
        notes: omissions and derived fields of the other lines.
    """

    path: Path
    sets: tuple[KnowledgeSet, ...]
    refused: tuple[LineNote, ...]
    notes: tuple[LineNote, ...]


def write(sets: Iterable[KnowledgeSet]) -> str:
    """Serialise the sets as JSONL, one line each."""
    return "".join(json.dumps(to_json(s), ensure_ascii=False) + "\n" for s in sets)


def read(
    path: Path | str, *, setting: str = "CQ_DT", strict: bool = False, seed: int = 0
) -> LoadedSets:
    """Read the sets in a file.

    Args:
        setting: the setting of lines without one; ICQ_DT uses the rephrased questions.
        strict: refuse the complete file if one line is not a set.
        seed: seed for drawing the unrelated facts of lines without any; they come from another set
            of the file that shares no relation.

    Raises:
        UnreadableFileError: the file is missing or not UTF-8.
        SchemaError: a line is not a set, with `strict`; or no line is a set.
    """
    path = Path(path)
    if setting not in SETTINGS:
        raise SchemaError(path, "setting", f"{quoted(setting)} is not one of {', '.join(SETTINGS)}")
    found: list[KnowledgeSet] = []
    lines: list[int] = []
    refused: list[LineNote] = []
    notes: list[LineNote] = []
    names: dict[str, int] = {}
    for number, text in enumerate(read_text(path).split("\n"), start=1):
        if not text.strip():
            continue
        place = Place(path, f"line {number}")
        try:
            knowledge, reasons = _line(place, text, setting, seed)
            if knowledge.id in names:
                raise place.error(
                    f"the id {quoted(knowledge.id)} is that of line {names[knowledge.id]}"
                )
        except LoaderError as error:
            if strict:
                raise
            refused.append(LineNote(number, error.detail.removeprefix(f"{path}: ")))
            continue
        names[knowledge.id] = number
        found.append(knowledge)
        lines.append(number)
        notes += [LineNote(number, reason) for reason in reasons]
    if not found:
        first = f"; {refused[0].reason}" if refused else ""
        raise SchemaError(path, "top level", f"no line is a knowledge set{first}")
    for i in _draw_unrelated(found, seed):
        n = len(found[i].unrelated)
        notes.append(LineNote(lines[i], f"{n} unrelated facts drawn from other lines"))
    return LoadedSets(path, tuple(found), tuple(refused), tuple(sorted(notes, key=_by_line)))


def _by_line(note: LineNote) -> int:
    return note.line


def _line(place: Place, text: str, setting: str, seed: int) -> tuple[KnowledgeSet, list[str]]:
    try:
        record = place.mapping(DECODER.decode(text))
    except JsonValueError as error:
        raise place.at(error.where).error(error.problem) from error
    except json.JSONDecodeError as error:
        raise place.error(f"column {error.colno}: not valid JSON ({error.msg})") from error
    except RecursionError as error:
        raise place.error("nested too deeply") from error
    knowledge, reasons = _own(place, record), []
    if knowledge is None:
        stem = slug(place.path.stem)
        number = record.get("gp_id", place.where.removeprefix("line "))
        id_ = f"{stem}-{slug(str(number))}"
        knowledge, reasons = published(place, record, id_, setting, seed)
    _check(place, knowledge)
    for facts in ([*knowledge.specific], [i.qa for i in knowledge.implications]):
        _require_distinct(place, facts)
    return knowledge, reasons


def _own(place: Place, record: dict[str, Any]) -> KnowledgeSet | None:
    """The set of a record with the key `thinkeval`, as `write` makes it; None without the key."""
    if OWN not in record:
        return None
    try:
        knowledge = from_json(record)
        again = to_json(knowledge)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise place.error(f"has the key '{OWN}', but not its schema ({problem})") from error
    if {key: record.get(key) for key in again} != again:
        raise place.error(f"has the key '{OWN}', but its parts contradict each other")
    return knowledge


_INT64 = 2**63
"""Neo4j's integers lie below this bound."""


def _check(place: Place, knowledge: KnowledgeSet) -> None:
    """Refuse a set with a name, text or number that cannot be stored."""
    place.at("id").name(knowledge.id)
    for number in (knowledge.seed, knowledge.rule.support, knowledge.rule.body):
        if number is not None and not (isinstance(number, int) and -_INT64 <= number < _INT64):
            raise place.error(f"{quoted(number)} is not a 64-bit integer")
    for text in (knowledge.dataset, knowledge.setting, knowledge.init):
        if text:
            place.name(text)
    _check_rule(place.at("rule"), knowledge.rule)
    updates = [qa for copy in knowledge.copies for qa in copy.updates]
    implied = [i.qa for copy in knowledge.copies for i in copy.updated]
    implied += [i.qa for i in knowledge.implications]
    for qa in (*knowledge.specific, *knowledge.unrelated, *updates, *implied):
        for name in (qa.subject, qa.relation, qa.object):
            place.name(name)
        for text in (qa.prompt, qa.asked):
            place.text(text)


def _check_rule(place: Place, rule: Rule) -> None:
    for atom in (*rule.premises, rule.conclusion):
        place.name(atom.relation)
        for text in atom.templates:
            place.text(text)
    for _, name in (*rule.kinds, *rule.words):
        place.name(name)
    place.name(rule.source)


def _require_distinct(place: Place, facts: Sequence[QA]) -> None:
    seen: set[tuple[str, str]] = set()
    for qa in facts:
        if qa.key in seen:
            raise place.error(
                f"two answers to one question: {quoted(qa.subject)}, {quoted(qa.relation)}"
            )
        seen.add(qa.key)


def _draw_unrelated(found: list[KnowledgeSet], seed: int) -> list[int]:
    """Draw unrelated facts for the sets without any; returns the indices of these sets."""
    relations = [_relations(knowledge) for knowledge in found]
    lacking = [i for i, knowledge in enumerate(found) if not knowledge.unrelated]
    for i in lacking:
        found[i] = replace(found[i], unrelated=_unrelated(found, relations, i, seed))
    return lacking


def _relations(knowledge: KnowledgeSet) -> set[str]:
    """The relations of the set's questions."""
    asked = [*knowledge.specific, *(i.qa for i in knowledge.implications)]
    return {qa.relation for qa in asked}


def _unrelated(
    found: Sequence[KnowledgeSet], relations: Sequence[set[str]], index: int, seed: int
) -> tuple[QA, ...]:
    """Facts of another set that shares no relation with the one at `index`; () if there is none."""
    rng = random.Random(f"{seed}|{found[index].id}|unrelated")
    for i in rng.sample(range(len(found)), len(found)):
        if relations[index].isdisjoint(relations[i]) and len(found[i].specific) >= UNRELATED:
            drawn = rng.sample(list(found[i].specific), UNRELATED)
            return tuple(replace(qa, asked=qa.prompt) for qa in drawn)
    return ()
