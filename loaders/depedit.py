"""DepEdit's JSONL: one knowledge set a line (the record: see `loaders/depedit_records.py`).

What a line lacks is made up for where that can be done (`loaders/depedit_published.py`); a line
that cannot be read is told with its number, and the others are read, or none with `strict`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from thinkeval.loaders.depedit_published import published
from thinkeval.loaders.depedit_records import OWN, from_json, to_json
from thinkeval.loaders.errors import LoaderError, SchemaError
from thinkeval.loaders.json_values import DECODER, JsonValueError
from thinkeval.loaders.knowledge_sets import QA, SETTINGS, KnowledgeSet
from thinkeval.loaders.records import slug
from thinkeval.loaders.rule_records import Rule
from thinkeval.loaders.sources import Place, read_text
from thinkeval.loaders.texts import quoted

UNRELATED = 5
"""Facts of other sets that a set gets which brings none, as in the published code."""


@dataclass(frozen=True, slots=True)
class LineNote:
    """Something about one line of a file; `line` is counted from 1."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class LoadedSets:
    """What a file held.

    Attributes:
        sets: in the file's order.
        refused: lines that are no knowledge set.
        notes: what was left out or made up for in the others.
    """

    path: Path
    sets: tuple[KnowledgeSet, ...]
    refused: tuple[LineNote, ...]
    notes: tuple[LineNote, ...]


def write(sets: Iterable[KnowledgeSet]) -> str:
    """The sets as JSONL, a line each."""
    return "".join(json.dumps(to_json(s), ensure_ascii=False) + "\n" for s in sets)


def read(
    path: Path | str, *, setting: str = "CQ_DT", strict: bool = False, seed: int = 0
) -> LoadedSets:
    """Read the sets in a file.

    Args:
        setting: for lines that do not name theirs: ICQ_DT asks by the rephrased questions.
        strict: refuse the file as a whole where a line is no set.
        seed: of unrelated facts, for lines that bring none: they are drawn from another set of the
            file that shares no relation.

    Raises:
        UnreadableFileError: the file is missing or not UTF-8.
        SchemaError: a line is no set, with `strict`; or no line is one.
    """
    path = Path(path)
    if setting not in SETTINGS:
        raise SchemaError(path, "setting", f"{setting!r} is not one of {', '.join(SETTINGS)}")
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
            knowledge, told = _line(place, text, setting, seed)
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
        notes += [LineNote(number, reason) for reason in told]
    if not found:
        first = f"; {refused[0].reason}" if refused else ""
        raise SchemaError(path, "top level", f"no line is a knowledge set{first}")
    for i, knowledge in enumerate(found):
        if not knowledge.unrelated:
            found[i] = replace(knowledge, unrelated=_unrelated(found, i, seed))
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
    knowledge, told = _own(place, record), []
    if knowledge is None:
        stem = slug(place.path.stem)
        number = record.get("gp_id", place.where.removeprefix("line "))
        knowledge, told = published(place, record, f"{stem}-{slug(str(number))}", setting, seed)
    _check(place, knowledge)
    for facts in ([*knowledge.specific], [i.qa for i in knowledge.implications]):
        _require_distinct(place, facts)
    return knowledge, told


def _own(place: Place, record: dict[str, Any]) -> KnowledgeSet | None:
    """A set that we wrote; None where somebody else did."""
    if OWN not in record:
        return None
    try:
        knowledge = from_json(record)
        again = to_json(knowledge)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        told = f"{type(error).__name__}: {error}"
        raise place.error(f"is not the record that it says it is ({told})") from error
    if {key: record.get(key) for key in again} != again:
        raise place.error("is not the record that it says it is: its parts contradict each other")
    return knowledge


_INT64 = 2**63
"""Neo4j's integers lie below this bound."""


def _check(place: Place, knowledge: KnowledgeSet) -> None:
    """Refuse a set with a name, text or number that cannot be stored."""
    place.at("id").name(knowledge.id)
    for number in (knowledge.seed, knowledge.rule.support, knowledge.rule.body):
        if number is not None and not (isinstance(number, int) and -_INT64 <= number < _INT64):
            raise place.error(f"{quoted(number)} is no whole number of at most 64 bits")
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
    for atom in (rule.first, rule.second, rule.conclusion):
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


def _unrelated(found: Sequence[KnowledgeSet], index: int, seed: int) -> tuple[QA, ...]:
    def relations(knowledge: KnowledgeSet) -> set[str]:
        asked = [*knowledge.specific, *(i.qa for i in knowledge.implications)]
        return {qa.relation for qa in asked}

    own = relations(found[index])
    rng = random.Random(f"{seed}|{found[index].id}|unrelated")
    for other in rng.sample(list(found), len(found)):
        if not own & relations(other) and len(other.specific) >= UNRELATED:
            drawn = rng.sample(list(other.specific), UNRELATED)
            return tuple(replace(qa, asked=qa.prompt) for qa in drawn)
    return ()
