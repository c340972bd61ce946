"""Decisions that are given at once: `--decide CANDIDATE=VERB`, `--add`, and CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from ...errors import UsageError
from .schemas import Triplet, Verdict

VERBS = ("keep", "prune", "correct")
PARTS = ("subject", "relation", "object")


@dataclass(frozen=True, slots=True)
class Given:
    """A decision to record.

    Attributes:
        candidate: its id; None adds the triplet `after`.
        after: the corrected or added triplet.
    """

    candidate: str | None
    verb: Verdict
    after: Triplet | None = None
    reason: str | None = None


def given(
    decide: Sequence[str], add: Sequence[str], file: Path | None, reason: str | None = None
) -> list[Given]:
    """All decisions of a command, in order: of the file, decided, added.

    Raises:
        UsageError: one of them cannot be read.
    """
    found = [] if file is None else read_csv(text_of(file), file.name)
    found += [_decision(text, reason) for text in decide]
    return found + [Given(None, "keep", read_triplet(text), reason) for text in add]


def read_triplet(text: str) -> Triplet:
    """A triplet written as `SUBJECT|RELATION|OBJECT`.

    Raises:
        UsageError: it has not three parts, one is empty, or subject and object are the same.
    """
    parts = text.split("|")
    if len(parts) != 3:
        raise UsageError(
            f"{text!r} is no triplet.", remedy="Write SUBJECT|RELATION|OBJECT, in quotes."
        )
    return _triplet(dict(zip(PARTS, parts, strict=True)), repr(text))


def read_csv(text: str, name: str) -> list[Given]:
    """Decisions of a CSV: candidate, verb; subject, relation, object, reason where needed.

    `add` as the verb needs no candidate.

    Raises:
        UsageError: a column is missing or a row cannot be read; with its line.
    """
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    columns = {key.strip().casefold(): key for key in reader.fieldnames or ()}
    if not {"candidate", "verb"} <= columns.keys():
        raise UsageError(
            f"{name} has no columns candidate and verb.",
            remedy="Further ones are subject, relation, object and reason.",
        )
    found = []
    for row in reader:
        cells = {key: (row[column] or "").strip() for key, column in columns.items()}
        where = f"{name}, line {reader.line_num}"
        verb = cells["verb"]
        if verb not in (*VERBS, "add"):
            raise UsageError(f"{where}: {verb!r} is no decision.", remedy=f"{VERBS} or add.")
        needs = verb in ("correct", "add")
        after = _triplet({part: cells.get(part, "") for part in PARTS}, where) if needs else None
        candidate = None if verb == "add" else cells["candidate"]
        kept = cast(Verdict, "keep" if verb == "add" else verb)
        found.append(Given(candidate, kept, after, cells.get("reason") or None))
    return found


def _decision(text: str, reason: str | None) -> Given:
    candidate, mark, said = text.partition("=")
    verb, _, corrected = said.strip().partition(":")
    if not (mark and candidate.strip() and verb in VERBS) or bool(corrected) != (verb == "correct"):
        raise UsageError(
            f"{text!r} is no decision about a candidate.",
            remedy="Write CANDIDATE=keep, CANDIDATE=prune or"
            " 'CANDIDATE=correct:SUBJECT|RELATION|OBJECT'.",
        )
    after = read_triplet(corrected) if corrected else None
    return Given(candidate.strip(), cast(Verdict, verb), after, reason)


def _triplet(parts: dict[str, str], where: str) -> Triplet:
    try:
        return Triplet.model_validate(parts)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"{where} is no triplet: {place} {first['msg']}".replace(":  ", ": "),
            remedy="Give a subject, a relation and another object.",
        ) from error


def text_of(path: Path) -> str:
    """The text of a CSV file.

    Raises:
        UsageError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read: {error}", remedy="Give a CSV file in UTF-8."
        ) from error
