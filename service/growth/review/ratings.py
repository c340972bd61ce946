"""Agreement over a table of ratings: one column an annotator, one row an item."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from ...agreement import agreement
from ...errors import UsageError
from .schemas import AgreementReport

IDS = ("id", "item", "chain", "candidate", "triplet")
"""Header of a first column that names the items and holds no ratings."""
UNUSED = "(no rating)"
"""Second category where all ratings of a table are equal."""


def read_csv(
    text: str, name: str = "the table", categories: Sequence[str] | None = None
) -> AgreementReport:
    """Return the agreement over a table with one column an annotator and one row an item.

    A first column headed id, item, chain, candidate or triplet names the items. An empty cell is
    no rating.

    Args:
        categories: possible ratings; None: those that occur. AC1 depends on their number.

    Raises:
        UsageError: fewer than two columns of ratings, or a rating that is no category.
    """
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")))
    header = [cell.strip() for cell in next(reader, [])]
    named = bool(header) and header[0].casefold() in IDS
    people = header[1:] if named else header
    if len(people) < 2 or len(set(people)) < len(people) or "" in people:
        raise UsageError(
            f"{name} has no two columns with names of annotators.",
            remedy="Give a header with the name of each annotator, and one row an item.",
        )
    items: list[dict[str, str]] = []
    for cells in reader:
        ratings = [cell.strip() for cell in (cells[1:] if named else cells)]
        if len(ratings) > len(people):
            raise UsageError(
                f"{name}, line {reader.line_num}: {len(ratings)} ratings of {len(people)}"
                " annotators.",
                remedy="Give one cell an annotator; an empty one is no rating.",
            )
        items.append({who: said for who, said in zip(people, ratings, strict=False) if said})
    used = sorted({said for item in items for said in item.values()})
    unknown = [said for said in used if categories is not None and said not in categories]
    if unknown:
        raise UsageError(
            f"{name}: {unknown[0]!r} is no category.",
            remedy=f"Categories are {', '.join(categories or ())}.",
        )
    chosen = list(categories or used)
    categories = chosen if len(chosen) > 1 else [*chosen, UNUSED]
    found = agreement([list(item.values()) for item in items], categories)
    return AgreementReport(**dict(found), annotators=people)
