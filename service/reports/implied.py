"""The table of the conclusions of rules for several scored requests: a row a group of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..formatting import UNDEFINED, pluralize
from ..rules.omega import KINDS
from ..rules.summary import SummaryOut, by_method, plain_share
from ..schemas import MEASURE_NAMES, Measure
from ..scoring.record import stored_score
from .formats import Column, Table

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..rules.omega import Kind

NOTE = (
    "stale: no longer follows, yet the model answers it; for conclusions of rules only, and for"
    " those that are also facts. recovered: surviving ways of all, by chains, by rules, by both."
    " deep: fraction of edits where nothing survives."
)

_Row = tuple[str, SummaryOut]


def by_group(
    db: Database, groups: Mapping[str, Sequence[str]], measure: Measure
) -> dict[str, SummaryOut]:
    """The implications of each group of edits that share model and method, pooled.

    Edits that are deleted by now are left out, and groups without the measure or without rules.

    Args:
        groups: ids of edits by label.
    """
    pooled = {
        label: by_method(
            db, [score for edit in edits if (score := stored_score(db, edit))], measure
        )
        for label, edits in groups.items()
    }
    return {label: found[0] for label, found in pooled.items() if found}


def _ways(kind: Kind, row: _Row) -> str:
    found = row[1].by(kind)
    return f"{found.surviving} of {found.chains}"


def _deep(row: _Row) -> str:
    shares = [row[1].by(kind).deep for kind in KINDS]
    return " / ".join(UNDEFINED if share is None else f"{share:.2f}" for share in shares)


COLUMNS: list[Column[_Row]] = [
    Column("", lambda row: row[0]),
    Column("edits", lambda row: row[1].edits),
    Column("stale, by rules only", lambda row: row[1].stale.only_implied, plain_share),
    Column("stale, stated too", lambda row: row[1].stale.stated, plain_share),
    Column("propagated", lambda row: row[1].propagated, plain_share),
    Column("kept", lambda row: row[1].kept, plain_share),
    *(
        Column(header, partial(_ways, kind))
        for kind, header in zip(KINDS, ("recovered: paths", "rules", "both"), strict=True)
    ),
    Column("deep: paths / rules / both", _deep),
]


def table(found: Mapping[str, SummaryOut]) -> Table[_Row]:
    """Return the table: stale, propagated and kept with their n; how old objects are recovered."""
    first = next(iter(found.values()))
    title = f"Implications by {pluralize(first.rules, 'rule')} ({MEASURE_NAMES[first.measure]})"
    return Table("implied", title, COLUMNS, list(found.items()), NOTE)
