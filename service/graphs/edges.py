"""Edges of model and edit graphs: what became of a fact, and captions."""

from __future__ import annotations

from ..base.formatting import two_digits
from ..models.edit import KNOWN

KEPT_RATIO = 0.9
"""p_post / p_pre from which a fact counts as kept."""
LOST_RATIO = 0.1
"""p_post / p_pre below which a fact counts as lost, unless its own answer says otherwise."""


def change(pre: float, post: float, replaced: bool | None = None) -> str:
    """Return `kept`, `weakened`, `replaced`, `lost` or `added`: what became of a fact.

    A fact that keeps `KEPT_RATIO` of its probability is kept. Of the others, the model's own answer
    decides where it is known, else the probability: below `LOST_RATIO` of it the fact is lost,
    above it weakened. A fact that the model did not know before is added, or stays as it was.
    `states/drift.cypher` counts by the same rule.

    Args:
        pre, post: probability of the object before and after.
        replaced: True if the own answer was right and is another one now, False if it is right now
            (the fact is weakened); None: undecided, or not asked.
    """
    if pre < KNOWN:
        return "added" if post >= KNOWN else "kept"
    if post >= KEPT_RATIO * pre:
        return "kept"
    if replaced is None:
        return "lost" if post < LOST_RATIO * pre else "weakened"
    return "replaced" if replaced else "weakened"


def became(changed: str | None, says: str | None) -> str:
    """Return what became of a fact, in words: of one that is replaced, by which answer."""
    if changed == "replaced" and says:
        return f"replaced by {says}"
    return "new" if changed == "added" else changed or "–"


def caption(relation: str, pre: float | None, post: float | None = None) -> str:
    """Return the caption of an edge: `.93→.08` after an edit, `studied at .93` before one.

    A style sheet of the Browser can only repeat a property, and the probabilities themselves are
    stored with all their digits. Browser cuts captions longer than the edge, and shows the relation
    beside the drawing. A fact without a probability has its relation alone.
    """
    if pre is None:
        return relation
    if post is None:
        return f"{relation} {two_digits(pre)}"
    return f"{two_digits(pre)}→{two_digits(post)}"
