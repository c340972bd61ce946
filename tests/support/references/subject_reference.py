"""Known facts about an edited subject by outcome, by brute force from the definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Triple = tuple[str, str, str]


@dataclass(frozen=True)
class Told:
    """A fact of an edit graph: probabilities, and the edited model's answer where it was asked.

    Attributes:
        replaced: the own answer was right and is another one; None where that is not known.
        answer: name of the graph that the own answer gives.
    """

    fact: Triple
    pre: float
    post: float
    role: str = "fact"
    replaced: bool | None = None
    answer: str | None = None


def reaches(graph: Sequence[Triple], start: str, end: str) -> bool:
    """Return True if the graph states a chain of 0, 1 or 2 facts from start to end."""
    if start == end or any((s, o) == (start, end) for s, _, o in graph):
        return True
    return any((s1, o2) == (start, end) and o1 == s2 for s1, _, o1 in graph for s2, _, o2 in graph)


def outcomes(
    graph: Sequence[Triple],
    told: Sequence[Told],
    subject: str,
    new: str | None,
    known: float,
    entailed: Sequence[tuple[str, str]] = (),
) -> dict[tuple[str, str], tuple[str, bool]]:
    """Return each known fact by relation and object: its change, and True if it follows.

    Args:
        entailed: (relation, object) that rules draw for the subject from the new object.
    """
    found = {}
    for each in told:
        s, r, o = each.fact
        if s != subject or each.role not in ("fact", "subject"):
            continue
        if each.pre == 0 or each.pre < known:
            continue
        moved = (r, each.answer) in entailed or (
            new is not None and each.answer is not None and reaches(graph, new, each.answer)
        )
        if each.post >= 0.9 * each.pre:
            found[r, o] = ("kept", False)
        elif each.replaced:
            found[r, o] = ("replaced", moved)
        elif each.replaced is None and each.post < 0.1 * each.pre:
            found[r, o] = ("lost", False)
        else:
            found[r, o] = ("weakened", False)
    return found
