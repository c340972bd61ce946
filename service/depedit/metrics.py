"""The protocol's metrics of stored runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...cypher import rows
from ..errors import NotFoundError
from .schemas import Fraction

if TYPE_CHECKING:
    from ...cypher.run import Database


TITLES: Mapping[str, str] = {
    "est_s": "Est.S",
    "est_i": "Est.I",
    "upd_s": "Upd.S",
    "upd_i": "Upd.I",
    "cons_ns": "Cons.NS",
    "cons_u": "Cons.U",
    "cons_ni": "Cons.NI",
}
"""Names of the metrics in the paper, by those in depedit/metrics."""
METRICS = tuple(TITLES)


def metrics_of(db: Database, run: str) -> dict[str, Fraction]:
    """The seven metrics of a stored run, by name.

    Raises:
        NotFoundError: no such run.
    """
    return metrics_of_runs(db, [run])[run]


def metrics_of_runs(db: Database, runs: Sequence[str]) -> dict[str, dict[str, Fraction]]:
    """The seven metrics of several runs: {run: {metric: fraction}}, in the order of `runs`.

    Raises:
        NotFoundError: one of them is not stored.
    """
    ids = list(dict.fromkeys(runs))
    stored = {row.id for row in db.read(rows.ProtocolRunRow, "depedit/list_runs", ids=ids)}
    for run in ids:
        if run not in stored:
            known = [row.id for row in db.read(rows.ProtocolRunRow, "depedit/list_runs")]
            raise NotFoundError("run", run, known, listing="thinkeval depedit list --runs")
    found = {run: dict.fromkeys(METRICS, Fraction(None, 0, 0)) for run in ids}
    for row in db.read(rows.FractionRow, "depedit/metrics", runs=ids):
        found[row.id][row.metric] = Fraction(row.value, row.n, row.copies)
    return found
