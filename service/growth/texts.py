"""Texts of a growth run: files of documents and forget sets, and the statements of a text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ...editing.probe.matching import sentence_end
from ..base.errors import UsageError
from ..graphs.datasets import read_apart
from .schemas import TextIn

# Statements of a text: its sentences in order, without list markers; by rules, without a model.
#
# A line is cut at the ends of its sentences as `editing.probe.matching` finds them (ThinkEval,
# App. P: answers are segmented by rules).

_MARKER = re.compile(
    r"^\s*(?:(?:[-*+•–—·▪◦]|#{1,6}|>|\(?\d{1,3}[.):]|\(?[a-zA-Z][.)](?=\s)|step\s+\d{1,3}\s*[:.)-])\s*)+",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"(\*\*|__|`)")


def statements(text: str, names: tuple[str, ...] = ()) -> list[str]:
    """Return the statements of a text; a part without letter or digit is none.

    Args:
        names: names whose dots end no sentence.
    """
    found = []
    for line in text.splitlines():
        rest = _EMPHASIS.sub("", _without_marker(line)).strip()
        while rest:
            end = sentence_end(rest, names) or len(rest)
            found.append(rest[:end].strip())
            rest = rest[end:].strip()
    return [each for each in found if any(char.isalnum() for char in each)]


def _without_marker(line: str) -> str:
    found = _MARKER.match(line)
    # An initial is no list marker: `J. K. Rowling`.
    if found is None or re.match(r"\s*[A-Z]\.\s+(?:[A-Z]\.|[A-Z][a-z]+\s)", line):
        return line
    return line[found.end() :]


# Files of text for a growth run: documents, and forget sets of unlearning benchmarks.
#
# A document is plain text or Markdown. A forget set is JSON (a list of records) or JSON lines; of
# a record the first of the fields text, statement, sentence, answer is read, since an answer that
# is a sentence (TOFU's, for one) states the fact, and a question states none.

FIELDS = ("text", "statement", "sentence", "answer")
LONGEST = 2_000_000
"""Characters of one text, as in `TextIn`."""


def read(paths: Sequence[Path]) -> tuple[TextIn, ...]:
    """The texts of some files, one a file.

    Raises:
        UsageError: a file is missing, empty, too long, not UTF-8, or a record has none of FIELDS.
    """
    return tuple(read_apart(_read, path) for path in paths)


def _read(path: Path) -> TextIn:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror or error}.", remedy="Give a file of text."
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path} is not text in UTF-8 (byte {error.start}).",
            remedy="Convert it to plain text in UTF-8 first.",
        ) from error
    if path.suffix.lower() in {".json", ".jsonl"}:
        text = "\n".join(_lines(path, _records(path, text)))
    if not text.strip():
        raise UsageError(f"{path} has no text.", remedy="Give a file with sentences.")
    if len(text) > LONGEST:
        raise UsageError(
            f"{path} has {len(text):,} characters; one text has at most {LONGEST:,}.",
            remedy="Split it into several files.",
        )
    return TextIn(name=path.name[:200], text=text)


def _records(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    """Records with their line or place, from 1."""
    if path.suffix.lower() == ".jsonl":
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield number, _json(f"{path}, line {number}", line)
        return
    whole = _json(str(path), text)
    yield from enumerate(whole if isinstance(whole, list) else [whole], 1)


def _json(where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"{where} is not JSON: {error}.", remedy="Correct it there.") from error
    except RecursionError as error:
        raise UsageError(
            f"{where} is nested too deeply for a text.", remedy="Give records with a text each."
        ) from error


def _lines(path: Path, records: Iterable[tuple[int, Any]]) -> Iterator[str]:
    for place, record in records:
        values = [record] if isinstance(record, str) else _fields(record)
        found = next((each for each in values if isinstance(each, str) and each.strip()), None)
        if found is not None and not _encodable(found):
            raise UsageError(
                f"{path}, record {place}: its text has half of a surrogate pair.",
                remedy="Write the character whole.",
            )
        if found is None:
            raise UsageError(
                f"{path}, record {place}: has no text in any of {', '.join(FIELDS)}.",
                remedy="Give it one of these fields.",
            )
        yield " ".join(found.split())


def _encodable(text: str) -> bool:
    """Return True of a text that UTF-8 can write: JSON's escapes can name half a character."""
    return not any("\ud800" <= each <= "\udfff" for each in text)


def _fields(record: Any) -> list[Any]:
    return [record.get(name) for name in FIELDS] if isinstance(record, dict) else []
