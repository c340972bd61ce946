"""Mentions of names in a text: words, numbers by value, and dates. No torch.

A name is found

- as a number (`editing.probe.numbers`) if it consists of one: `984` is not in `1,984`;
- as a date (`editing.probe.dates`) if it is a full one;
- else as complete words of the normal form (`editing.probe.folding`): `Paris` is not in `Parisian`,
  but it is in `Paris's`. `editing.probe.scripts` has the borders of words in scripts without
  spaces, and of Korean words. Plurals are not normalised; use aliases. A name that consists of
  punctuation only is found literally. Its other spellings (`editing.probe.spellings`) are found
  too, where no longer one is.

A place where the name may be meant, but need not be, is a mention that is not certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from .dates import date_of, dates
from .folding import CACHED, folded, normalise
from .numbers import Number, number_of, numbers, plain
from .scripts import left_border, right_border
from .spellings import spellings

ACRONYM = 4
"""Most letters of a name in capitals whose case decides."""


class Mention(NamedTuple):
    """A place of a name in a text.

    Attributes:
        start, end: in characters of the text.
        certain: False where the name may be meant.
        spelled: the spelling of the name that is found there.
    """

    start: int
    end: int
    certain: bool = True
    spelled: str = ""


class Name(NamedTuple):
    """A name, prepared to be found.

    Attributes:
        text: as it is written.
        needle: its normal form.
        value: of a number.
        readings: of a full date.
        cased: one word with a capital, whose case may decide.
        acronym: all capitals, and few.
    """

    text: str
    needle: str
    value: float | None
    readings: tuple[tuple[int, int, int], ...]
    cased: bool
    acronym: bool


@lru_cache(maxsize=16384)
def prepared(name: str) -> Name:
    """Return a name with its normal form, and its value or date."""
    date = date_of(plain(name))
    value = None if date else number_of(name)
    letters = [char for char in name if char.isalpha()]
    cased = len(name.split()) == 1 and any(char.isupper() for char in letters)
    acronym = cased and len(letters) <= ACRONYM and all(char.isupper() for char in letters)
    readings = date.readings if date else ()
    return Name(name, normalise(name), value, readings, cased, acronym)


def found(text: str, name: str) -> Iterator[Mention]:
    """Return the mentions of a name, in any of its spellings."""
    ready = prepared(name)
    if ready.readings:
        yield from _dates(text, ready)
    elif ready.value is not None:
        for number in numbers_of(text):
            if ready.value in number.readings:
                as_written = text[number.start : number.end] == name.strip()
                usual = number.usual and ready.value == number.readings[0]
                certain = as_written or usual or len(number.readings) == 1
                yield Mention(number.start, number.end, certain, name)
    elif ready.needle:
        places = list(_words(text, ready))
        yield from places
        for spelling in map(prepared, spellings(name)):
            for each in _words(text, spelling):
                # `US` for `United States` is not the word `us`.
                if spelling.acronym and not text[each.start : each.end].isupper():
                    continue
                if not any(a.start < each.end and each.start < a.end for a in places):
                    places.append(each)
                    yield each
    elif (literal := name.strip()) and (place := text.find(literal)) >= 0:
        yield Mention(place, place + len(literal), spelled=name)


def mentions(text: str, names: Iterable[str]) -> list[tuple[int, int]]:
    """Return start and end, in characters of `text`, of every mention of one of the names.

    A dot that ends a name (`Apple Inc.`) belongs to its mention.
    """
    return [(each.start, each.end) for name in names for each in found(text, name)]


def contains(text: str, names: Iterable[str]) -> bool:
    """Return True if the text mentions one of the names, or may mention it.

    That an answer gives a name is another question: see `editing.probe.matching`.
    """
    return any(True for name in names for _ in found(text, name))


def numbers_of(text: str) -> tuple[Number, ...]:
    """Return the numbers of a text."""
    return _short_numbers(text) if len(text) <= CACHED else tuple(numbers(plain(text)))


@lru_cache(maxsize=2048)
def _short_numbers(text: str) -> tuple[Number, ...]:
    return tuple(numbers(plain(text)))


def _dates(text: str, name: Name) -> Iterator[Mention]:
    for date in dates(plain(text)):
        if set(name.readings) & set(date.readings):
            single = len(name.readings) == 1 == len(date.readings)
            yield Mention(date.start, date.end, single, name.text)


def _words(text: str, name: Name) -> Iterator[Mention]:
    """Return the places of a name as complete words."""
    hay, needle = folded(text), name.needle
    start = hay.text.find(needle)
    while start >= 0:
        end = start + len(needle)
        left = left_border(hay.text, start, needle)
        right = left if left is False else right_border(hay.text, end, needle)
        if left is not False and right is not False:
            first, last = hay.places[start], hay.places[end - 1] + 1
            if not _part_of_number(text, first, last):
                if name.text.rstrip().endswith(".") and text[last : last + 1] == ".":
                    last += 1
                yield Mention(first, last, left is True and right is True, name.text)
        start = hay.text.find(needle, start + 1)


def _part_of_number(text: str, first: int, last: int) -> bool:
    """Return True if the digits at an end of a mention continue after a dot or comma (`1,984`)."""
    before, after = text[max(0, first - 2) : first + 1], text[last - 1 : last + 2]
    return _continues(before) or _continues(after)


def _continues(text: str) -> bool:
    return len(text) == 3 and text[1] in ".," and text[0].isdigit() and text[2].isdigit()
