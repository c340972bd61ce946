"""The table of forgotten facts: one row a method, means over the facts that all methods have.

A request to forget names no new object, so that efficacy and generalization do not exist; in their
place are forgetting and leak@k. A table never holds requests of another kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import NothingStoredError, UsageError
from ..formatting import pluralize
from ..rules.omega import kept_rules, omega
from ..schemas import MEASURE_NAMES, Measure, Score
from .means import Key, MeansTable, rows_over

if TYPE_CHECKING:
    from ...cypher.run import Database

PROOFS = "active_proofs"
"""Proofs of the fact by the kept rules of its data set that survive."""
COLUMNS = {
    "forgetting": "Forgetting",
    "leak_at_1": "leak@1",
    "leak_at_5": "leak@5",
    "leak_at_100": "leak@100",
    "ifr": "IFR",
    "active_chains": "active chains",
    PROOFS: "active proofs",
    "preservation": "Preservation",
    "subject_retention": "Subject retention",
}
"""The metrics of the table with their titles; proofs only where some data set has rules."""


def surviving_proofs(db: Database, scores: Sequence[Score], measure: Measure) -> dict[str, int]:
    """{edit: proofs of the fact by rules that survive}; without those whose data set has no rules.

    Left out is also an edit in whose graph too much follows by the rules.
    """
    rules = {each: kept_rules(db, each) for each in {score.dataset for score in scores}}
    found = {}
    for score in scores:
        if score.kind == "forget" and rules[score.dataset] and measure in score.measures:
            try:
                whole = omega(db, score, measure, rules[score.dataset], most=0)
            except UsageError:
                continue
            found[score.edit] = whole.at("rules").surviving
    return found


def table(
    scores: Sequence[Score],
    measure: Measure,
    proofs: Mapping[str, int] | None = None,
    *,
    all_requests: bool = False,
) -> MeansTable:
    """Return one row a model and method, those that forget most first.

    Args:
        scores: of requests to forget; the last one of each fact, model and method counts.
        proofs: {edit: proofs by rules that survive}, as `surviving_proofs` counts them.
        all_requests: each row over its own facts, not over those that all methods of a model have.

    Raises:
        NothingStoredError: there is none.
    """
    groups: dict[Key, dict[str, Score]] = defaultdict(dict)
    for score in scores:
        if score.kind == "forget":
            groups[score.model, score.method, "bare"][score.rewrite] = score
    if not groups:
        raise NothingStoredError(
            "No fact was forgotten yet: there is no scored request to forget.",
            remedy='Score one: thinkeval score --forget "SUBJECT|RELATION|OBJECT" -m npo.',
        )
    proven = proofs or {}
    titles = {name: title for name, title in COLUMNS.items() if name != PROOFS or proven}

    def values(score: Score) -> dict[str, float | None]:
        found = {name: score.number(name, measure) for name in titles if name != PROOFS}
        return found | ({PROOFS: proven.get(score.edit)} if proven else {})

    rows, left_out = rows_over(groups, values, all_requests=all_requests)
    rows = [
        replace(row, unknown=_unknown(groups[row.model, row.method, "bare"], row.values, measure))
        for row in rows
    ]
    rows.sort(key=lambda row: (row.model, -(row.means["forgetting"].value or 0.0), row.method))
    text = (
        f"Requests to forget, measure: {MEASURE_NAMES[measure]}. Means over facts, each over those"
        " where it is defined. Forgetting is 1 − p_post/p_pre; leak@k = 1 − (1 − p_post)^k, the"
        " probability that one of k answers begins with the object."
    )
    if unknown := max(row.unknown or 0 for row in rows):
        text += f" {pluralize(unknown, 'fact')} not known before (p_pre < .05): no forgetting."
    if proven:
        text += " Active proofs are those by kept rules that still give the fact."
    title = f"Forgotten facts by method: {MEASURE_NAMES[measure]}"
    return MeansTable(title, "facts", titles, rows, text + left_out)


def _unknown(scores: Mapping[str, Score], requests: Mapping[str, object], measure: Measure) -> int:
    """Return how many facts of a row the model did not know before (p_pre below .05)."""
    known = [scores[request].get("forgetting", measure) for request in requests]
    return sum(value.excluded for value in known if value is not None)
