"""Checks and comparison of the names and texts of a data set, and quoting of texts in messages.

`name_flaw`, `prompt_flaw` and `text_flaw` are the only checks. `sources.Place` applies them to a
value in a file and `GraphAssembly.finish` to the complete graph, so that no loader can omit them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MAX_NAME = 1000
"""Maximum length of the name of an entity, alias, relation, kind, data set or rewrite.

Neo4j indexes these names and refuses an index key of more than about 8 KB; 1,000 characters are at
most 4 KB of UTF-8, which leaves room for the graph's id before them.
"""

MAX_PROMPT = 8000
"""Maximum length of a fact's prompt: Neo4j's text index refuses more than 32,766 bytes."""

MAX_QUOTE = 100
"""Maximum number of characters that a message quotes of one text."""

MAX_MESSAGE = 480
"""Maximum length of a message about a file."""

EXAMPLES = 3
"""Number of examples in a summarising note."""

# A text may have several lines; a name is one line without any control character.
_NOT_IN_TEXTS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

# Marks of a tokenizer: Llama's and T5's, BERT's, those with bars of any model.
_SPECIAL_TOKEN = re.compile(
    r"<[|｜][^<>]*[|｜]>"
    r"|^(?:</?s>|<(?:unk|pad|bos|eos|mask|sep|cls|start_of_turn|end_of_turn|extra_id_\d+)>"
    r"|\[(?:PAD|UNK|CLS|SEP|MASK|BOS|EOS|/?INST)\])$"
)

PLACEHOLDERS = frozenset(
    ("n/a", "#n/a", "n.a.", "<na>", "none", "null", "unknown", "nil", "tbd", "not available",
     "not applicable", "no data", "undefined", "unspecified", "not specified", "not known")
)  # fmt: skip
"""Words in place of a missing value, in any case."""
_CASED_PLACEHOLDERS = frozenset({"nan", "NaN", "NAN", "NA"})
"""The same in this case only: Nan and Na are names."""
SURNAMES = frozenset({"Null"})
"""Placeholders that are names in this case; the other rows decide (`GraphAssembly`)."""
_DASHES = re.compile(r"[-‐-―−_?¿.…\s]+")

# Not the joiners U+200C and U+200D, which decide how a word is written.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u2060\ufeff]")


def tidy(name: str) -> str:
    """Return the name in NFC, with single spaces and without invisible characters."""
    if name.isascii() and "  " not in name and "\t" not in name:
        return name.strip()
    return " ".join(unicodedata.normalize("NFC", _INVISIBLE.sub("", name)).split())


def folded(name: str) -> str:
    """Return the form by which names are compared: `tidy`, in any case."""
    return tidy(tidy(name).casefold())


def is_placeholder(name: str) -> bool:
    """Decide if a name is a word in place of a missing value (`N/A`, `unknown`, a dash)."""
    name = tidy(name)
    return (
        name in _CASED_PLACEHOLDERS
        or (name.casefold() in PLACEHOLDERS and name not in SURNAMES)
        or _DASHES.fullmatch(name) is not None
    )


def text_flaw(text: str) -> str | None:
    """The problem of a prompt, question or other text, with its remedy; None without one."""
    found = _NOT_IN_TEXTS.search(text)
    return None if found is None else _forbidden(text, found)


def prompt_flaw(prompt: str) -> str | None:
    """The problem of a fact's prompt, with its remedy; None without one."""
    if len(prompt) > MAX_PROMPT:
        return (
            f"the prompt {quoted(prompt)} is too long: {len(prompt):,} characters, of which at"
            f" most {MAX_PROMPT:,} are stored; shorten it"
        )
    return text_flaw(prompt)


def name_flaw(name: str) -> str | None:
    """The problem of a name, with its remedy; None without one."""
    if (found := _NOT_IN_NAMES.search(name)) is not None:
        return _forbidden(name, found)
    if len(name) > MAX_NAME:
        return (
            f"the name {quoted(name)} is too long: at most {MAX_NAME:,} characters are stored;"
            " shorten it"
        )
    if (found := _SPECIAL_TOKEN.search(name)) is not None:
        return (
            f"{quoted(found[0])} is a special token of a tokenizer and no part of a name: give the"
            " name, or leave the record out"
        )
    return None


def _forbidden(text: str, found: re.Match[str]) -> str:
    character = found[0]
    if "\ud800" <= character <= "\udfff":
        kind = "half of a surrogate pair"
    elif character == "\0":
        kind = "the NUL character"
    else:
        kind = "a control character"
    return (
        f"character {found.start() + 1} of {quoted(text)} is {kind} (U+{ord(character):04X});"
        " remove it, or export the file again as UTF-8"
    )


def quoted(value: object) -> str:
    """Return a file's text in quotes: shortened, unprintable characters escaped."""
    text = str(value)
    if len(text) <= MAX_QUOTE:
        return f"'{printable(text)}'"
    return f"'{printable(text[:MAX_QUOTE])}…' ({len(text):,} characters)"


def ascii_quoted(text: str) -> str:
    r"""The text between quotes, with an escape (`\xa0`) for every character beyond ASCII."""
    return ascii(shortened(text))


def printable(text: str) -> str:
    r"""The text with an escape (`\x00`) for every character that cannot be printed."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def fitted(message: str) -> str:
    """The message, printable and at most MAX_MESSAGE long: a long one is shortened in the middle.

    The beginning names the file, the end names the problem.
    """
    if len(message) > MAX_MESSAGE:
        half = MAX_MESSAGE // 2 - 4
        message = f"{message[:half]} […] {message[-half:]}"
    return printable(message)


def examples(items: Iterable[str], count: int = EXAMPLES) -> str:
    """The first few items in a phrase, with the number of those left out."""
    listed = list(items)
    rest = len(listed) - count
    shown = "; ".join(shortened(item) for item in listed[: count if rest > 0 else None])
    return f"{shown}; and {rest} more" if rest > 0 else shown


def shortened(text: str) -> str:
    """The text as a message shows it without quotes."""
    return text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]}…"


def enumeration(names: Iterable[object], count: int = 12) -> str:
    """Names with commas between them: the first `count`, and the number of the others."""
    every = [printable(shortened(str(name))) for name in names]
    rest = len(every) - count
    shown = ", ".join(every[:count] if rest > 0 else every)
    return f"{shown} and {rest:,} more" if rest > 0 else shown
