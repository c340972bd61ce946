"""The metrics of an appended answer, read off its stored answers by one query.

PEAK (Ma et al. 2024, ICML), §4, eq. 1–6, and §7.2: efficacy (`append_es`), its paraphrases
(`append_gs`), locality (`append_ls`), and additivity against hard and random false answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ....cypher import rows
from ...schemas import MetricValue, Score

if TYPE_CHECKING:
    from ....cypher.run import Database

MEASURE: Final = "likelihood_norm"
BY_SET = ("rff", "rnf", "fpc", "aff", "anf")
"""Metrics that each set of false answers has one of, as in `aff_hard`."""


def measured(db: Database, edits: Sequence[str], **options: Any) -> dict[str, list[MetricValue]]:
    """{edit: values}; of an edit without stored answers all are None with n = 0.

    Args:
        options: parameters of append/additivity: strict, published, es_over, ls_over.

    Raises:
        ParameterError: an option that the query does not have.
    """
    values: dict[str, list[MetricValue]] = {}
    for row in db.read(rows.AdditivityRow, "append/additivity", edits=list(edits), **options):
        if row.edit not in values:
            values[row.edit] = _successes(row)
        values[row.edit] += _of_set(row)
    return values


def measured_again(db: Database, scores: Sequence[Score], **options: Any) -> list[Score]:
    """The scores of appends with their values by other options; stored ones stay as they are.

    Args:
        options: as in `measured`.
    """
    found = measured(db, [score.edit for score in scores], **options)
    again = []
    for score in scores:
        new = {value.metric: value for value in found[score.edit]}
        values = [value for value in score.values if value.metric not in new]
        again.append(score.model_copy(update={"values": [*values, *new.values()]}))
    return again


def _successes(row: rows.AdditivityRow) -> list[MetricValue]:
    """What the rows of both sets have in common."""
    paraphrases = max(row.prompts - 1, 0)
    return [
        _value("append_es", row.es, row.n_es, min(row.prompts, 1)),
        _value("append_gs", row.gs, row.n_gs, paraphrases),
        _value("append_ls", row.ls, row.n_ls, row.asked_ls),
        _value("cpc", row.cpc, row.n, row.prompts),
    ]


def _of_set(row: rows.AdditivityRow) -> list[MetricValue]:
    counted = {"fpc": row.n_fpc, "anf": row.n_fpc}
    return [
        _value(f"{name}_{row.set}", getattr(row, name), counted.get(name, row.n), row.prompts)
        for name in BY_SET
    ]


def _value(metric: str, value: float | None, n: int, asked: int) -> MetricValue:
    return MetricValue(metric=metric, measure=MEASURE, value=value, n=n, excluded=asked - n)
