"""Metrics of stored edits, read off their graphs again and compared with the stored scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ... import cypher
from ...cypher import rows
from ...cypher.errors import MissingProbabilityError, UnknownGraphError
from ..base.formatting import pluralize
from ..models.edit import MetricValue, Score
from . import metrics
from .record import readable

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..base.database import Progress

_AT_ONCE = 200
_EQUAL = 1e-9
"""Sums over the same numbers in another order differ by less."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """The comparison of stored metrics with their graphs.

    Attributes:
        edits: scored edits.
        values: metrics that were read again and compared with the stored ones, over all edits.
        other_queries: stored metrics of a query that has another text now; not compared.
        without_graph: edits whose graph is not stored; not compared.
        unreadable: edits whose stored score is damaged.
        differing: a sentence for each edit with other numbers.
    """

    edits: int
    values: int
    other_queries: int
    without_graph: int
    unreadable: int
    differing: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The comparison in words, with n."""
        rest = [
            f"{n:,} {what}"
            for n, what in (
                (self.other_queries, "metrics of queries that have changed since"),
                (self.without_graph, "edits without a graph"),
                (self.unreadable, "edits whose score cannot be read"),
            )
            if n
        ]
        if not self.edits:
            return "Metrics read off the graphs again: no edit is scored."
        result = (
            f"{pluralize(len(self.differing), 'edit')} not equal"
            if self.differing
            else "all are equal"
        )
        return (
            f"Metrics read off the graphs again: {pluralize(self.values, 'value')} of"
            f" {pluralize(self.edits, 'scored edit')}, {result}."
            + (f" Not compared: {', '.join(rest)}." if rest else "")
        )


def recompute(db: Database, progress: Progress) -> Recomputed:
    """Read the metrics of every scored edit off its graph, and compare them with its score."""
    graphs = {row.graph for row in db.read(rows.GraphRow, "graph/list_graphs", kind="edit")}
    ids = [row.id for row in db.read(rows.EditRow, "edits/list_edits", status="succeeded")]
    values = other = without = unreadable = 0
    differing: list[str] = []
    for place in range(0, len(ids), _AT_ONCE):
        progress(place, len(ids), "reading metrics off the graphs")
        scores: list[Score] = []
        for edit in ids[place : place + _AT_ONCE]:
            row = db.read(rows.GetEditRow, "edits/get_edit", id=edit)
            score = readable(row[0].score) if row else None
            if score is None:
                unreadable += 1
            elif edit not in graphs:
                without += 1
            else:
                scores.append(score.model_copy(update={"edit": edit}))
        found = _read(db, scores, differing)
        for score in (each for each in scores if each.edit in found):
            again = {_key(value): value for value in found[score.edit]}
            known = [value for value in score.values if _same_query(score, value)]
            other += len(score.values) - len(known)
            values += len(known)
            wrong = [value for value in known if not _equal(value, again.get(_key(value)))]
            if wrong:
                differing.append(_sentence(score.edit, wrong, again.get(_key(wrong[0]))))
    return Recomputed(len(ids), values, other, without, unreadable, tuple(differing))


def _read(
    db: Database, scores: Sequence[Score], differing: list[str]
) -> dict[str, list[MetricValue]]:
    """The metrics by edit; an edit whose graph cannot be read is added to `differing` instead."""
    try:
        return metrics.read_again(db, scores)
    except (MissingProbabilityError, UnknownGraphError) as error:
        if len(scores) == 1:
            differing.append(f"{scores[0].edit}: {error.detail}")
            return {}
    return {k: v for score in scores for k, v in _read(db, [score], differing).items()}


def _key(value: MetricValue) -> tuple[str, str, int | None]:
    return (value.metric, value.measure, value.step)


def _same_query(score: Score, value: MetricValue) -> bool:
    """Return True of a metric whose query has the text by which the score was taken."""
    name = metrics.PREFIX + value.metric
    queries = score.provenance.get("queries")
    if name not in cypher.names(metrics.PREFIX) or not isinstance(queries, dict):
        return False
    return queries.get(name) == cypher.query(name).digest


def _equal(stored: MetricValue, again: MetricValue | None) -> bool:
    if again is None or stored.n != again.n:
        return False
    if stored.value is None or again.value is None:
        return stored.value is again.value
    return math.isclose(stored.value, again.value, rel_tol=_EQUAL, abs_tol=_EQUAL)


def _sentence(edit: str, wrong: Sequence[MetricValue], again: MetricValue | None) -> str:
    first = wrong[0]
    read = "nothing" if again is None else f"{again.value} (n = {again.n})"
    return (
        f"{edit}: {pluralize(len(wrong), 'metric')} differ, such as {first.metric} by"
        f" {first.measure}: stored {first.value} (n = {first.n}), read {read}."
    )
