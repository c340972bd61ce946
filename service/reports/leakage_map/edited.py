"""The edited fact's new form as a leakage map draws it: beside the chains, from subject to object.

Its old form is the chain of one step, where the data set has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ....cypher.rows.chains import Link

if TYPE_CHECKING:
    from ....cypher.rows import FactRow


def edited(facts: Iterable[FactRow], measure: str) -> list[tuple[Link, str]]:
    """The new form with its role; nothing where it was not asked about by this measure.

    Args:
        facts: all facts of the edit's graph.
        measure: of its probabilities before and after.
    """
    found = []
    for fact in facts:
        pre, post = (getattr(fact, f"{measure}_{side}") for side in ("pre", "post"))
        if fact.role != "target_new" or pre is None or post is None:
            continue
        link = Link(
            fact.id, fact.subject, fact.relation, fact.object, fact.prompt, fact.question,
            pre, post, post / pre if pre else None,
        )  # fmt: skip
        found.append((link, fact.role))
    return found
