"""Longer names that contain a name: `West Virginia` is not `Virginia`. No torch.

`longer_names` finds them among the names of a graph. A text may have others: a word with a capital
beside a mention makes a longer name of it (`Paris Hilton`, `New Mexico`, `Guinea-Bissau`), also
across `of` and the like (`University of Virginia`, `Rio de Janeiro`), and so does a number behind
it (`Apollo 11`). Words of `editing.probe.words` do not (`In Paris`, `City of Paris`), nor a title
before a full name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from .dates import MONTHS
from .folding import normalise
from .numbers import plain
from .scripts import script_of
from .words import AREAS, COMPASS, FUNCTION_WORDS, HONORIFICS, KINDS, TITLES

PARTS = 12
"""Most words, or letters of a script without spaces, of a name that a longer one contains."""

_LINKS = (
    r"(?:of|de|des|da|das|do|dos|di|du|del|della|van|von|der|den|la|le|les|el|al|bin|ibn|zu|ter|y)"
)
_WORD = r"[^\W\d_][\w'.]*"
_BEFORE = re.compile(
    rf"(?P<word>{_WORD})(?:-|\s*&\s*|\s+(?P<links>(?:{_LINKS}\s+(?:the\s+)?)*))['\"“]?$"
)
_AFTER = re.compile(
    rf"(?:-|\s*&\s*|\s+(?:{_LINKS}\s+(?:the\s+)?|the\s+)*)(?P<word>{_WORD})(?P<rest>\s+[a-z']+)?"
)
_NUMBER_AFTER = re.compile(r"[ -]\d{1,3}(?![\d.,:/-]*\d)(?!\s*[a-z%°])")
_SAYS = re.compile(r"\s+(?:think|believe|guess|suppose|assume|would|am|know|have|can|was|say|mean)")


def longer_names(names: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """Return by entity the names of other entities that contain one of its own names.

    Args:
        names: the aliases of each entity.
    """
    normal = {name: normalise(name) for entity in names for name in (entity, *names[entity])}
    own: dict[str, set[str]] = defaultdict(set)
    for entity, aliases in names.items():
        for name in (entity, *aliases):
            own[normal[name]].add(entity)
    own.pop("", None)
    found: dict[str, set[str]] = defaultdict(set)
    for name, whole in normal.items():
        for part in _parts(whole):
            for entity in own.get(part, ()):
                if entity not in own[whole]:
                    found[entity].add(name)
    return {entity: tuple(sorted(longer)) for entity, longer in found.items()}


def _parts(text: str) -> Iterable[str]:
    """Return the parts of a normalised name that may be names, without the whole."""
    if text.isascii() and " " not in text:
        return ()
    marks = [0, len(text)]
    for i in range(1, len(text)):
        if text[i - 1] == " " or (text[i] != " " and script_of(text[i])):
            marks.append(i)
    marks.sort()
    return {
        text[start:end].rstrip()
        for at, start in enumerate(marks)
        for end in marks[at + 1 : at + 1 + PARTS]
    } - {text, ""}


def is_extended(text: str, start: int, end: int) -> bool:
    """Return True if a word beside the mention at a place of a text makes a longer name of it."""
    text = plain(text)
    hit = text[start:end]
    before = _BEFORE.search(text, max(0, start - 60), start)
    if not any(char.isupper() for char in text):
        return before is not None and before["word"] in COMPASS
    if not any(char.isupper() for char in hit) or hit.lower() in MONTHS:
        return False
    if before is not None and _extends_left(before["word"], before["links"], hit):
        return True
    if _NUMBER_AFTER.match(text, end):
        return True
    after = _AFTER.match(text, end)
    return after is not None and _extends_right(after["word"], text[after.end("word") :])


def _extends_left(word: str, links: str | None, hit: str) -> bool:
    low = word.lower().strip(".")
    if not word[0].isupper() or low.endswith(("'s", "s'", "'")):
        return False
    if low in FUNCTION_WORDS or low in HONORIFICS or (links and low in KINDS):
        return False
    if low in ("st", "saint") and hit.endswith("'s"):
        return False
    return not (low in TITLES and len(hit.split()) > 1)


def _extends_right(word: str, rest: str) -> bool:
    if not word[0].isupper():
        return False
    if word == "I":
        return _SAYS.match(rest) is None
    return re.sub(r"['.].*", "", word.lower()) not in FUNCTION_WORDS | AREAS
