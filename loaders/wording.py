"""Prompts derived from a file's sentences, or from the name of a relation.

The heuristics are simple and their results are reported as repaired, for review; a file in
ThinkEval's format (`graph_yaml.py`) contains its prompts.
"""

from __future__ import annotations

import re

from .records import SUBJECT_SLOT

_AUXILIARY = re.compile(r"is|was|are|were|has|had|have|can|does|did|will|may|must")
_PAST = re.compile(r"\w+ed|taught|wrote|won|led|made|built|held|found|met|sang|ran|grew|began")
_IS_STATE = re.compile(r"located|situated|based|named|called|known")
_WAS_STATE = re.compile(r"born|written|created|founded|designed|produced|developed")
_PREPOSITION = re.compile(r"at|of|in|to|by|for|from|with|on|under|near|as")


def from_relation(relation: str) -> str:
    """Derive a cloze from a relation's name.

    A verb phrase follows the subject (`studied at` -> `{} studied at`), a noun with a preposition
    describes the subject (`teacher at` -> `{} is a teacher at`), any other noun names what the
    subject has (`house` -> `{}'s house is`).
    """
    if relation.count(SUBJECT_SLOT) == 1:
        return relation
    words = relation.replace("_", " ").split()
    text = " ".join(words)
    first, last = words[0].lower(), words[-1].lower()
    relative = len(words) > 1 and _PREPOSITION.fullmatch(last) is not None
    if relative and _WAS_STATE.fullmatch(first):
        return f"{SUBJECT_SLOT} was {text}"
    if relative and _IS_STATE.fullmatch(first):
        return f"{SUBJECT_SLOT} is {text}"
    if _AUXILIARY.fullmatch(first) or _PAST.fullmatch(first) or (relative and first[-1] == "s"):
        return f"{SUBJECT_SLOT} {text}"
    if relative:
        return f"{SUBJECT_SLOT} is {'an' if first[0] in 'aeiou' else 'a'} {text}"
    return f"{SUBJECT_SLOT}'s {text} is"


def from_statement(statement: str, subject: str, object_: str) -> str | None:
    """Derive a cloze from a sentence about the subject that ends, or would end, with the object.

    A sentence that names the subject is a complete text, in which `{}` is text; another one may
    have `{}` in the subject's place. None if the subject is missing or occurs twice, if a complete
    text has a `{}` of its own, or if the object occurs before the end: then no beginning of the
    sentence is a prompt for the object.
    """
    text = statement.strip().rstrip(".").rstrip()
    named = len(_word(subject).findall(text))
    if named == 1:
        text = _word(subject).sub(lambda _: SUBJECT_SLOT, text)
    elif named or text.count(SUBJECT_SLOT) != 1:
        return None
    places = [match.span() for match in _word(object_).finditer(text)]
    if places and places[-1][1] == len(text):
        text = text[: places.pop()[0]].rstrip()
    if places or text.count(SUBJECT_SLOT) != 1 or text == SUBJECT_SLOT:
        return None
    return text


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
