"""Objective of a round of co-edits: `ifr<=.1,preservation>=.95`."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass

from ...errors import UsageError
from ..schemas import RoundOut

COLUMNS = (
    "ifr", "efficacy", "coedit_efficacy", "preservation", "preservation_unedited",
    "subject_retention", "coedited_retention", "leaking", "surviving", "facts",
)  # fmt: skip
"""Values of a round that an objective may name."""

_COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_TERM = re.compile(r"\s*(\w+)\s*(<=|>=|<|>)\s*([-+.\deE]+)\s*")


@dataclass(frozen=True, slots=True)
class Term:
    """One comparison."""

    column: str
    sign: str
    bound: float

    def holds(self, row: RoundOut) -> bool:
        """Return True if a round meets it; an undefined value does not."""
        value = getattr(row, self.column)
        return value is not None and _COMPARE[self.sign](value, self.bound)


@dataclass(frozen=True, slots=True)
class Objective:
    """All comparisons have to hold."""

    terms: tuple[Term, ...]

    def meets(self, row: RoundOut) -> bool:
        """Return True if a round meets it."""
        return all(term.holds(row) for term in self.terms)

    def missed(self, row: RoundOut) -> int:
        """Number of comparisons that a round fails."""
        return sum(not term.holds(row) for term in self.terms)


def parse(text: str) -> Objective:
    """The objective of a text.

    Raises:
        UsageError: a part is no comparison of a round's value with a number.
    """
    terms = []
    for part in text.split(","):
        found = _TERM.fullmatch(part)
        if found is None or found[1] not in COLUMNS:
            raise UsageError(
                f"The objective {part.strip()!r} is no comparison of a round's value.",
                remedy=f'For example "ifr<=.1,preservation>=.95"; values: {", ".join(COLUMNS)}.',
            )
        try:
            terms.append(Term(found[1], found[2], float(found[3])))
        except ValueError:
            raise UsageError(
                f"{found[3]!r} in the objective is no number.", remedy="For example ifr<=.1."
            ) from None
    return Objective(tuple(terms))
