"""The label audit of an import: labels that are probably wrong, each with a code.

* `contradicting-objects`: a subject has several objects of a relation that has one. A relation is
  taken to have one if its name says so (`born in`, `capital of`), if a request replaces its object,
  or if nine of ten of its subjects, at least ten, have one.
* `object-in-prompt`, `object-in-subject`: the text that asks for the object contains it.
* `subject-not-in-prompt`: a prompt, paraphrase or question does not name its subject.
* `qualifier`: a name ends in when it is true (`as of 2015`, `(until 2003)`, `(1998-2003)`).
* `near-duplicate`: two names differ in punctuation or accents, or in a letter of a long word.
* `empty-cell`, `placeholder`: a value is missing; found where the file is read.

The findings are reported; nothing is changed by them. The work is linear in the text: similar names
meet under a common key and are not compared in pairs.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .records import Entity, Fact, RewriteRequest, slot_parts
from .texts import enumeration, folded, quoted

KIND = "audit"
"""The kind of the audit's own notes."""
ADVICE = {
    "contradicting-objects": "keep the object that is true, or name the relations apart",
    "object-in-prompt": "the fact may be true, but its prompt gives the object away, so that its"
    " probability says little: leave it out, or word the prompt without the object",
    "object-in-subject": "the fact may be true, but the subject's name gives the object away, so"
    " that its probability says little: leave it out",
    "subject-not-in-prompt": "name the subject as the fact writes it",
    "qualifier": "leave out of the name when it is true",
    "near-duplicate": "write one of the names, with the other as its alias, unless they are two"
    " entities",
    "empty-cell": "fill the cell, or leave out the record",
    "placeholder": "write the name, or leave out the record",
}
"""Remedies of findings, by code."""
SHARE, SUBJECTS = 0.9, 10
"""A relation has one object if this fraction of its subjects, of at least so many, has one."""
LONG_NAME, LONG_WORD = 8, 5
"""Letters of a name, and of the word in it, in which one letter more or less is suspicious."""
KEYS = 2_000_000
"""Keys of names with one letter less at most, for the memory; names beyond are not compared."""

_ONE = re.compile(
    r"(?:was )?(?:born|died|buried) (?:in|on|at)|capital(?: of)?|(?:date|place|year|country) of "
    r"(?:birth|death|origin)|(?:birth|death) ?(?:date|place|year)|(?:biological )?(?:father|mother)"
    r"|native language|founded in|population|chemical symbol|isbn"
)
_QUALIFIER = re.compile(
    r"\((?:as of|until|till|since|from|before|after|circa|ca?\.)[^)]*\d{2}[^)]*\)"
    r"|\((?:former|formerly|currently)\b[^)]*\)"
    r"|\bas of (?:\w+ ){0,2}\d{4}\b|\bfrom \d{4} (?:to|until|till) \d{4}\b"
    r"|\(\d{4} ?[-–—/] ?(?:\d{2,4}|present|now|today)?\)"
    r"|^(?:until|till|since|before|after|circa) .*\b\d{3,4}$",
    re.IGNORECASE,
)
_UNSPACED = re.compile("[\u0e00-\u0eff\u2e80-\u9fff\uac00-\ud7af]")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[\W_]+(?=\d)")
_MARKS = re.compile("[\u0300-\u036f]")
_WORD = re.compile(rf"[^\W\d_]{{{LONG_WORD},}}")


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: its code, the fact or name, and the reason."""

    code: str
    where: str
    reason: str


def findings(
    entities: Sequence[Entity], facts: Sequence[Fact], rewrites: Sequence[RewriteRequest]
) -> Iterator[Finding]:
    """Every finding in a graph, in an order that depends on its content only."""
    yield from _contradictions(entities, facts, rewrites)
    yield from _given_away(facts, rewrites)
    yield from _unnamed(facts, rewrites)
    names = [entity.name for entity in entities]
    for name in names:
        if (found := _QUALIFIER.search(name)) is not None:
            yield Finding("qualifier", _entity(name), f"has the qualifier {quoted(found[0])}")
    yield from _same_letters(names)
    yield from _one_letter(names)


def _entity(name: str) -> str:
    return f"entity {quoted(name)}"


def _contradictions(
    entities: Sequence[Entity], facts: Sequence[Fact], rewrites: Sequence[RewriteRequest]
) -> Iterator[Finding]:
    objects: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for fact in facts:
        objects[fact.subject, fact.relation][fact.object] = None
    subjects, single = Counter[str](), Counter[str]()
    for (_, relation), several in objects.items():
        subjects[relation] += 1
        single[relation] += len(several) == 1
    replaced = {(r.subject, r.relation) for r in rewrites if r.kind == "replace"}
    forgotten = {(r.subject, r.relation) for r in rewrites if r.kind == "forget"}
    aliases = {entity.name: set(map(folded, entity.aliases)) for entity in entities}
    for (subject, relation), several in objects.items():
        # A name's own aliases have its other spellings, which are folded as the name is.
        others = {a for name in several for a in aliases.get(name, ()) if a != folded(name)}
        distinct = [name for name in several if folded(name) not in others]
        if len(distinct) < 2:
            continue
        n = subjects[relation]
        if _ONE.fullmatch(relation.casefold().replace("_", " ")):
            reason = "the relation has one object by its name"
        elif (subject, relation) in replaced:
            reason = "a request replaces its object"
        elif (subject, relation) in forgotten:
            reason = "requests to forget have different answers to its question"
        elif n >= SUBJECTS and single[relation] >= SHARE * n:
            reason = f"{single[relation]} of {n} subjects of the relation have one"
        else:
            continue
        where = f"{quoted(subject)} {quoted(relation)}"
        listed = enumeration(distinct)
        yield Finding("contradicting-objects", where, f"has {len(distinct)} ({listed}): {reason}")


def _given_away(facts: Iterable[Fact], rewrites: Iterable[RewriteRequest]) -> Iterator[Finding]:
    asked = dict.fromkeys((f.subject, f.relation, f.prompt, f.object) for f in facts)
    for r in rewrites:
        for target in filter(None, (r.target_true, r.target_new)):
            asked[r.subject, r.relation, r.prompt, target] = None
    for subject, relation, prompt, answer in asked:
        where = f"{quoted(subject)} {quoted(relation)} {quoted(answer)}"
        if any(_contains(part, answer) for part in slot_parts(prompt)):
            yield Finding("object-in-prompt", where, f"the prompt has the object: {quoted(prompt)}")
        elif _contains(subject, answer):
            yield Finding("object-in-subject", where, "the subject's name has the object")


def _contains(text: str, name: str) -> bool:
    """Return True if a text has the name as whole words, in any case."""
    text, name = folded(text), folded(name)
    at = text.find(name)
    while at >= 0:
        around = text[max(at - 1, 0) : at] + text[at + len(name) :][:1]
        if _UNSPACED.search(name) or not any(map(str.isalnum, around)):
            return True
        at = text.find(name, at + 1)
    return False


def _unnamed(facts: Iterable[Fact], rewrites: Iterable[RewriteRequest]) -> Iterator[Finding]:
    for fact in facts:
        name = folded(fact.subject)
        for text in (text for text in fact.questions if name not in folded(text)):
            where = f"{quoted(fact.subject)} {quoted(fact.relation)} {quoted(fact.object)}"
            yield Finding("subject-not-in-prompt", where, f"the question is {quoted(text)}")
    for rewrite in rewrites:
        for text in rewrite.paraphrases:
            if len(slot_parts(text)) == 1 and folded(rewrite.subject) not in folded(text):
                where = f"rewrite {quoted(rewrite.id)}"
                yield Finding("subject-not-in-prompt", where, f"a paraphrase is {quoted(text)}")


def _same_letters(names: Iterable[str]) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for name in names:
        if not any(map(str.isalpha, name)):
            continue
        other = first.setdefault(_letters(name), name)
        if other != name:
            reason = f"differs from {quoted(other)} in case, punctuation, accents or spaces only"
            yield Finding("near-duplicate", _entity(name), reason)


def _letters(name: str) -> str:
    """The name without accents and punctuation, in lower case; its numbers stay as they are."""
    text = _MARKS.sub("", unicodedata.normalize("NFKD", name)).casefold()
    text = _BETWEEN_DIGITS.sub("\0", text)
    return "".join(c for c in text if c in "#%" or unicodedata.category(c)[0] not in "PZ")


def _one_letter(names: Iterable[str]) -> Iterator[Finding]:
    """Names that differ in one letter: they meet where it is left out of one or both."""
    first: dict[str, str] = {}
    for name in names:
        text = folded(name)
        if len(text) < LONG_NAME:
            continue
        letters = {i for word in _WORD.finditer(text) for i in range(*word.span())}
        keys = [text, *(text[:i] + text[i + 1 :] for i in sorted(letters))]
        near = dict.fromkeys(first[key] for key in keys if key in first)
        found = [
            other
            for other in near
            if _is_one_edit(folded(other), text) and _letters(other) != _letters(name)
        ]
        if found:
            reason = f"differs from {quoted(found[0])} in one letter"
            yield Finding("near-duplicate", _entity(name), reason)
        if letters and len(first) < KEYS:
            for key in keys:
                first.setdefault(key, name)


def _is_one_edit(a: str, b: str) -> bool:
    """Return True for one letter more, less or other, or two neighbours in exchanged order."""
    if len(a) > len(b):
        a, b = b, a
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    if len(a) < len(b):
        return a[start:] == b[start + 1 :]
    return a[start + 1 :] == b[start + 1 :] or (
        a[start + 2 :] == b[start + 2 :] and a[start : start + 2] == b[start : start + 2][::-1]
    )
