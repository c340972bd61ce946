"""Dates in a text: full ones in the usual ways of writing, with every reading of each. No torch.

`5 April 1990`, `April 5, 1990`, `5th of April 1990`, `1990-04-05`, `5.4.1990`, `1990年4月5日` and
`1990년 4월 5일` are one date. `05/04/1990` has two readings, as its order is unknown; `13/04/1990`
has one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_NAMES = (
    "january jan januar janvier enero gennaio janeiro",
    "february feb februar février fevrier febrero febbraio fevereiro",
    "march mar märz marz maerz mars marzo março marco",
    "april apr avril abril aprile",
    "may mai mayo maggio maio",
    "june jun juni juin junio giugno junho",
    "july jul juli juillet julio luglio julho",
    "august aug août aout agosto",
    "september sep sept septembre septiembre settembre setembro",
    "october oct oktober octobre octubre ottobre outubro",
    "november nov novembre noviembre novembro",
    "december dec dezember décembre decembre diciembre dicembre dezembro",
)
MONTHS = {name: i + 1 for i, names in enumerate(_NAMES) for name in names.split()}
"""Number of each month, by its names in six languages."""

_WORD = "|".join(sorted(MONTHS, key=len, reverse=True))
_DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th|er|º|\.)?"
_MONTH = rf"(?P<m>{_WORD})\b\.?"
_YEAR = r"(?P<y>\d{3,4})(?!\d)"
_BEFORE = r"(?<![\d.,/-])"
_PATTERNS = tuple(
    re.compile(_BEFORE + pattern, re.IGNORECASE)
    for pattern in (
        rf"{_DAY}\s+(?:of\s+|de\s+)?{_MONTH}(?:\s*,|\s+de|\s+of)?\s+{_YEAR}",
        rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}\s*,?\s+{_YEAR}",
        r"(?P<y>\d{4})(?P<s>[-/.])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?!\d)",
        r"(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>\d{4})(?!\d)",
        r"(?P<y>\d{3,4})\s?[年년]\s?(?P<m>\d{1,2})\s?[月월]\s?(?P<d>\d{1,2})\s?[日일号號]?",
        r"(?P<a>\d{1,2})(?P<s>[/-])(?P<b>\d{1,2})(?P=s)(?P<y>\d{4})(?!\d)",
    )
)
_MIGHT = re.compile(r"\d{3}")


class Date(NamedTuple):
    """A date of a text.

    Attributes:
        start, end: its place.
        readings: (year, month, day), two where its order is unknown.
        compact: written without the name of its month, so that its parts are no other numbers.
    """

    start: int
    end: int
    readings: tuple[tuple[int, int, int], ...]
    compact: bool


def dates(text: str) -> Iterator[Date]:
    """Return the full dates of a text whose digits are those of ASCII."""
    if _MIGHT.search(text) is None:
        return
    for pattern in _PATTERNS:
        for found in pattern.finditer(text):
            parts = found.groupdict()
            year = int(parts["y"])
            if "a" in parts:
                a, b = int(parts["a"]), int(parts["b"])
                readings = {(year, b, a), (year, a, b)}
            else:
                month = MONTHS.get(parts["m"].lower()) or int(parts["m"])
                readings = {(year, month, int(parts["d"]))}
            valid = tuple(sorted(r for r in readings if 1 <= r[1] <= 12 and 1 <= r[2] <= 31))
            if valid:
                compact = parts.get("m", "0").isdigit()
                yield Date(found.start(), found.end(), valid, compact)


def date_of(name: str) -> Date | None:
    """Return the date that a name consists of; None if it is no full date."""
    name = name.strip()
    return next((d for d in dates(name) if d.start == 0 and d.end >= len(name.rstrip("."))), None)
