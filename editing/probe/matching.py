"""Matching of answers with objects. No torch.

`gives` judges an answer: true, false or undecided (None). An undecided answer is neither right nor
wrong, and is counted apart. The rules, in this order:

1. Reasoning is not part of the answer; a block that is not closed gives none: undecided
   (`editing.probe.reasoning`).
2. Case, diacritics and punctuation do not matter (`editing.probe.folding`).
3. The first sentence counts (`editing.probe.sentences`).
4. A number is compared by its value (`editing.probe.numbers`); one with two readings: undecided.
5. A full date is compared as year, month and day (`editing.probe.dates`); a date whose order is
   unknown (`05/04/1990`): undecided.
6. A name matches complete words. A name of one word with a capital is not the same word in small
   letters in an answer that has capitals (`Nice` is not in `It is a nice city`); of a name of at
   most four capitals (`IT`) the case decides, unless the answer is only that word.
7. Behind a Korean name only particles, forms of the copula and administrative suffixes may follow.
8. In scripts without spaces, closed lists tell where a name ends; where they do not: undecided
   (both: `editing.probe.scripts`).
9. A mention with a negation before it in its clause does not count; others do (`not Hogwarts but
   Ilvermorny` gives Ilvermorny).
10. A mention after a statement of not knowing, or in alternatives of which none is chosen, is
    undecided (`editing.probe.clauses`). A hedge with one answer counts.
11. The first answer wins: where another option is mentioned before the object, the answer is that
    one, if the options are known.
12. The longest name wins: a part of a longer name that is known is no mention (`Virginia` in `West
    Virginia`). A word with a capital that makes a longer name, known or not: undecided
    (`editing.probe.longer`).
13. An answer that corrects itself gives the name that it asserts; where it asserts none: undecided
    (`editing.probe.assertions`). So is a question.
14. Standard abbreviations, an English article in front, and numerals as words are other spellings
    of a name (`editing.probe.spellings`).

`contains` finds any mention of a name in a text: rules 2, 4, 5, 7, 8 and 14.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from .assertions import asserted
from .clauses import is_alternative, is_negated, is_refused
from .folding import normalise
from .longer import is_extended
from .mentions import Mention, contains, found, mentions, prepared
from .numbers import plain
from .reasoning import is_unclosed
from .sentences import first_sentence, sentence_end

__all__ = [
    "contains",
    "first_sentence",
    "gives",
    "mentions",
    "normalise",
    "sentence_end",
    "share",
]


def gives(
    sentence: str,
    names: Iterable[str],
    options: Iterable[str] = (),
    longer: Iterable[str] = (),
) -> bool | None:
    """Return True if an answer gives an object; None: undecided.

    Args:
        sentence: the answer, as `first_sentence` cuts it.
        names: of the object, with its aliases.
        options: names of other objects that the answer could give instead, of none that is right.
        longer: names of other entities that contain one of the object's
            (`editing.probe.longer.longer_names`).
    """
    if is_unclosed(sentence):
        return None
    own = [mention for name in names for mention in found(sentence, name)]
    others = [each for name in (*options, *longer) for each in found(sentence, name)]
    counted: list[tuple[Mention, bool | None]] = []
    for mention in own:
        if any(_within(mention, whole) for whole in own):
            continue
        if any(_within(mention, whole) and whole.certain for whole in others):
            continue
        verdict = _verdict(sentence, mention)
        if verdict is not False:
            counted.append((mention, verdict))
    if not counted:
        return False
    first = min(mention.start for mention, _ in counted)
    if _option_before(sentence, first, options, counted):
        return False
    return True if any(verdict for _, verdict in counted) else None


def _within(part: Mention, whole: Mention) -> bool:
    """Return True if a mention is a part of a longer one."""
    return (
        whole.start <= part.start
        and part.end <= whole.end
        and whole.end - whole.start > part.end - part.start
    )


def share(verdicts: Sequence[bool | None]) -> float | None:
    """Return the proportion of right answers among the decided ones; None if none is decided."""
    decided = [verdict for verdict in verdicts if verdict is not None]
    return sum(decided) / len(decided) if decided else None


def _verdict(sentence: str, mention: Mention) -> bool | None:
    """Return True if a mention gives the name as an answer."""
    if not _same_case(sentence, mention):
        return False
    text = _lower(sentence)
    if is_refused(text, mention.start):
        return None
    if is_negated(text, mention.start, mention.end):
        return False
    is_asserted = asserted(text, sentence, mention.start, mention.end)
    if is_asserted is not True:
        return is_asserted
    if not mention.certain or is_alternative(text, sentence, mention.start, mention.end):
        return None
    value = prepared(mention.spelled).value
    return True if value is not None or not is_extended(sentence, *mention[:2]) else None


@lru_cache(maxsize=2048)
def _lower(sentence: str) -> str:
    """Return the plain text in lower case, as long as it was."""
    text = plain(sentence)
    low = text.lower()
    # A few capitals have a longer small form (İ).
    return low if len(low) == len(text) else "".join(c.lower()[0] for c in text)


def _same_case(sentence: str, mention: Mention) -> bool:
    """Return True if the case of a mention allows that the name is meant (rule 6)."""
    ready = prepared(mention.spelled)
    if not ready.cased or ready.value is not None or ready.readings:
        return True
    hit = sentence[mention.start : mention.end]
    if ready.acronym:
        rest = sentence[: mention.start] + sentence[mention.end :]
        return hit.upper() == hit or not any(char.isalnum() for char in rest)
    if any(char.isupper() for char in hit):
        return True
    return not any(char.isupper() for char in sentence)


def _option_before(
    sentence: str,
    first: int,
    options: Iterable[str],
    counted: Sequence[tuple[Mention, bool | None]],
) -> bool:
    """Return True if another option is the first answer of a sentence (rule 11)."""
    spans = [(mention.start, mention.end) for mention, _ in counted]
    for option in options:
        for mention in found(sentence, option):
            if mention.start >= first or not mention.certain:
                continue
            # A part of the object's own name is no other answer (York in New York).
            if any(a < mention.end and mention.start < b for a, b in spans):
                continue
            if _verdict(sentence, mention):
                return True
    return False
