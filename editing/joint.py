"""The joint between a prompt and its answer: the text between the two, by the text itself.

Texts of most scripts separate words by a space; Chinese, Japanese and Thai ones do not, and no text
has a space behind an opening quote or bracket, behind a slash or hyphen within a word, or within a
number (a prompt that a number follows after a space ends in that space). Where a
model is asked for " Paris" behind such a prompt, it is asked for an answer that is never written.
One rule serves editing, probing and endpoints. Imports no torch.
"""

from __future__ import annotations

import re
import unicodedata

SPACE = " "
UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\u3000-\u312f\u31a0-\u31ff"
    "\u3220-\ua4cf\ua9e0-\ua9ff\uaa60-\uaadf\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)
"""A letter or mark of a script without spaces (Han, kana, Thai, Lao, Khmer, Burmese, Tibetan, ...),
or punctuation of full width. Hangul is written with spaces."""

_CLOSING = {"“": "”", "‘": "’", "«": "»", "‹": "›", "»": "«", "›": "‹", "„": "“”", "‚": "‘’"}
"""Closing marks of an opening one; any other closes itself (Swedish ”a”, straight quotes)."""
_APOSTROPHES = "'’"
_QUOTES = frozenset("\"'“”‘’«»‹›„‚‟‛")
_EMPHASIS = "*`"
_APART = re.compile(r"(?:^|[\s(\[{])$")
"""The end of a text that a word or an opening mark follows, and no closing one."""


def parted(text: str) -> tuple[str, str | None]:
    """A prompt as it is asked, and its joint where its own spaces fix it.

    The spaces at a prompt's end belong to the answer's first token. Other white space (a no-break
    space, a line break) stays a part of the prompt.
    """
    asked = text.rstrip(SPACE)
    return asked, None if asked == text else SPACE


def joint(prompt: str, answer: str) -> str:
    """The text between a prompt and an answer: a space or nothing.

    Args:
        prompt: as it is written; nothing is added to one that ends in white space.
        answer: without white space around it.
    """
    if not prompt or not answer or prompt[-1].isspace():
        return ""
    end, start = prompt[-1], answer[0]
    if end.isdecimal() and start.isdecimal():  # "born in 18", "13"
        return ""
    if _opens(prompt, start):
        return ""
    if UNSPACED.match(end) or (
        UNSPACED.match(start) and not end.isalpha() and UNSPACED.match(_last_letter(prompt))
    ):
        return ""
    return SPACE


def joined(prompt: str, answer: str) -> str:
    """Prompt and answer as one text."""
    return f"{prompt}{joint(prompt, answer)}{answer}"


def _opens(prompt: str, start: str) -> bool:
    """Return True if the prompt's last character belongs to the word that follows it.

    Args:
        start: the first character of that word.
    """
    end, before = prompt[-1], prompt[:-1]
    free = before == "" or before[-1].isspace()
    kind = unicodedata.category(end)
    if end in _QUOTES:
        return _opens_quote(prompt)
    if kind == "Sc":  # "$5", but "5 € a day"
        return not before.rstrip()[-1:].isdigit()
    if kind in ("Ps", "Pi") or end in "_@#¿¡":
        return True
    if kind == "Pd" or end == "−":
        # "-5", "Berlin-", "1990–"; a dash between spaces is a word by itself.
        return (not free and before[-1] != "-") or (end in "-−" and free and start.isdigit())
    if end in _EMPHASIS:
        return bool(_APART.search(prompt.rstrip(end)))
    # "either/", "R&"; with a space in front they are words by themselves.
    return end in "/\\&=" and not free


def _opens_quote(prompt: str) -> bool:
    """Return True if the mark at the end opens a quotation or elides a vowel."""
    pending: list[str] = []
    opened = elides = False
    for i, mark in enumerate(prompt):
        if mark not in _QUOTES:
            continue
        before, after = prompt[:i], prompt[i + 1 : i + 2]
        in_word = before[-1:].isalnum()
        opened = elides = False
        if mark in _APOSTROPHES and in_word and after.isalnum():
            continue
        if pending and mark in _CLOSING.get(pending[-1], pending[-1]):
            pending.pop()
            continue
        if mark in _APOSTROPHES and in_word and not UNSPACED.match(before[-1]):
            # l'Élysée, but "the Beatles' city".
            elides = before[-1].isalpha() and not re.search(r"\w\ws$", before)
            continue
        if mark == '"':
            opened = not before[-1:].isdigit()
        else:
            opened = unicodedata.category(mark) != "Pf" or bool(_APART.search(before))
        if opened:
            pending.append(mark)
    return opened or elides


def _last_letter(text: str) -> str:
    return next((mark for mark in reversed(text) if mark.isalpha()), "")
