"""Matching of answers: whether one contains an object; end of the first sentence. No torch.

An answer contains an object if its first sentence contains the object's name or one of its aliases
under these rules:

1. Case does not matter (`casefold`: also ß = ss).
2. Diacritics do not matter: é = e, ø = o, æ = ae. Vowel signs of Indic scripts are retained.
3. Punctuation is a space, and spaces in a row are one: `J.K. Rowling` = `J. K. Rowling`,
   `Spider-Man` = `Spider Man`, `Mungo's` = `Mungo’s`. `&` is `and`. Retained are `+`, `#`, `°` and
   currency signs (`C++` is not `C`). Letters are never joined: `U.S.` does not match the word `us`.
   A name that consists of punctuation only is matched literally.
4. A name matches complete words only: `Paris` is not in `Parisian`, but it is in `Paris's`. Scripts
   without spaces (Chinese, Japanese, Thai, ...) have no word boundaries.
5. Articles and plurals are not normalised; use aliases.

The first sentence of an answer ends

- before a line break (blank lines at the start are skipped), or
- after `.`, `!` or `?` (with closing quotes or brackets) followed by white space or the end,
- but not at a dot within a mention of one of the names (`Apple Inc.`, `St. Mungo's`), after a
  single capital (`J. Potter`), or after a title of `TITLES`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

TITLES = frozenset({"mr", "mrs", "ms", "dr", "st", "mt", "prof", "jr", "sr"})
"""Abbreviations whose dot does not end a sentence."""

CACHED = 200
"""Length of the longest text whose normalised form is kept."""

_LETTERS = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
"""Letters that Unicode does not decompose, in lower case."""

_SYMBOLS = frozenset("+#°")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
_END = re.compile(r"[.!?]+[\"'”’»)\]]*")
_BEFORE_DOT = re.compile(r"(\w+)$")


def normalise(text: str) -> str:
    """The text under rules 1 to 3, without spaces at its ends."""
    # Answers and names repeat: a crawl normalises each of them some twenty times.
    return _short_normalised(text) if len(text) <= CACHED else _normalised(text)


def _normalised(text: str) -> str:
    return "".join(char for char, _ in _mapped(text)).strip()


_short_normalised = lru_cache(maxsize=8192)(_normalised)


def contains(text: str, names: Iterable[str]) -> bool:
    """Whether the text contains one of the names under rules 1 to 5."""
    hay = normalise(text)
    for name in names:
        needle = normalise(name)
        if next(_places(hay, needle), None) is not None:
            return True
        if not needle and name.strip() and name.strip() in text:
            return True
    return False


def mentions(text: str, names: Iterable[str]) -> list[tuple[int, int]]:
    """Start and end, in characters of `text`, of every mention of one of the names.

    A dot that ends a name (`Apple Inc.`) belongs to its mention.
    """
    mapped = _mapped(text)
    hay = "".join(char for char, _ in mapped)
    found = []
    for name in names:
        needle = normalise(name)
        for start in _places(hay, needle):
            first, last = mapped[start][1], mapped[start + len(needle) - 1][1] + 1
            if name.rstrip().endswith(".") and text[last : last + 1] == ".":
                last += 1
            found.append((first, last))
    return found


def first_sentence(text: str, names: Iterable[str] = ()) -> str:
    """The first sentence of an answer, without white space at its ends.

    Args:
        text: the model's output after the prompt.
        names: names whose dots do not end a sentence.
    """
    text = text.lstrip()
    end = sentence_end(text, tuple(names))
    return (text if end is None else text[:end]).rstrip()


def sentence_end(text: str, names: tuple[str, ...] = (), *, unfinished: bool = False) -> int | None:
    """Index of the end of a text's first sentence; None if it does not end.

    Args:
        text: begins with the sentence, without white space before it.
        names: see `first_sentence`.
        unfinished: more text may follow, so a `.` at the very end is inconclusive.
    """
    line = text.find("\n")
    spans: list[tuple[int, int]] | None = None
    for match in _END.finditer(text, 0, len(text) if line < 0 else line):
        end = match.end()
        if end == len(text) and unfinished:
            return None
        if end < len(text) and not text[end].isspace():
            continue
        if match.group().startswith("."):
            if _abbreviates(text, match.start()):
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


def _may_become_mention(text: str, dot: int, names: tuple[str, ...]) -> bool:
    """Whether the text ends in a prefix of a name, and the dot is part of that prefix."""
    needles = [normalise(name) for name in names if "." in name]
    if not needles:
        return False
    mapped = _mapped(text)
    hay = "".join(char for char, _ in mapped)
    return any(
        needle.startswith(hay[start:]) and _border(hay[start - 1 : start], hay[start])
        for start in range(len(hay))
        if mapped[start][1] <= dot
        for needle in needles
    )


def _abbreviates(text: str, dot: int) -> bool:
    word = _BEFORE_DOT.search(text, max(0, dot - 8), dot)
    if word is None:
        return False
    before = word.group(1)
    return (len(before) == 1 and before.isupper()) or before.lower() in TITLES


def _mapped(text: str) -> list[tuple[str, int]]:
    """Normalised characters, each with its index in `text`; no double spaces."""
    out: list[tuple[str, int]] = []
    for index, original in enumerate(text):
        for char in unicodedata.normalize("NFKD", original).casefold():
            for normal in _normal(char):
                if normal != " " or (out and out[-1][0] != " "):
                    out.append((normal, index))
    return out


def _normal(char: str) -> str:
    """A decomposed, case-folded character under rules 2 and 3."""
    if char.isalnum():
        return _LETTERS.get(char, char)
    if char == "&":
        return " and "
    kind = unicodedata.category(char)
    if kind[0] == "M":
        # Accents above and below have a class of 200 and more; vowel signs and viramas less.
        return "" if unicodedata.combining(char) >= 200 else char
    if char in _SYMBOLS or kind == "Sc":
        return char
    return "" if kind == "Cf" else " "


def _places(hay: str, needle: str) -> Iterator[int]:
    """Positions of the normalised name as complete words (rule 4)."""
    start = hay.find(needle) if needle else -1
    while start >= 0:
        end = start + len(needle)
        if _border(hay[start - 1 : start], needle[0]) and _border(needle[-1], hay[end : end + 1]):
            yield start
        start = hay.find(needle, start + 1)


def _border(left: str, right: str) -> bool:
    """Whether there is a word boundary between two characters (empty: end of the text)."""
    if not left or not right or left == " " or right == " ":
        return True
    return bool(_UNSPACED.match(left) or _UNSPACED.match(right))
