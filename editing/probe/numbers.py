"""Numbers in a text, by value: sign, grouping, decimals, millions, and words up to 100. No torch.

`1,500,000`, `1 500 000`, `1.5 million`, `150万` and `1500000` have one value; `7.5` is not `7`.
A number whose comma or dot may be a decimal sign or one of grouping (`7,5`, `1.500`) has several
readings: English grouping and English decimals are read as such, anything else is ambiguous.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from .dates import dates

_SCALES = {
    "hundred": 100,
    "thousand": 1_000,
    "tausend": 1_000,
    "million": 10**6,
    "millions": 10**6,
    "millionen": 10**6,
    "millones": 10**6,
    "billion": 10**9,
    "billions": 10**9,
    "milliarden": 10**9,
    "milliards": 10**9,
    "trillion": 10**12,
    "万": 10**4,
    "萬": 10**4,
    "만": 10**4,
    "亿": 10**8,
    "億": 10**8,
    "억": 10**8,
}
_SCALE = "|".join(sorted(_SCALES, key=len, reverse=True))
_SPACES = "\u00a0\u2007\u2009\u202f"
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w.,)\]-])-)?"
    r"(?P<n>\d{1,3}(?: \d{3})+(?!\d)|\d{1,3}[/:]\d{1,3}(?![\d/:])|"
    rf"\d+(?:[.,]\d+|[{_SPACES}]\d{{3}}(?!\d))*)"
    rf"(?:[ {_SPACES}]?(?P<scale>{_SCALE})(?![a-z]))?",
    re.IGNORECASE,
)
_LETTER_AFTER = re.compile(r"[A-Za-z\u00c0-\u052f]")
_HAN = re.compile("([二三四五六七八九]?)十([一二三四五六七八九]?)|一?百")
_HAN_DIGITS = "零一二三四五六七八九"

_UNITS = str.split(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_TENS = str.split("twenty thirty forty fifty sixty seventy eighty ninety")
_OTHERS = {
    # Words that are words of English as well (elf, once, sept, cent, six) are left out.
    "null": 0, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8,
    "neun": 9, "zehn": 10, "zwölf": 12, "dreizehn": 13, "vierzehn": 14, "fünfzehn": 15,
    "sechzehn": 16, "siebzehn": 17, "achtzehn": 18, "neunzehn": 19, "zwanzig": 20, "dreißig": 30,
    "vierzig": 40, "fünfzig": 50, "sechzig": 60, "siebzig": 70, "achtzig": 80, "neunzig": 90,
    "hundert": 100,
    "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "huit": 8, "neuf": 9, "onze": 11, "douze": 12,
    "treize": 13, "quatorze": 14, "quinze": 15, "vingt": 20, "trente": 30, "quarante": 40,
    "cinquante": 50, "soixante": 60,
    "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6, "siete": 7, "ocho": 8, "nueve": 9,
    "diez": 10, "doce": 12, "trece": 13, "catorce": 14, "veinte": 20, "treinta": 30,
    "cuarenta": 40, "cincuenta": 50, "sesenta": 60, "setenta": 70, "ochenta": 80, "noventa": 90,
    "cien": 100,
}  # fmt: skip
_GERMAN_UNITS = str.split("ein zwei drei vier fünf sechs sieben acht neun")


def _words() -> dict[str, int]:
    words = {name: i for i, name in enumerate(_UNITS)} | _OTHERS
    for i, ten in enumerate(_TENS):
        words[ten] = 20 + 10 * i
        for j, unit in enumerate(_UNITS[1:10]):
            words[f"{ten}-{unit}"] = words[f"{ten} {unit}"] = 21 + 10 * i + j
    german = [word for word, value in _OTHERS.items() if word.endswith(("zig", "ßig"))]
    for ten in german:
        for j, unit in enumerate(_GERMAN_UNITS):
            words[f"{unit}und{ten}"] = _OTHERS[ten] + 1 + j
    return words | {"one hundred": 100, "a hundred": 100, "hundred": 100}


_WORDS = _words()
_WORD = re.compile(
    r"(?<![\w-])(?P<n>"
    + "|".join(sorted(map(re.escape, _WORDS), key=len, reverse=True))
    + rf")(?:[ -](?P<scale>{_SCALE}))?(?![\w-])",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"(?:\b(?:the|no|this|that|each|any|every|some|another) one|\bone(?: of| another|'s| day| who| "
    r"that| can| must| should))\b",
    re.IGNORECASE,
)
"""Uses of `one` that are no number."""
_DIGIT = re.compile(r"\d")


class Number(NamedTuple):
    """A number of a text: its place and its readings, one unless it is ambiguous."""

    start: int
    end: int
    readings: tuple[float, ...]


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """Return the text with ASCII digits, signs and apostrophes; as long as it was.

    Marks of emphasis are spaces.
    """
    if text.isascii():
        return text.translate(_ASCII)
    return "".join(_plain(char) for char in text)


_ASCII = str.maketrans("*_`", "   ")
_SIGNS = {
    "’": "'", "‘": "'", "ʼ": "'", "−": "-", "‐": "-", "‑": "-", "，": ",", "．": ".",
    "*": " ", "_": " ", "`": " ", "٫": ".", "٬": ",",
}  # fmt: skip


def _plain(char: str) -> str:
    if char in _SIGNS:
        return _SIGNS[char]
    digit = unicodedata.decimal(char, None)
    return char if digit is None else str(digit)


def numbers(text: str) -> Iterator[Number]:
    """Return the numbers of a plain text; of a date in digits its year alone."""
    found = [d for d in dates(text) if d.compact]
    for date in found:
        yield Number(date.start, date.end, (float(date.readings[0][0]),))
    if _DIGIT.search(text):
        for match in _NUMBER.finditer(text):
            start, end = match.span()
            if any(date.start < end and start < date.end for date in found):
                continue
            if _touches_letters(text, match.start("n"), end) or text[:start].endswith("."):
                continue
            readings = _values(match["n"])
            if readings:
                factor = _SCALES.get((match["scale"] or "").lower(), 1)
                factor = -factor if match["sign"] else factor
                yield Number(start, end, tuple(value * factor for value in readings))
    for match in _WORD.finditer(text):
        word, start = match["n"].lower(), match.start()
        if word == "one" and _PRONOUN.search(text, max(0, start - 8), match.end() + 8):
            continue
        factor = _SCALES.get((match["scale"] or "").lower(), 1)
        yield Number(start, match.end(), (float(_WORDS[word] * factor),))
    if "十" in text or "百" in text:
        for match in _HAN.finditer(text):
            yield Number(match.start(), match.end(), (float(_of_han(match)),))


def number_of(name: str) -> float | None:
    """Return the value of a name that consists of a number in digits; None if it does not."""
    text = plain(name.strip())
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    readings = _values(match["n"])
    # A name is one number, not two: its space is one of grouping.
    if len(readings) != 1 and not re.fullmatch(r"\d+ \d+", match["n"]):
        return None
    factor = _SCALES.get((match["scale"] or "").lower(), 1)
    return readings[0] * (-factor if match["sign"] else factor)


def _touches_letters(text: str, start: int, end: int) -> bool:
    """Return True if a number is part of a word of letters (`21st`, `B12`)."""
    after, before = text[end : end + 1], text[start - 1 : start] if start else ""
    return bool(_LETTER_AFTER.match(after) or (before and _LETTER_AFTER.match(before)))


_GROUPED = re.compile(
    rf"\d{{1,3}}(?:,\d{{3}})+|\d{{1,2}}(?:,\d{{2}})+,\d{{3}}|\d{{1,3}}(?:[ {_SPACES}]\d{{3}})+"
)
_DOT_GROUPED = re.compile(r"\d{1,3}(?:\.\d{3}){2,}")


def _values(digits: str) -> tuple[float, ...]:
    """Return the readings of digits with dots, commas and spaces; none of a version's number."""
    if digits.isdigit():
        return (float(digits),)
    whole, mark, rest = digits.partition(" ")
    if mark and rest.isdigit():
        return (float(whole + rest), float(whole), float(rest))
    if mark := re.search("[/:]", digits):
        whole, rest = float(digits[: mark.start()]), float(digits[mark.end() :])
        part = (whole / rest,) if mark.group() == "/" and rest else ()
        return (*part, whole, rest)
    whole, dot, decimals = digits.rpartition(".")
    if _GROUPED.fullmatch(digits) or _DOT_GROUPED.fullmatch(digits):
        return (float(re.sub(r"\D", "", digits)),)
    if dot and decimals.isdigit() and (whole.isdigit() or _GROUPED.fullmatch(whole)):
        value = float(f"{re.sub(r'[^0-9]', '', whole)}.{decimals}")
        grouped = len(decimals) == 3 and whole.isdigit() and 1 <= len(whole) <= 3 and whole != "0"
        return (value, float(whole + decimals)) if grouped else (value,)
    whole, comma, decimals = digits.partition(",")
    if comma and whole.isdigit() and decimals.isdigit():
        # A comma as decimal sign, or two numbers of a list.
        return (float(f"{whole}.{decimals}"), float(whole), float(decimals))
    whole, comma, decimals = digits.rpartition(",")
    if comma and decimals.isdigit() and re.fullmatch(r"\d{1,3}(?:\.\d{3})+", whole):
        return (float(f"{whole.replace('.', '')}.{decimals}"),)
    if "," in digits and "." not in digits:
        return tuple(float(part) for part in re.split(r"\D", digits))
    return ()


def _of_han(match: re.Match[str]) -> int:
    if "百" in match.group():
        return 100
    tens = _HAN_DIGITS.index(match[1]) if match[1] else 1
    return 10 * tens + (_HAN_DIGITS.index(match[2]) if match[2] else 0)
