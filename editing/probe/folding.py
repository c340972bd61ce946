"""Normal form of texts that are compared: case, diacritics, marks and punctuation. No torch.

1. Case does not matter (`casefold`: also ß = ss).
2. Diacritics do not matter: é = e, ø = o, æ = ae, nor do Arabic vowel marks, tatweel and niqqud.
   Vowel signs of Indic scripts and the voicing marks of kana (か and が) are retained.
3. Punctuation is a space, and spaces in a row are one: `J.K. Rowling` = `J. K. Rowling`,
   `Spider-Man` = `Spider Man`, `Mungo's` = `Mungo’s`. `&` is `and`. Retained are `+`, `#`, `°` and
   currency signs (`C++` is not `C`). Letters are never joined: `U.S.` does not match the word `us`.
   Digits of other scripts are those of ASCII.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import NamedTuple

CACHED = 200
"""Length of the longest text whose normalised form is kept."""

_LETTERS = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
"""Letters that Unicode does not decompose, in lower case."""

_SYMBOLS = frozenset("+#°")
_TATWEEL = "\u0640"
_VOICING = frozenset("\u3099\u309a")
_DROPPED = ("COMBINING ", "ARABIC ", "HEBREW ")


class Folded(NamedTuple):
    """A text in its normal form.

    Attributes:
        text: the normal form, without spaces at its ends.
        places: index in the original text, one for each character of the normal form.
    """

    text: str
    places: tuple[int, ...]


def normalise(text: str) -> str:
    """Return the text under rules 1 to 3, without spaces at its ends."""
    return folded(text).text


def folded(text: str) -> Folded:
    """Return the normal form of a text, with the places of its characters."""
    # Answers and names repeat: a crawl normalises each of them some twenty times.
    return _short(text) if len(text) <= CACHED else _folded(text)


def _folded(text: str) -> Folded:
    out: list[str] = []
    places: list[int] = []
    for index, original in enumerate(text):
        for char in _of_char(original):
            if char == " " and (not out or out[-1] == " "):
                continue
            # A mark or a Hangul vowel that is written by itself belongs to the letter before it.
            if out and _continues(char):
                whole = unicodedata.normalize("NFC", out[-1] + char)
                if len(whole) == 1:
                    out[-1] = whole
                    continue
            out.append(char)
            places.append(index)
    if out and out[-1] == " ":
        out.pop()
        places.pop()
    return Folded("".join(out), tuple(places))


_short = lru_cache(maxsize=8192)(_folded)


def _continues(char: str) -> bool:
    return char > "\u02ff" and (char in _VOICING or "\u1160" <= char <= "\u11ff")


@lru_cache(maxsize=8192)
def _of_char(original: str) -> str:
    """Return the folded form of a character."""
    decomposed = unicodedata.normalize("NFKD", original).casefold()
    return unicodedata.normalize("NFC", "".join(map(_normal, decomposed)))


def _normal(char: str) -> str:
    """Return a decomposed, case-folded character under rules 2 and 3."""
    if char == _TATWEEL:
        return ""
    if char.isalnum():
        digit = unicodedata.decimal(char, None)
        return _LETTERS.get(char, char) if digit is None else str(digit)
    if char == "&":
        return " and "
    kind = unicodedata.category(char)
    if kind[0] == "M":
        if char in _VOICING:
            return char
        # Accents above and below have a class of 200 and more; vowel signs and viramas less.
        accent = unicodedata.combining(char) >= 200
        return "" if accent or unicodedata.name(char, "").startswith(_DROPPED) else char
    if char in _SYMBOLS or kind == "Sc":
        return char
    return "" if kind == "Cf" else " "
