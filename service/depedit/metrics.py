"""The protocol's metrics of stored runs, each by its own query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...cypher import rows
from ..errors import NotFoundError
from .schemas import Fraction

if TYPE_CHECKING:
    from ...cypher.run import Database


METRICS: tuple[str, ...] = ("est_s", "est_i", "upd_s", "upd_i", "cons_ns", "cons_u", "cons_ni")
"""Names of the metrics and of their queries in cypher/depedit/."""

TITLES: Mapping[str, str] = {
    "est_s": "Est.S",
    "est_i": "Est.I",
    "upd_s": "Upd.S",
    "upd_i": "Upd.I",
    "cons_ns": "Cons.NS",
    "cons_u": "Cons.U",
    "cons_ni": "Cons.NI",
}
"""Names of the metrics in the paper."""


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
    found: dict[str, dict[str, Fraction]] = {run: {} for run in ids}
    for name in METRICS:
        for row in db.read(rows.FractionRow, f"depedit/{name}", runs=ids) if ids else ():
            found[row.id][name] = Fraction(row.value, row.n, row.copies)
    return found
