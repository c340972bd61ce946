"""From one statement to its triplets, by rules; no model, no database."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....editing.probe.matching import normalise
from ....loaders.records import SUBJECT_SLOT, KnowledgeGraph
from .patterns import Pattern, patterns, templates

Triplet = tuple[str, str, str]

LONGEST_NAME = 8
"""Words of a name that is not known, at most."""

_NOT_FIRST = frozenset({
    "he", "she", "it", "they", "we", "i", "you", "his", "her", "its", "their", "this", "that",
    "these", "those", "there", "here", "who", "what", "which", "when", "where", "why", "how", "if",
    "while", "although", "though", "because", "since", "unless", "perhaps", "maybe", "no", "not",
    "every", "each", "all", "some", "many", "most", "both", "neither", "either", "one", "nobody",
    "someone", "everyone",
})  # fmt: skip
"""Words with which no name begins: they need the sentence before them, or state no fact."""
_AFTER_NAME = frozenset({"in", "from", "since", "as", "with", "until"})
_INSIDE = frozenset({
    "of", "the", "de", "da", "di", "du", "del", "della", "van", "von", "der", "den", "la", "le",
    "les", "el", "al", "bin", "ibn", "and", "for", "in", "on", "at", "to", "&", "y", "und", "et",
})  # fmt: skip
"""Words in lower case that a name may contain."""
_OPENING = re.compile(
    r"^(?:and|but|so|also|however|moreover|furthermore|today|later|then|indeed|in fact)\b,?\s+",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"[,\s]+(?:in|since|from|until|during|between|around|by|on)\s+(?:the\s+)?(?:\w+\s+)?\d{3,4}s?\b.*$"
)
_ALSO = re.compile(
    r"\s*[,(]\s*(?:also\s+|better\s+)?(?:known\s+as|called|nicknamed)\s+(?P<alias>[^,()]+?)\s*[,)]"
)
_AND = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+")
_CLAUSE = re.compile(r"\b(?:who|which|that|because|although|but|while|when|where|if)\b|[;:?!]")
_MARKS = " \t,.;:!?\"'“”‘’()[]"


@dataclass(frozen=True, slots=True)
class Read:
    """What a statement says: triplets, and other names of its entities.

    Attributes:
        aliases: (name, other name).
    """

    triplets: tuple[Triplet, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()


class Reader:
    """Reads statements.

    Args:
        base: graph whose relations and entities are known.
    """

    def __init__(self, base: KnowledgeGraph | None = None) -> None:
        self.templates = templates(base)
        self._patterns = [(each, _expression(each)) for each in patterns(self.templates)]
        self._known: dict[str, str] = {}
        for entity in base.entities if base is not None else ():
            for name in (entity.name, *entity.aliases):
                self._known.setdefault(normalise(name), entity.name)

    def read(self, statement: str) -> Read:
        """The triplets of a statement; none where the rules cannot read it."""
        text, aliases = _without_aliases(_OPENING.sub("", " ".join(statement.split())))
        if text.rstrip().endswith("?"):
            return Read()
        text = text.rstrip(".! ")
        for pattern, expression in self._patterns:
            found = expression.fullmatch(text)
            if found is None:
                continue
            subject, objects = self._name(found["s"]), self._names(found["o"])
            if subject is None or not objects:
                continue
            triplets = [(subject, pattern.relation, each) for each in objects if each != subject]
            return Read(tuple(triplets), self._told(aliases, (subject, *objects)))
        return Read()

    def _names(self, text: str) -> list[str]:
        """The objects in a text: a known name, one name, or a list of names."""
        text = text.strip(_MARKS)
        if (whole := self._known.get(normalise(text))) is not None:
            return [whole]
        if (begun := self._known_beginning(text)) is not None:
            return [begun]
        cut = _WHEN.sub("", text)
        parts = [self._name(part) for part in _AND.split(cut)]
        if len(parts) > 1 and all(part is not None for part in parts):
            return [part for part in dict.fromkeys(parts) if part is not None]
        name = self._name(cut)
        return [] if name is None else [name]

    def _known_beginning(self, text: str) -> str | None:
        """A known name that is followed by more about it: `Hogwarts, a school in Scotland`."""
        words = text.split()
        for n in range(len(words) - 1, 0, -1):
            begun = " ".join(words[:n])
            following = words[n].lower()
            more = begun.endswith(",") or following in (
                "in",
                "from",
                "since",
                "as",
                "with",
                "until",
            )
            name = self._known.get(normalise(begun))
            if name is not None and more and not _lists(text[len(begun) :]):
                return name
        return None

    def _name(self, text: str) -> str | None:
        """A text as the name of an entity; None where it is none."""
        text = text.strip(_MARKS)
        if (known := self._known.get(normalise(text))) is not None:
            return known
        bare = re.sub(r"^(?:the|a|an)\s+", "", text, flags=re.IGNORECASE)
        if (known := self._known.get(normalise(bare))) is not None:
            return known
        if bare[:1].isupper() and text[:1].islower():
            text = bare
        words = text.split()
        if not words or len(words) > LONGEST_NAME or _CLAUSE.search(text) or "," in text:
            return None
        if words[0].lower() in _NOT_FIRST or not (words[0][0].isupper() or words[0][0].isdigit()):
            return None
        named = all(
            word[0].isupper() or not word[0].isalpha() or word.lower() in _INSIDE
            for word in words[1:]
        )
        return text if named else None

    def _told(
        self, aliases: Sequence[tuple[str, str]], names: Iterable[str]
    ) -> tuple[tuple[str, str], ...]:
        known = set(names)
        found = ((self._name(name), alias) for name, alias in aliases)
        return tuple((name, alias) for name, alias in found if name is not None and name in known)


def _expression(pattern: Pattern) -> re.Pattern[str]:
    """`{} studied at` as an expression: subject, the words, object."""
    before, after = (_words(part) for part in pattern.cloze.split(SUBJECT_SLOT))
    return re.compile(rf"{before}(?P<s>\S.*?){after}\s+(?P<o>\S.*)", re.IGNORECASE)


def _words(part: str) -> str:
    """Literal words, with any white space and either apostrophe between them."""
    escaped = re.escape(part).replace(r"\ ", r"\s+").replace("'", "['’]")
    return escaped if not part or part[0] in " '’" or part.endswith(" ") else rf"{escaped}\b"


def _lists(rest: str) -> bool:
    """Whether a text continues a list of names."""
    return re.match(r"\s*,?\s*and\s+[A-Z]", rest) is not None or bool(
        re.match(r"\s*,?\s*[A-Z]", rest)
    )


def _without_aliases(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The text without `(also known as X)`, and the pairs of name and other name."""
    found: list[tuple[str, str]] = []
    while (match := _ALSO.search(text)) is not None:
        before = text[: match.start()]
        found.append((_last_name(before), match["alias"].strip(_MARKS)))
        text = f"{before} {text[match.end() :]}".strip()
    return " ".join(text.split()), found


def _last_name(text: str) -> str:
    """The words in upper case at the end of a text."""
    words = text.split()
    start = len(words)
    while start and (words[start - 1][0].isupper() or words[start - 1].lower() in _INSIDE):
        start -= 1
    while start < len(words) and words[start].lower() in _INSIDE:
        start += 1
    return " ".join(words[start:])
