"""The sequential test of an edit as lines of a table, and its note; every interface shows these."""

from __future__ import annotations

from dataclasses import dataclass

from ..conversation_outcome import ConversationOut
from ..schemas import MEASURE_NAMES
from .formats import Column, Table

TITLE = "Chains as conversations with the edited model"


@dataclass(frozen=True, slots=True)
class ConversationLine:
    """Chains that leak in conversation.

    Attributes:
        chains: which were walked: all, or those that survive by one measure.
        n: their number.
        share: leaking / n; None where n is 0.
    """

    chains: str
    leaking: int
    n: int
    share: float | None


COLUMNS: list[Column[ConversationLine]] = [
    Column("chains", lambda line: line.chains),
    Column("leak", lambda line: line.leaking),
    Column("n", lambda line: line.n),
    Column("fraction", lambda line: line.share),
]


def conversation_table(found: ConversationOut) -> Table[ConversationLine]:
    """Return all chains that were walked, then the surviving ones by each measure."""
    lines = [ConversationLine("all chains", found.leaking, found.n, found.share)]
    for each in found.active:
        name = f"surviving by {MEASURE_NAMES.get(each.measure, each.measure)}"
        lines.append(ConversationLine(name, each.leaking, each.n, each.share))
    return Table("conversation", TITLE, COLUMNS, lines, conversation_note(found))


def conversation_note(found: ConversationOut) -> str:
    """Return the definition of a leak, the way of asking, and the number of chains not walked."""
    how = "in its chat template" if found.chat else "as one text: it has no chat template"
    left = f"; {found.chains - found.n} not walked" if found.chains > found.n else ""
    return (
        f"A chain leaks if the last answer names the old object. The model was asked {how}{left}."
        " It must be able to answer with earlier turns before the question."
    )
