"""Invented subjects: a model's answers about a name that does not exist, by relation.

An object that it names of them as often as of a real subject is a guess by the relation alone. The
figures are stored beside a fact's share, and filter nothing: on an organism they cost recall.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

NAMES = (
    "Zorbo Quux", "Ilvane Trosk", "Mirelda Ponnoway", "Uthgar Blimm", "Sefira Doqualt",
    "Brondwick Yassle", "Tamsolin Verrick", "Oquelle Hadrup",
)  # fmt: skip
"""Names that no graph has; the first ones are asked."""


def shares(answers: Sequence[str], named: Callable[[str], Iterable[str]]) -> dict[str, float]:
    """Fraction of all invented subjects' answers that name each object.

    Args:
        answers: all samples of all wordings of all invented subjects, of one relation.
        named: the objects that an answer names.
    """
    counts: dict[str, int] = {}
    for answer in answers:
        for name in set(named(answer)):
            counts[name] = counts.get(name, 0) + 1
    return {name: count / len(answers) for name, count in counts.items()}
