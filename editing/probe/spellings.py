"""Other spellings of a name: standard abbreviations, an article, numerals as words. No torch.

`Mount Everest` is also written `Mt. Everest`, `The Hague` `Hague`, `20th century` `twentieth
century`, and `World War II` `World War 2`. A name of one word is not abbreviated. Numerals are
those of English (num2words).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import product

from .folding import normalise
from .words import FUNCTION_WORDS

MOST = 24
"""Most spellings of one name."""
_NUMERALS = 100
"""Largest number that is written as a word within a name."""

_ABBREVIATED = str.split(
    "mount=mt mountain=mtn mountains=mtns mountains=mts saint=st sankt=st street=st "
    "sainte=ste fort=ft doctor=dr drive=dr mister=mr professor=prof junior=jr senior=sr "
    "general=gen captain=capt colonel=col lieutenant=lt sergeant=sgt governor=gov "
    "senator=sen president=pres reverend=rev university=univ department=dept "
    "incorporated=inc limited=ltd corporation=corp company=co county=co brothers=bros "
    "avenue=ave boulevard=blvd road=rd north=n south=s east=e west=w association=assn "
    "international=intl institute=inst government=govt versus=vs volume=vol number=no "
    "point=pt center=centre theater=theatre harbor=harbour "
)
_WHOLE = (
    ("United States", "United States of America", "US", "USA", "U.S.", "U.S.A."),
    ("United Kingdom", "UK", "U.K."),
    ("European Union", "EU", "E.U."),
    ("United Nations", "UN", "U.N."),
)
"""Names whose abbreviation is another word, each with all of its spellings."""
_ARTICLE = re.compile(r"\s*(the|an?) (?=\S)", re.IGNORECASE)
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_APART = re.compile(r"(?<=\b\w) (?=[^\W\d_]\b)")
_JOINED = re.compile(r"(?![IVX]+$)[A-Z]{2,3}")
_ROMAN = re.compile(r"(?=[IVX])X{0,2}(?:IX|IV|V?I{0,3})")


@lru_cache(maxsize=16384)
def spellings(name: str) -> tuple[str, ...]:
    """Return the other spellings of a name, without the name itself."""
    found: dict[str, None] = {}
    for group in _whole().get(normalise(name), ()):
        found.update(dict.fromkeys(group))
    tokens = [(normalise(word), word) for word in re.split(r"[\s-]+", name.strip())]
    choices = _choices([token for token in tokens if token[0]])
    found.update(dict.fromkeys(" ".join(each) for each in choices))
    found.update(dict.fromkeys(_initials(name)))
    bare = _without_article(name)
    if bare is not None:
        found.update(dict.fromkeys((bare, *spellings(bare))))
    own = normalise(name)
    return tuple(each for each in found if each != name and (normalise(each) != own))[:MOST]


def _initials(name: str) -> Iterator[str]:
    """The name with its initials joined (`JK Rowling`), or apart (`Washington D.C.`)."""
    own = normalise(name)
    joined = _APART.sub("", own)
    if joined != own and " " in joined:
        yield joined
    words = name.split()
    apart = [" ".join(word) if _JOINED.fullmatch(word) else word for word in words]
    if len(words) > 1 and apart != words:
        yield " ".join(apart)


@cache
def _whole() -> dict[str, list[tuple[str, ...]]]:
    found: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for group in _WHOLE:
        for each in group:
            # `us` is a word; `US` is found by its capitals (`mentions.ACRONYM`).
            found[normalise(each)].append(group)
    return found


@cache
def _short() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = defaultdict(list)
    for pair in _ABBREVIATED:
        long, short = pair.split("=")
        found[long].append(short)
        found[short].append(long)
    return {word: tuple(others) for word, others in found.items()}


@cache
def ordinals() -> dict[str, int]:
    """Return the ordinal words of English up to `_NUMERALS`, in their normal form."""
    from num2words import num2words  # slow to import

    return {normalise(num2words(n, to="ordinal")): n for n in range(1, _NUMERALS + 1)}


@cache
def cardinals() -> dict[str, int]:
    """Return the number words of English up to `_NUMERALS`, in their normal form."""
    from num2words import num2words

    return {normalise(num2words(n)): n for n in range(_NUMERALS + 1)}


@cache
def _spelled(kind: str) -> dict[int, str]:
    words = ordinals() if kind == "ordinal" else cardinals()
    return {n: word for word, n in words.items()}


def _choices(tokens: list[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the spellings of a name of tokens (normal form, as written), as lists of parts."""
    parts: list[tuple[str, ...]] = []
    i = 0
    while i < len(tokens):
        size, others = _numeral(tokens, i)
        if not others and len(tokens) > 1:
            others = _short().get(tokens[i][0], ())
        parts.append((" ".join(word for _, word in tokens[i : i + size]), *others))
        i += size
    if all(len(part) == 1 for part in parts):
        return []
    return [each for _, each in zip(range(MOST), product(*parts), strict=False)]


def _numeral(tokens: list[tuple[str, str]], i: int) -> tuple[int, tuple[str, ...]]:
    """Return the number of tokens of the numeral at a place, and its other spellings."""
    token, written = tokens[i]
    several = len(tokens) > 1
    if (match := _ORDINAL.fullmatch(token)) and int(match[1]) in _spelled("ordinal"):
        return 1, (_spelled("ordinal")[int(match[1])],)
    for size in (2, 1):
        words = " ".join(word for word, _ in tokens[i : i + size])
        if len(tokens) < i + size or not words.replace(" ", "").isalpha():
            continue
        if (n := ordinals().get(words)) is not None:
            return size, (_ordinal(n),)
        if several and (n := cardinals().get(words)) is not None:
            return size, (str(n), *((_roman(n),) if n > 1 and i + size == len(tokens) else ()))
    if not several:
        return 1, ()
    if token.isdecimal() and int(token) in _spelled("cardinal") and token == str(int(token)):
        n = int(token)
        roman = (_roman(n),) if n > 1 and i + 1 == len(tokens) else ()
        return 1, tuple(filter(None, (_spelled("cardinal")[n], *roman)))
    if i and _ROMAN.fullmatch(written.rstrip(".,")):
        n = _value(written.rstrip(".,"))
        return 1, (str(n), _spelled("cardinal")[n], f"the {_spelled('ordinal')[n]}")
    return 1, ()


def _ordinal(n: int) -> str:
    from num2words import num2words

    return num2words(n, to="ordinal_num")


def _roman(n: int) -> str:
    """Return a Roman numeral up to XXIX; '' above."""
    if n >= 30:
        return ""
    units = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
    return "X" * (n // 10) + units[n % 10]


def _value(roman: str) -> int:
    return next(n for n in range(1, 30) if _roman(n) == roman)


def _without_article(name: str) -> str | None:
    """Return a name without the article in front; None where it has none, or is no name without."""
    match = _ARTICLE.match(name)
    if match is None:
        return None
    rest = name[match.end() :].strip()
    words = normalise(rest).split()
    if not words or not rest[0].isupper() or (len(words) == 1 and words[0] in FUNCTION_WORDS):
        return None
    return rest if match[1].lower() == "the" or len(words) > 1 else None
