"""TOFU (Maini et al. 2024): questions about fictitious authors whose answers shall be forgotten.

`forget01.json`, `forget01_perturbed.json` and so on are JSON lines (or a list) of records with
`question` and `answer`, and in the perturbed files `paraphrased_question`, `paraphrased_answer` and
`perturbed_answer`, a list of false answers.

Each record is a request to forget: its prompt is the question with {} for the subject, its old
object the whole answer, and it has no new object. The graph has that fact. The relation is the
slug of the prompt. Checks: `answer` at the question and `paraphrased` at its paraphrase (the answer
is accepted), and `truth_ratio` at the question (the paraphrased answer, with the perturbed answers
as `wrong`), after the paper's truth ratio.

A record may have a `subject`. Without one the subject is the name, of two words or more, that the
most questions of the file have in common, of those in the record's question and answer; three
questions at least, as TOFU has twenty on each author. Where a numeral follows that name, or no
question has it by itself, the subject is the longer name in the question (`World War II`). A
record whose question does not have that name is refused, and so are TOFU's real authors and world
facts, which name each subject once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from .assembly import GraphAssembly
from .edit_records import (
    Edit,
    Relations,
    add_edits,
    number_of,
    prompt_of,
    read_records,
    slotted,
    texts,
    to_forget,
)
from .reading.json_stream import first_keys, items
from .reading.sources import Place, default_name
from .records import Check, LoadedGraph
from .texts import examples, quoted

SUMMARY = "TOFU: questions with answers to forget, and perturbed answers"
NEEDED = {"question", "answer"}
KEYS = NEEDED | {
    "task_id", "subject", "paraphrased_question", "paraphrased_answer", "perturbed_answer",
    "original_answer", "option1", "option2", "option3", "option4",
}  # fmt: skip
LEAST_QUESTIONS = 3
"""Smallest number of questions that name a subject."""
_WORD = re.compile(r"[^\W\d_][\w.'’-]*\w|[^\W\d_]|\d+")
_POSSESSIVE = re.compile(r"['’]s$")
_NUMERAL = re.compile(r" (?:[IVX]+|\d{1,3})\b")
_OPENERS = frozenset(
    str.split(
        "what who whom whose when where which why how did does do is are was were can could has "
        "have had would will in on at the of for with from to by during after before"
    )
)


def recognises(path: Path) -> bool:
    """Return True if the first record has TOFU's keys and no others."""
    return NEEDED <= first_keys(path) <= KEYS


def load(path: Path | str, *, name: str | None = None, limit: int | None = None) -> LoadedGraph:
    """Read a TOFU file.

    Args:
        path: the file.
        name: the data set's name; by default the file's.
        limit: number of records to read, from the beginning.

    Raises:
        UnreadableFileError: the file is missing, cut off, or not JSON.
        SchemaError: no record is usable; single unusable records are refused in the report.
    """
    path = Path(path)
    assembly = GraphAssembly(name or default_name(path), distinct_spellings=True)
    named, relations = _Names(path), Relations()
    found: Counter[str] = Counter()

    def parse(place: Place, record: dict[str, Any]) -> Edit:
        return _edit(place, record, assembly, named, relations, found)

    edits = read_records(path, assembly, limit, parse)
    add_edits(edits, assembly)
    assembly.read["checks"] = sum(len(edit.request.checks) for edit in edits)
    if found:
        assembly.note(
            "repaired",
            f"{found.total()} subjects",
            "are not stated; they are the names that the questions share:"
            f" {examples(f'{each} ({n})' for each, n in found.most_common())}",
        )
    return assembly.finish(str(path), "tofu")


class _Names(Counter[str]):
    """The number of questions that have each name.

    Attributes:
        alone: names that a question has without a longer one around them.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.alone: set[str] = set()
        for item in items(path):
            question = item.value.get("question") if isinstance(item.value, dict) else None
            if isinstance(question, str):
                self.update(set(_names(question)))
                self.alone.update(_runs(question))

    def longest(self, name: str, question: str) -> str:
        """The name in the question that a shared name is only a part of; else the shared one."""
        around = [run for run in _runs(question) if f" {name} " in f" {run} "]
        if not around:
            return name
        whole = max(around, key=len)
        numbered = _NUMERAL.match(whole, whole.find(name) + len(name))
        if name not in self.alone:
            return whole
        return name + numbered[0] if numbered else name


def _words(text: str) -> Iterator[list[re.Match[str]]]:
    """Every run of words with a capital that only spaces separate."""
    run: list[re.Match[str]] = []
    for word in _WORD.finditer(text):
        if run and text[run[-1].end() : word.start()] != " ":
            yield run
            run = []
        if word[0][0].isupper() or (run and word[0][0].isdigit()):
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _runs(text: str) -> Iterator[str]:
    """Every run as it is, without a word that begins a question and without a possessive."""
    for run in _words(text):
        words = run[1:] if run[0][0].lower() in _OPENERS else run
        ends = [i for i, word in enumerate(words) if _POSSESSIVE.search(word[0])]
        for first, last in zip([0, *(i + 1 for i in ends)], [*ends, len(words) - 1], strict=True):
            if last > first:
                yield _POSSESSIVE.sub("", text[words[first].start() : words[last].end()])


def _names(text: str) -> Iterator[str]:
    """Every part of two to six words of a run."""
    for run in _words(text):
        for last, word in enumerate(run):
            end = len(_POSSESSIVE.sub("", word[0])) + word.start()
            yield from (text[first.start() : end] for first in run[max(0, last - 5) : last])


def _edit(
    place: Place,
    record: dict[str, Any],
    assembly: GraphAssembly,
    named: _Names,
    relations: Relations,
    found: Counter[str],
) -> Edit:
    there = place.at("question")
    question = there.text(place.field(record, "question"))
    answer = place.at("answer").name(assembly.text(place.at("answer"), record.get("answer")))
    if "subject" in record:
        subject = place.at("subject").object_name(record["subject"])
    else:
        subject = _subject(there, question, answer, named)
    prompt = prompt_of(there, question, subject)
    request = to_forget(there, assembly.name, relations, subject, prompt, answer)
    paraphrase = record.get("paraphrased_question")
    asked = () if paraphrase is None else (place.at("paraphrased_question").text(paraphrase),)
    if "subject" not in record:
        found[subject] += 1
    request = replace(
        request,
        question=question,
        paraphrases=tuple(slotted(each, subject) for each in asked),
        checks=(
            Check("answer", question, (answer,)),
            *(Check("paraphrased", each, (answer,)) for each in asked),
            *_truth_ratio(place, record, question, answer),
        ),
    )
    return Edit(request, number_of(place, record))


def _subject(place: Place, question: str, answer: str, named: _Names) -> str:
    own = {*_names(question), *_names(answer)}
    best = max(own, key=lambda each: (named[each], len(each), each), default="")
    if named[best] < LEAST_QUESTIONS:
        raise place.error(
            f"names no subject that {LEAST_QUESTIONS} questions of the file share:"
            f" {quoted(question)}; give the record a field 'subject'"
        )
    return named.longest(best, question)


def _truth_ratio(
    place: Place, record: dict[str, Any], question: str, answer: str
) -> Iterator[Check]:
    if "perturbed_answer" in record:
        right = record.get("paraphrased_answer", answer)
        right = place.at("paraphrased_answer").text(right)
        wrong = texts(place, record, "perturbed_answer")
        yield Check("truth_ratio", question, (right,), wrong=wrong)
