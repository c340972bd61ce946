"""English sentences by rule: a negated cloze, a noun phrase of a question, a clause behind `that`.

Each rule returns None for a text that it does not cover: nothing is guessed.
"""

from __future__ import annotations

import re

from ...loaders.records import SUBJECT_SLOT, slot_parts

AUXILIARIES = ("is", "are", "was", "were", "has", "had", "can", "will")
NEGATIVE = re.compile(r"\b(?:not|never|no|cannot)\b|n't\b", re.IGNORECASE)

_AUXILIARY = re.compile(rf"\b(?:{'|'.join(AUXILIARIES)})\b")
_VERB = re.compile(r"(\s+)([a-z]+s)\b(?!')")
_NO_VERBS = frozenset({"always", "perhaps", "sometimes", "its", "this", "across", "thus", "as"})


def negated(template: str) -> str | None:
    """A cloze with *not* behind its first auxiliary after the subject, or with *does not*.

    None for a cloze that is negative already, names no subject, or has no such verb.
    """
    parts = slot_parts(template)
    if len(parts) != 2 or NEGATIVE.search(template):
        return None
    before, after = parts
    if found := _AUXILIARY.search(after):
        return f"{before}{SUBJECT_SLOT}{after[: found.end()]} not{after[found.end() :]}"
    verb = _VERB.match(after)
    if verb is None or verb[2] in _NO_VERBS:
        return None
    return f"{before}{SUBJECT_SLOT}{verb[1]}does not {stem(verb[2])}{after[verb.end() :]}"


def stem(verb: str) -> str:
    """The stem of a verb in the third person: *lies* gives *lie*, *carries* gives *carry*."""
    if verb.endswith("ies") and len(verb) > 4:
        return f"{verb[:-3]}y"
    if verb.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
        return verb[:-2]
    return verb[:-1]


def third_person(verb: str) -> str:
    """The inverse of `stem`."""
    if verb.endswith("y") and verb[-2:-1] not in tuple("aeiou"):
        return f"{verb[:-1]}ies"
    if verb.endswith(("ss", "sh", "ch", "x", "zz", "o")):
        return f"{verb}es"
    return f"{verb}s"


def clause(text: str) -> str:
    """A sentence that begins with no name, as the clause behind *that*: its first letter small."""
    word = next(iter(text.split()), "")
    if word == "I" or not (len(word) == 1 or word[1:].islower()):
        return text
    return text[:1].lower() + text[1:]


_WHAT = re.compile(r"^(?:What|Who) (?:is|are|was|were) (?P<np>.+)\?$")
_IN_WHICH = re.compile(
    r"^(?P<prep>[A-Z][a-z]+) which (?P<noun>[a-z]+(?: [a-z]+)?) (?P<aux>is|are|was|were) "
    r"(?P<np>.+?)"
    r"(?P<rest>(?: [a-z]+ly)? (?:born|built|founded|located|situated|spoken|written))?\?$"
)
_IN_WHICH_DOES = re.compile(
    r"^(?P<prep>[A-Z][a-z]+) which (?P<noun>[a-z]+(?: [a-z]+)?) (?P<aux>does|did) "
    r"(?P<np>.+) (?P<verb>[a-z]+)\?$"
)
_WHICH = re.compile(r"^Which (?P<noun>[a-z]+(?: [a-z]+)?) (?P<rest>(?:is|are|was|were) .+)\?$")
_WHO = re.compile(r"^Who (?P<rest>[a-z]+ .+)\?$")


def phrase(question: str) -> str | None:
    """The noun phrase that a question asks for.

    *What is the capital of {}?* gives *the capital of {}*, *In which city is the {}?* gives *the
    city in which the {} is*. None for a question of another form.
    """
    text = " ".join(question.split())
    if text.count(SUBJECT_SLOT) != 1:
        return None
    if found := _WHAT.match(text):
        return found["np"]
    if found := _IN_WHICH.match(text):
        tail = f"{found['np']} {found['aux']}{found['rest'] or ''}"
        return f"the {found['noun']} {found['prep'].lower()} which {tail}"
    if (found := _IN_WHICH_DOES.match(text)) and found["aux"] == "does":
        tail = f"{found['np']} {third_person(found['verb'])}"
        return f"the {found['noun']} {found['prep'].lower()} which {tail}"
    if found := _WHICH.match(text):
        return f"the {found['noun']} that {found['rest']}"
    if found := _WHO.match(text):
        return f"the person who {found['rest']}"
    return None


def nested(template: str, inner: str) -> str:
    """A cloze whose subject is a noun phrase; an article or noun in front is not repeated.

    *The river {} flows …* with *the river on which Rome lies* gives *The river on which …*.
    """
    before, *after = slot_parts(template)
    words = re.search(r"\b([Tt]he(?: [a-z]+)?)\s*$", before)
    if words and inner.startswith(f"{words[1].lower()} "):
        inner = inner[len(words[1]) + 1 :]
    elif not before.strip():
        inner = inner[:1].upper() + inner[1:]
    return before + inner + SUBJECT_SLOT.join(after)
