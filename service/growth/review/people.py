"""Agreement of the people who decide about a run's candidates, or of a table of ratings.

Of several decisions of one person about one candidate the latest counts; an added triplet counts
as kept by who added it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from ...agreement import agreement
from ...errors import UsageError
from .log import records
from .schemas import AgreementReport

if TYPE_CHECKING:
    from ....cypher.run import Database

CATEGORIES = ("keep", "prune", "correct")
IDS = ("id", "item", "chain", "candidate", "triplet")
"""Header of a first column that names the items and holds no ratings."""
UNUSED = "(no rating)"
"""Second category where all ratings of a table are equal."""


def stored(db: Database, run: str) -> AgreementReport:
    """Agreement over the stored decisions of a run.

    Raises:
        NotFoundError: no such run.
    """
    items: dict[str, dict[str, str]] = {}
    for row in records(db, run):
        if row.role == "human":
            verb = "keep" if row.verb == "add" else row.verb
            items.setdefault(row.candidate, {})[row.by] = verb
    return _report(list(items.values()), CATEGORIES)


def read_csv(
    text: str, name: str = "the table", categories: Sequence[str] | None = None
) -> AgreementReport:
    """Agreement over a table with one column an annotator and one row an item.

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
    return _report(items, chosen if len(chosen) > 1 else [*chosen, UNUSED], people)


def _report(
    items: Sequence[Mapping[str, str]],
    categories: Sequence[str],
    people: Sequence[str] | None = None,
) -> AgreementReport:
    found = asdict(agreement([list(item.values()) for item in items], categories))
    who = sorted({name for item in items for name in item}) if people is None else list(people)
    return AgreementReport.model_validate(found | {"annotators": who})
