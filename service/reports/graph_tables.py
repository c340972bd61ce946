"""Tables of stored graphs, of rules, and of conclusions, the same in terminal and web UI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..base.formatting import UNDEFINED, pluralize
from ..graphs.datasets import StoredGraph
from ..models.edit import MEASURE_NAMES, Measure
from ..rules.implications import SummaryOut, by_method, plain_share
from ..rules.omega import KINDS, WAYS, OmegaOut
from ..scoring.record import stored_score
from .formats import Column, Table

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..rules.omega import Kind
    from ..rules.schemas import RuleOut


GRAPHS: list[Column[StoredGraph]] = [
    Column("graph", lambda g: g.id, whole=True),
    Column("kind", lambda g: g.kind),
    Column("facts", lambda g: g.n_facts),
    Column("entities", lambda g: g.n_entities, optional=3),
    Column("rewrites", lambda g: g.n_rewrites, optional=2),
    Column("model", lambda g: g.model, whole=True, optional=1),
    Column("created", lambda g: g.created_at, lambda at: at[:16].replace("T", " "), optional=4),
]


# Tables of rules, and of what they and chains recover: command line and pages show these.

COUNTS: list[Column[RuleOut]] = [
    Column("support", lambda r: r.support),
    Column("body", lambda r: r.body, optional=2),
    Column("confidence", lambda r: r.confidence),
    Column("conclusions", lambda r: _of(r, "conclusions"), optional=2),
    Column("known", lambda r: _of(r, "known")),
    Column("lower", lambda r: _of(r, "lower")),
    Column("PCA", lambda r: _of(r, "pca_confidence")),
    Column("coverage", lambda r: _of(r, "head_coverage"), optional=2),
]
RULES: list[Column[RuleOut]] = [
    Column("rule", lambda r: r.id, whole=True),
    Column("text", lambda r: r.text),
    *COUNTS,
    Column("status", lambda r: r.status, optional=1),
    Column("labels", lambda r: " ".join(f"{by}:{a}" for by, a in r.labels.items()), optional=3),
]


def _of(rule: RuleOut, name: str) -> Any:
    return getattr(rule.statistics, name) if rule.statistics is not None else None


def rules_table(title: str, found: Sequence[RuleOut], note: str = "") -> Table[RuleOut]:
    """Return the table of rules with their statistics, which count distinct conclusions."""
    return Table("rules", title, RULES, found, note)


def ways_table(found: OmegaOut, target_true: str) -> Table[Kind]:
    """Return how the old object is recovered: by chains, by rules, by both."""
    columns: list[Column[Kind]] = [
        Column("recovered by", lambda kind: WAYS[kind]),
        Column("ways", lambda kind: found.at(kind).chains),
        Column("surviving", lambda kind: found.at(kind).surviving),
        Column("all cut up to (facts)", lambda kind: found.deep[kind]),
    ]
    note = f"within {pluralize(found.max_steps, 'fact')}, by {pluralize(found.rules, 'rule')}"
    if found.note:
        note += f". {found.note}"
    title = f"Is {target_true} recovered? ({MEASURE_NAMES[found.measure]})"
    return Table("ways", title, columns, KINDS, note)


# The table of the conclusions of rules for several scored requests: a row a group of them.

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
