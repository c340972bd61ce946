"""Tables of rules, and of what they and chains recover: command line and pages show these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..formatting import pluralize
from ..rules.omega import KINDS, WAYS, OmegaOut
from ..schemas import MEASURE_NAMES
from .formats import Column, Table

if TYPE_CHECKING:
    from ..rules.omega import Kind
    from ..rules.store import StoredRule

RULES: list[Column[StoredRule]] = [
    Column("rule", lambda r: r.id, whole=True),
    Column("text", lambda r: r.rule.text()),
    Column("support", lambda r: r.rule.support),
    Column("body", lambda r: r.rule.body, optional=2),
    Column("confidence", lambda r: r.rule.confidence),
    Column("status", lambda r: r.status, optional=1),
    Column("labels", lambda r: " ".join(f"{who}:{label}" for who, label in r.labels), optional=3),
]
STATISTICS: list[Column[StoredRule]] = [
    Column("conclusions", lambda r: _of(r, "conclusions"), optional=2),
    Column("known", lambda r: _of(r, "known")),
    Column("lower", lambda r: _of(r, "lower")),
    Column("PCA", lambda r: _of(r, "pca_confidence")),
    Column("coverage", lambda r: _of(r, "head_coverage"), optional=2),
]
"""Of rules with statistics, over distinct conclusions."""


def _of(stored: StoredRule, name: str) -> Any:
    return getattr(stored.statistics, name) if stored.statistics is not None else None


def rules_table(title: str, found: Sequence[StoredRule], note: str = "") -> Table[StoredRule]:
    """Return the table of rules, with their statistics where those were counted."""
    counted = any(r.statistics is not None for r in found)
    columns = [*RULES[:5], *STATISTICS, *RULES[5:]] if counted else RULES
    return Table("rules", title, columns, found, note)


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
