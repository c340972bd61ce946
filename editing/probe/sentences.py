"""End of the first sentence of an answer. No torch.

The first sentence of an answer ends

- before a line break (blank lines at the start are skipped), or
- after `.`, `!`, `?` or their Arabic and Indic forms (with closing quotes or brackets) followed by
  white space or the end, or after `。`, `！` or `？`,
- but not at dots of omission before a small letter (`Paris... no, Lyon`), nor at a dot within a
  mention of one of the names (`Apple Inc.`, `St. Mungo's`), nor after a single capital
  (`J. Potter`), nor between the letters of `e.g.`,
- nor, where text follows, after a word of `ABBREVIATIONS`; after one of `BEFORE_NUMBERS` only where
  a digit follows (`No. 5`), after one of `AT_ENDS` only where a digit or a small letter does
  (`Apple Inc. in 1976`), and after a day only where a month does (`5. April`).

Reasoning (`editing.probe.reasoning`) is not part of the first sentence. A text that ends inside a
reasoning block has no end; its first sentence is the opening tag and the first sentence after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from . import reasoning
from .dates import MONTHS
from .folding import folded, normalise
from .mentions import mentions

ABBREVIATIONS = frozenset(
    str.split(
        "mr mrs ms mx dr st mt ft prof jr sr gen col lt capt sgt rev hon pres gov sen vs "
        "approx ca op "
        "vol nr bzw ggf sra srta mme mlle"
    )
)
"""Words whose dot does not end a sentence if text follows."""
BEFORE_NUMBERS = frozenset(
    str.split(
        "no nos co ed art est p pp fig ch sec eq v jan feb mar apr jun jul aug sep sept oct nov dec"
    )
)
"""Words whose dot does not end a sentence if a digit follows."""
AT_ENDS = frozenset(str.split("inc ltd corp bros etc ave blvd al"))
"""Words whose dot does not end a sentence if a digit or a small letter follows."""

MARKS = ".!?\n؟۔।。！？｡"
"""Characters that can end a sentence."""
_END = re.compile(r"(?:[.!?؟۔।]+[\"'”’»)\]]*(?!\S))|[。！？｡]+[」』”’）]*")
_BEFORE_DOT = re.compile(r"((?:\w\.)*\w+)$")

CLAUSE = re.compile(r"[,;:](?=\s)|[，、；：]|\s(?=[(\[–—]|-\s)")
"""Marks between the clauses of an answer."""
_QUOTES = "\"'*_`“”‘’«»「」 "


def first_sentence(text: str, names: Iterable[str] = ()) -> str:
    """Return the first sentence of an answer, without white space at its ends.

    Args:
        text: the model's output after the prompt.
        names: names whose dots do not end a sentence.
    """
    answer = reasoning.answer_of(text)
    if answer is None:
        tag, inside = reasoning.unclosed_part(text)
        return f"{tag} {first_sentence(inside)}".rstrip()
    answer = answer.lstrip()
    end = _end(answer, tuple(names), unfinished=False)
    return (answer if end is None else answer[:end]).rstrip()


def cut(text: str, names: Sequence[str] = ()) -> str:
    """Return the first sentence of a text without its closing mark, except for a dot of a name.

    A text that begins with a name that ends in a dot is that name: whether the dot also ends the
    sentence is ambiguous.
    """
    start = text.lstrip()
    dotted = [n for n in names if n.endswith(".") and f"{start} ".startswith((f"{n} ", f"{n}."))]
    if dotted:
        return max(dotted, key=len)
    sentence = first_sentence(text, names).strip()
    while sentence and sentence not in names and sentence[-1] in ".!?":
        sentence = sentence[:-1].rstrip()
    return sentence


def first_clause(text: str, names: Sequence[str] = ()) -> str:
    """Return the first clause of an answer without quotes; "" of one that is still reasoning."""
    sentence = cut(text, names)
    if reasoning.is_unclosed(sentence):
        return ""
    end = clause_end(sentence, names)
    return sentence[:end].strip(_QUOTES)


def clause_end(text: str, names: Sequence[str]) -> int | None:
    """Return the place of the first mark between clauses, but within a name or a part of one."""
    for mark in CLAUSE.finditer(text):
        starts = [m.end() for m in re.finditer(r"^|\s", text[: mark.start()])]
        rest = ((start, text[start:].casefold()) for start in starts)
        if not any(
            len(name) > mark.start() - start and (part.startswith(low) or low.startswith(part))
            for start, part in rest
            for name in names
            for low in (name.casefold(),)
        ):
            return mark.start()
    return None


def sentence_end(text: str, names: tuple[str, ...] = (), *, unfinished: bool = False) -> int | None:
    """Return the index of the end of a text's first sentence; None if it does not end.

    Args:
        text: begins with the sentence, without white space before it, or with reasoning.
        names: see `first_sentence`.
        unfinished: more text may follow, so a `.` at the very end is inconclusive.
    """
    start = reasoning.answer_start(text)
    if start is None:
        return None
    if start:
        start = len(text) - len(text[start:].lstrip())
    end = _end(text[start:], names, unfinished=unfinished)
    return None if end is None else start + end


def _end(text: str, names: tuple[str, ...], *, unfinished: bool) -> int | None:
    """Return the index of the end of the first sentence of a text without reasoning."""
    line = text.find("\n")
    spans: list[tuple[int, int]] | None = None
    for match in _END.finditer(text, 0, len(text) if line < 0 else line):
        end = match.end()
        if end == len(text) and unfinished:
            return None
        if match.group().startswith("."):
            following = text[end : None if line < 0 else line].lstrip()
            if match.group().startswith("..") and following[:1].islower():
                continue
            if unfinished and line < 0 and not _decides(text[:end], following):
                return None
            if _abbreviates(text, match.start(), following):
                continue
            # Searched only now: most answers have one dot, the last.
            if spans is None:
                spans = mentions(text, names) if names else []
            if any(start <= match.start() < stop for start, stop in spans):
                continue
            if unfinished and _may_become_mention(text, match.start(), names):
                return None
        return end
    return line if line >= 0 else None


def _decides(before: str, following: str) -> bool:
    """Return True if the text after a dot is enough to decide if the dot ends a sentence."""
    if not following or not before[-2:-1].isdigit():
        return bool(following)
    # A day may be before the first letters of a month.
    return not any(name.startswith(following.lower()) for name in MONTHS if name != following)


def _may_become_mention(text: str, dot: int, names: tuple[str, ...]) -> bool:
    """Return True if the text ends in a part of a name, and the dot is within that part."""
    needles = [normalise(name) for name in names if "." in name]
    if not needles:
        return False
    hay = folded(text)
    # The normal form has no space at its end, where a name may have one.
    return any(
        f"{needle} ".startswith(f"{hay.text[start:]}")
        and (start == 0 or hay.text[start - 1] == " ")
        for start in range(len(hay.text))
        if hay.places[start] <= dot
        for needle in needles
    )


def _abbreviates(text: str, dot: int, after: str) -> bool:
    """Return True if the dot belongs to the word before it, given the text after it."""
    found = _BEFORE_DOT.search(text, max(0, dot - 12), dot)
    if found is None:
        return False
    before = found.group(1)
    last = before.rpartition(".")[2]
    if len(last) == 1 and (last.isupper() or "." in before):
        # One capital; of `e.g.` and `p.m.` the small letters, unless a new sentence follows.
        return last.isupper() or not after[:1].isupper()
    word, following = last.lower(), after[:1]
    if not following:
        return False
    if word in ABBREVIATIONS:
        return True
    if word in BEFORE_NUMBERS:
        return following.isdigit()
    if word in AT_ENDS:
        return following.isdigit() or following.islower() or following in ",;("
    if word.isdigit() and len(word) <= 2:
        return re.match(r"\w*", after).group().lower() in MONTHS  # type: ignore[union-attr]
    return False
