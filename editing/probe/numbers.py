"""Numbers in a text, by value: sign, grouping, decimals, millions, and words. No torch.

`1,500,000`, `1 500 000`, `1.5 million`, `150万` and `1500000` have one value; `7.5` is not `7`, and
`minus 6` is not `6`. English words may be of any size (`one hundred and fifty`, `nineteen eighty-
four`); German, French and Spanish ones are those up to 100 (num2words).
A number whose comma or dot may be a decimal sign or one of grouping (`7,5`, `1.500`) has several
readings: English grouping and English decimals are read as such, anything else is ambiguous.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
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

_LANGUAGES = ("de", "fr", "es")
_AMBIGUOUS = frozenset(str.split("null elf once sept cent six un ein eins uno"))
"""Number words that are words of English or articles as well."""
_AND = r"(?:[ -]|,? and )"


@cache
def _words() -> dict[str, int]:
    """Return the values of number words that are phrases of their own."""
    from num2words import num2words  # slow to import

    found = {
        num2words(n, lang=language): n for language in _LANGUAGES for n in range(_MOST_OF_WORDS + 1)
    }
    found |= {"hundert": 100, "tausend": 1000}
    return {word.lower(): n for word, n in found.items() if word not in _AMBIGUOUS}


@cache
def _english() -> dict[str, int]:
    """Return the values of the single words that English numbers consist of."""
    from num2words import num2words

    return {num2words(n): n for n in (*range(20), *range(20, 100, 10))}


_HALF = re.compile(r"\bhalf (?:an? )?$", re.IGNORECASE)
_LARGE = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_MOST_OF_WORDS = 100


def _either(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


@cache
def _word() -> re.Pattern[str]:
    return re.compile(
        rf"(?<![\w-])(?P<n>{_either(_words())})(?:[ -](?P<scale>{_SCALE}))?(?![\w-])",
        re.IGNORECASE,
    )


@cache
def _spoken() -> re.Pattern[str]:
    one = f"(?:{_either([*_english(), 'hundred', *_LARGE])})"
    return re.compile(
        rf"(?<![\w-])(?:an? (?=hundred|{'|'.join(_LARGE)}))?{one}(?:{_AND}{one})*(?![\w-])",
        re.IGNORECASE,
    )


def _of_english(text: str) -> Iterator[tuple[int, int, tuple[float, ...]]]:
    """Return place and readings of the numbers in English words."""
    for run in _spoken().finditer(text):
        if _HALF.search(text, max(0, run.start() - 8), run.start()):
            continue
        parts = [
            (each.start(), each.end(), each.group().lower())
            for each in re.finditer(r"[a-z]+", text[: run.end()][run.start() :], re.IGNORECASE)
        ]
        i = 0
        while i < len(parts):
            value, size = _read([word for _, _, word in parts[i:]])
            if size == 0:
                i += 1
                continue
            first, last = parts[i], parts[i + size - 1]
            further, more = _read([word for _, _, word in parts[i + size :]])
            if 10 < value <= 20 and 10 <= further < 100:
                # A year: nineteen eighty-four.
                value, size = 100 * value + further, size + more
                last = parts[i + size - 1]
            yield run.start() + first[0], run.start() + last[1], (float(value),)
            i += size


def _read(words: Sequence[str]) -> tuple[int, int]:
    """Return the first number of some words, and how many of them it takes."""
    total, current, size, scale = 0, 0, 0, 10**15
    begun = False
    for i, word in enumerate(words):
        value = _english().get(word)
        if word in ("a", "an", "and"):
            if (word == "and" and not (current % 100 == 0 and begun)) or (word != "and" and i):
                break
            continue
        if word in _LARGE:
            if _LARGE[word] >= scale or (begun and not current):
                break
            total, scale = total + (current or 1) * _LARGE[word], _LARGE[word]
            current = 0
        elif word == "hundred":
            if current >= 100:
                break
            current = (current or 1) * 100
        elif value is None or not _fits(value, current, begun=begun, fresh=scale < 10**15):
            break
        else:
            current += value
        begun, size = True, i + 1
    return total + current, size


def _fits(value: int, current: int, *, begun: bool, fresh: bool) -> bool:
    """Return True if a number word continues the hundreds and tens before it."""
    if not begun or (fresh and not current):
        return True
    if current and current % 100 == 0:
        return value > 0
    return 0 < value < 10 and current % 100 >= 20 and current % 10 == 0


_MINUS = re.compile(
    r"(?<!\d )(?<!\d)(?:\b(?:minus|negative|минус)|(?<!au )(?<!du )\bmoins|零下|マイナス|영하|"
    r"负|負)\s*$"
)
_BELOW = re.compile(
    r"\s?(?:°\s?[cf]?|degrees?(?: (?:celsius|fahrenheit|centigrade))?)?\s*"
    r"(?:below (?:zero|freezing)|unter null|sous zéro|bajo cero)\b"
)


def _signed(text: str, number: Number) -> Number:
    """Return the number, negative where words say so (`minus 6`, `6 degrees below zero`)."""
    low = text.lower()
    words = _MINUS.search(low, max(0, number.start - 12), number.start)
    if words is None and _BELOW.match(low, number.end) is None:
        return number
    if any(value < 0 for value in number.readings):
        return number
    start = number.start if words is None else words.start()
    negative = tuple(-value for value in number.readings)
    return number._replace(start=start, readings=negative)


_PRONOUN = re.compile(
    r"(?:\b(?:the|no|this|that|each|any|every|some|another) one|\bone(?: of| another|'s| day| who| "
    r"that| can| must| should))\b",
    re.IGNORECASE,
)
"""Uses of `one` that are no number."""
_DIGIT = re.compile(r"\d")


class Number(NamedTuple):
    """A number of a text: its place and its readings, one unless it is ambiguous.

    Attributes:
        usual: True if the first of several readings is meant: `24 000`, if not 24 and 0.
    """

    start: int
    end: int
    readings: tuple[float, ...]
    usual: bool = False


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
    for number in _numbers(text):
        yield _signed(text, number)


def _numbers(text: str) -> Iterator[Number]:
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
                values = tuple(value * factor for value in readings)
                yield Number(start, end, values, usual=" " in match["n"])
    for start, end, values in _of_english(text):
        one = text[start:end].lower() == "one"
        if not (one and _PRONOUN.search(text, max(0, start - 8), end + 8)):
            yield Number(start, end, values)
    for match in _word().finditer(text):
        factor = _SCALES.get((match["scale"] or "").lower(), 1)
        yield Number(*match.span(), (float(_words()[match["n"].lower()] * factor),))
    if "十" in text or "百" in text:
        for match in _HAN.finditer(text):
            yield Number(match.start(), match.end(), (float(_of_han(match)),))


def number_of(name: str) -> float | None:
    """Return the value of a name that consists of one number; None if it does not."""
    text = plain(name.strip())
    match = _NUMBER.fullmatch(text)
    if match is None:
        whole = [each for each in numbers(text) if (each.start, each.end) == (0, len(text))]
        return whole[0].readings[0] if len(whole) == 1 == len(whole[0].readings) else None
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
