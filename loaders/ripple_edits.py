"""RippleEdits (Cohen et al. 2023): edits with test queries by six criteria.

`popular.json` and `random.json` are lists of records with `example_type`, `edit` (`prompt`, a
sentence with the new object, `subject_id`, `relation`, `target_id`, and `original_fact`, the same
with the old object) and, for each criterion (`Relation_Specificity`, `Logical_Generalization`,
`Subject_Aliasing`, `Compositionality_I` and `_II`, `Forgetfulness`), a list of tests:
`test_queries`, `test_condition` (`OR`: one correct query is enough; `AND`: all must be) and
`condition_queries`, which the model must answer before the edit. A query has `prompt`, `answers`
(`value`, `aliases`; the reply must have each of them), `query_type`, `subject_id`, `relation` and
`target_ids`.

Records have no names of subject and objects. An object is the end of its sentence: where a query
gives the label of its id, or after the words of the relation. Those words are what the prompts of
the relation have in common in the whole file, if it has three subjects at least; the subject is
what they leave. The graph has one fact (subject, relation, old object) a record.

The queries are checks of the request, those of a test are one group. One-letter aliases are left
out, as by the published evaluation. `recent.json` adds facts and states no old object, so its
records are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .assembly import GraphAssembly
from .edit_records import Edit, add_edits, number_of, read_records
from .reading.json_stream import head, items
from .reading.sources import Place, default_name
from .records import Check, LoadedGraph, RewriteRequest, as_template, unique
from .texts import MAX_NAME, examples, folded, quoted

SUMMARY = "RippleEdits: popular.json or random.json, edits with queries by six criteria"
LEAST_SUBJECTS = 3
"""Smallest number of subjects whose prompts show the words of a relation."""
_ID = re.compile(r"\bQ\d+\b")


@dataclass(slots=True)
class _Phrase:
    """The words that the prompts of a relation have in common, before and behind the subject."""

    before: list[str]
    behind: list[str]
    subjects: set[str] = field(default_factory=set)

    def add(self, words: list[str], subject: str) -> None:
        self.before = _common(self.before, words[:-1])
        self.behind = _common(self.behind[::-1], words[:0:-1])[::-1]
        if len(self.subjects) < LEAST_SUBJECTS:
            self.subjects.add(subject)

    def subject(self, stem: Sequence[str]) -> str:
        """Return the rest of a prompt without the words; empty if they are not its words."""
        end = len(stem) - len(self.behind)
        own = stem[: len(self.before)] == self.before and stem[end:] == self.behind
        return " ".join(stem[len(self.before) : end]) if own else ""


@dataclass
class _Reading:
    """The state of reading one file."""

    assembly: GraphAssembly
    phrases: dict[str, _Phrase]
    unanswered: list[str] = field(default_factory=list)
    with_ids: list[str] = field(default_factory=list)


def recognises(path: Path) -> bool:
    """Return True if the file is RippleEdits'; reads only its beginning."""
    text = head(path)
    return all(f'"{key}"' in text for key in ("example_type", "edit", "test_queries"))


def load(path: Path | str, *, name: str | None = None, limit: int | None = None) -> LoadedGraph:
    """Read a RippleEdits file.

    Args:
        path: the file.
        name: the data set's name; by default the file's.
        limit: number of records to read, from the beginning.

    Raises:
        UnreadableFileError: the file is missing, cut off, or not JSON.
        SchemaError: no record is usable; single unusable records are refused in the report.
    """
    path = Path(path)
    reading = _Reading(GraphAssembly(name or default_name(path)), _phrases(path))

    def parse(place: Place, record: dict[str, Any]) -> Edit:
        return Edit(_request(place, record, reading), number_of(place, record))

    edits = read_records(path, reading.assembly, limit, parse)
    add_edits(edits, reading.assembly)
    reading.assembly.read["checks"] = sum(len(edit.request.checks) for edit in edits)
    for found, reason in (
        (reading.unanswered, "have no answer and are left out"),
        (reading.with_ids, "have an id in place of a name; they are used unchanged"),
    ):
        if found:
            note = f"{reason}: {examples(found)}"
            reading.assembly.note("flagged", f"{len(found)} queries", note)
    return reading.assembly.finish(str(path), "ripple_edits")


def _phrases(path: Path) -> dict[str, _Phrase]:
    """The words of each relation, from all plain queries of the file."""
    found: dict[str, _Phrase] = {}
    for item in items(path):
        for query in _queries(item.value):
            prompt, relation = query.get("prompt"), query.get("relation")
            if query.get("query_type") != "regular" or not isinstance(relation, str):
                continue
            if isinstance(prompt, str) and len(words := prompt.split()) > 1:
                phrase = found.setdefault(relation, _Phrase(words[:-1], words[1:]))
                phrase.add(words, str(query.get("subject_id")))
    return found


def _queries(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a record that may be a query, whatever the record's form."""
    if isinstance(value, dict):
        if "answers" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _queries(each)


def _common(one: list[str], other: list[str]) -> list[str]:
    n = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    return one[: min(len(one), len(other)) if n is None else n]


def _request(place: Place, record: dict[str, Any], reading: _Reading) -> RewriteRequest:
    there = place.at("edit")
    edit = there.mapping(place.field(record, "edit"))
    if "original_fact" not in edit:
        raise there.error(
            "has no 'original_fact', so there is no old object to replace: import popular.json or"
            " random.json, whose records have one"
        )
    old = there.at("original_fact").mapping(edit["original_fact"])
    relation = there.at("relation").name(there.field(edit, "relation"))
    sentences = [
        at.at("prompt").text(at.field(fields, "prompt"))
        for at, fields in ((there, edit), (there.at("original_fact"), old))
    ]
    labels = dict(_labels(record))
    ids = [str(fields.get("target_id")) for fields in (edit, old)]
    stem = _stem(there, sentences, [labels.get(id_) for id_ in ids], reading.phrases.get(relation))
    new, true = (
        there.object_name(sentence.removeprefix(stem).strip().removesuffix("."))
        for sentence in sentences
    )
    if folded(new) == folded(true):
        raise there.error(f"the new and the old object are the same, {quoted(new)}")
    subject = _subject(
        there,
        stem,
        labels.get(str(edit.get("subject_id"))),
        reading.phrases.get(relation),
    )
    return RewriteRequest(
        id=RewriteRequest.make_id(subject, relation, new),
        dataset=reading.assembly.name,
        prompt=there.at("prompt").prompt(as_template(stem, subject)),
        subject=subject,
        relation=relation,
        target_true=true,
        target_new=new,
        n_records=1,
        checks=tuple(_checks(place, record, reading)),
    )


def _labels(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Id and label of the objects that the queries of a record ask for."""
    for query in _queries(record):
        hops = query.get("query_type") == "two_hop"
        ids, answers = (
            query.get("second_hop_target_ids" if hops else "target_ids"),
            query["answers"],
        )
        if isinstance(ids, list) and isinstance(answers, list) and len(ids) == len(answers):
            for id_, answer in zip(ids, answers, strict=True):
                if isinstance(answer, dict) and isinstance(answer.get("value"), str):
                    yield str(id_), answer["value"]


def _stem(
    place: Place, sentences: Sequence[str], labels: Sequence[str | None], phrase: _Phrase | None
) -> str:
    """The beginning of both sentences that the object follows."""
    for sentence, other, label in zip(sentences, sentences[::-1], labels, strict=True):
        if label and sentence.endswith(f" {label}."):
            stem = sentence.removesuffix(f" {label}.")
            if other.startswith(f"{stem} "):
                return stem
    if phrase is not None and len(phrase.subjects) >= LEAST_SUBJECTS and phrase.behind:
        words = sentences[0].split()
        # An object has a name's length, so that a long prompt is not tried at each of its words.
        least = max(len(phrase.before) + len(phrase.behind), len(words) - MAX_NAME)
        for end in range(len(words) - 1, least, -1):
            stem = " ".join(words[:end])
            if phrase.subject(words[:end]) and all(s.startswith(f"{stem} ") for s in sentences):
                return stem
    raise place.at("prompt").error(
        "no query gives the label of an object, and fewer than three subjects of the file show the"
        f" words of the relation, so no end of {quoted(sentences[0])} is known to be the object"
    )


def _subject(place: Place, stem: str, label: str | None, phrase: _Phrase | None) -> str:
    if label and label in stem:
        return place.object_name(label)
    found = ""
    if phrase is not None and len(phrase.subjects) >= LEAST_SUBJECTS:
        found = phrase.subject(stem.split())
    if not found:
        raise place.at("prompt").error(
            "no query gives the label of the subject, and fewer than three subjects of the file"
            f" show the words of the relation, so no part of {quoted(stem)} is known to be it"
        )
    return place.object_name(found)


def _checks(place: Place, record: dict[str, Any], reading: _Reading) -> Iterator[Check]:
    for criterion, tests in record.items():
        if not isinstance(tests, list):
            continue
        for i, item in enumerate(tests):
            there = place.at(f"{criterion}[{i}]")
            test = there.mapping(item)
            conditions = tuple(_asked(there, test, "condition_queries", reading))
            asked = list(_asked(there, test, "test_queries", reading))
            how = test.get("test_condition", "OR")
            if how not in ("OR", "AND"):
                raise there.at("test_condition").error(f"{quoted(how)} is neither OR nor AND")
            group = f"{criterion}/{i}" if len(asked) > 1 else ""
            for prompt, (first, *further) in asked:
                yield Check(
                    criterion,
                    prompt,
                    first,
                    tuple(further),
                    group,
                    every=bool(group) and how == "AND",
                    conditions=tuple(
                        Check("condition", text, one, tuple(more))
                        for text, (one, *more) in conditions
                    ),
                )


def _asked(
    place: Place, test: dict[str, Any], key: str, reading: _Reading
) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Prompt and answers of the queries; those without an answer are left out."""
    for i, item in enumerate(place.at(key).sequence(test.get(key, []))):
        there = place.at(f"{key}[{i}]")
        query = there.mapping(item)
        prompt = there.at("prompt").text(there.field(query, "prompt"))
        answers = [
            _names(there.at(f"answers[{j}]"), answer, reading.assembly)
            for j, answer in enumerate(there.at("answers").sequence(there.field(query, "answers")))
        ]
        if not answers:
            reading.unanswered.append(there.where)
            continue
        if _ID.search(prompt):
            reading.with_ids.append(f"{there.where}: {quoted(prompt)}")
        yield prompt, answers


def _names(place: Place, item: object, assembly: GraphAssembly) -> tuple[str, ...]:
    answer = place.mapping(item)
    value = assembly.text(place.at("value"), place.field(answer, "value"))
    listed = place.at("aliases").sequence(answer.get("aliases", []))
    aliases = (place.at(f"aliases[{i}]").text(each) for i, each in enumerate(listed))
    return unique((value, *(each for each in aliases if len(each) > 1 or each.isdigit())))
