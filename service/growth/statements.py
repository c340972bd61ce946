"""Statements of a text: its sentences in order, without list markers; by rules, without a model.

A line is cut at the ends of its sentences as `editing.probe.matching` finds them (ThinkEval,
App. P: answers are segmented by rules).
"""

from __future__ import annotations

import re

from ...editing.probe.matching import sentence_end

_MARKER = re.compile(
    r"^\s*(?:(?:[-*+•–—·▪◦]|#{1,6}|>|\(?\d{1,3}[.):]|\(?[a-zA-Z][.)](?=\s)|step\s+\d{1,3}\s*[:.)-])\s*)+",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"(\*\*|__|`)")


def statements(text: str, names: tuple[str, ...] = ()) -> list[str]:
    """Return the statements of a text; a part without letter or digit is none.

    Args:
        names: names whose dots end no sentence.
    """
    found = []
    for line in text.splitlines():
        rest = _EMPHASIS.sub("", _without_marker(line)).strip()
        while rest:
            end = sentence_end(rest, names) or len(rest)
            found.append(rest[:end].strip())
            rest = rest[end:].strip()
    return [each for each in found if any(char.isalnum() for char in each)]


def _without_marker(line: str) -> str:
    found = _MARKER.match(line)
    # An initial is no list marker: `J. K. Rowling`.
    if found is None or re.match(r"\s*[A-Z]\.\s+(?:[A-Z]\.|[A-Z][a-z]+\s)", line):
        return line
    return line[found.end() :]
