"""Widths of texts on a leakage map, and names broken into lines, before a font is at hand.

The widths are those of DejaVu Sans, which figures use and which is wider than the fonts of most
browsers: a text that fits by them fits.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

_GROUPS = {
    0.32: "ijlIJ'., ",
    0.34: "/:;\\|",
    0.42: "ftr()[]-!",
    0.55: 'cszL*_?`"',
    0.62: "aekovxyFPTY",
    0.65: "bdghnpquSEK0123456789$",
    0.70: "ABCRVXZ",
    0.79: "DGHNUOQ&",
    0.85: "w+<>=~^#→",
    1.00: "mMW@%…",
}
_ADVANCE = {letter: width for width, letters in _GROUPS.items() for letter in letters}

OTHER = 0.72
"""Width of any other letter, in ems; that of East Asian wide ones is `FULL`."""
FULL = 1.05

ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Wrap:
    """Widths at which names and relations are wrapped.

    Attributes:
        name, label: width of a name's lines, and of a relation's, where no word is longer.
        lines: lines of a name at most; one more for the edit's own, one less for relations. The
            rest is an ellipsis.
    """

    name: float
    label: float
    lines: int


WRAPS = (Wrap(106.0, 98.0, 3), Wrap(84.0, 78.0, 4), Wrap(64.0, 60.0, 5))
"""From the widest columns to the narrowest."""


def text_width(text: str, size: float) -> float:
    """Width of one line in letters of this size, in the size's unit."""
    return size * sum(_advance(letter) for letter in text)


def fitting(text: str, size: float, width: float, most: float) -> float:
    """The width to wrap a text by: as asked, unless that breaks a word that `most` holds."""
    longest = max((text_width(word, size) for word in text.split()), default=0.0)
    return max(width, min(longest, most))


def wrapped(text: str, width: float, size: float, lines: int) -> tuple[str, ...]:
    """The text in as few lines of this width as possible, of about the same length.

    Args:
        lines: at most so many; the rest is an ellipsis. A word that is wider than a line is broken.
    """
    found = _lines(text.split(), width, size)
    if len(found) > lines:
        return (*found[: lines - 1], _cut(found[lines - 1], width, size))
    for tenths in range(9, 4, -1):
        closer = _lines(text.split(), width * tenths / 10, size)
        # A narrower text must not break a word that the whole width holds.
        if len(closer) > len(found) or " ".join(closer) != " ".join(found):
            break
        found = closer
    return tuple(found) or ("",)


def _cut(line: str, width: float, size: float) -> str:
    """A line that an ellipsis ends: after a word where there are several."""
    while line and text_width(f"{line} {ELLIPSIS}", size) > width:
        line = line.rpartition(" ")[0] if " " in line else line[:-1]
    return f"{line} {ELLIPSIS}"


def _lines(words: list[str], width: float, size: float) -> list[str]:
    found: list[str] = []
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if found and text_width(f"{found[-1]} {word}", size) <= width:
            found[-1] += f" {word}"
            continue
        fits = next((n for n in range(len(word), 1, -1) if text_width(word[:n], size) <= width), 1)
        found.append(word[:fits])
        if fits < len(word):
            rest.append(word[fits:])
    return found


def _advance(letter: str) -> float:
    if letter in _ADVANCE:
        return _ADVANCE[letter]
    if unicodedata.combining(letter):
        return 0.0
    return FULL if unicodedata.east_asian_width(letter) in "WF" else OTHER
