"""Edges of model and edit graphs: kept, weakened, removed or added, and their captions."""

from __future__ import annotations

from ..base.formatting import two_digits
from ..models.edit import KNOWN

KEPT_RATIO = 0.9
"""p_post / p_pre from which a fact counts as kept."""
REMOVED_RATIO = 0.1
"""p_post / p_pre below which a fact counts as removed; between the two it is weakened."""


def change(pre: float, post: float) -> str:
    """`kept`, `weakened`, `removed` or `added`, by the ratio of two probabilities."""
    if pre < KNOWN:
        return "added" if post >= KNOWN else "kept"
    ratio = post / pre
    if ratio >= KEPT_RATIO:
        return "kept"
    return "removed" if ratio < REMOVED_RATIO else "weakened"


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
