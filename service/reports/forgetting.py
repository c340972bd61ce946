"""The table of forgotten facts: one row a method, means over the facts that all methods have.

A request to forget names no new object, so that efficacy and generalization do not exist; in their
place are forgetting and leak@k. A table never holds requests of another kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import NothingStoredError, UsageError
from ..formatting import pluralize
from ..rules.omega import kept_rules, omega
from ..schemas import MEASURE_NAMES, Measure, Score
from .append.table import Mean, mean

if TYPE_CHECKING:
    import pandas as pd

    from ...cypher.run import Database

COLUMNS = {
    "forgetting": "Forgetting",
    "leak_at_1": "leak@1",
    "leak_at_5": "leak@5",
    "leak_at_100": "leak@100",
    "ifr": "IFR",
    "active_chains": "active chains",
    "preservation": "Preservation",
    "subject_retention": "Subject retention",
}
"""The metrics of the table with their titles."""


BY_RULES = "active proofs"
"""Title of the column about proofs of the fact by the kept rules of its data set."""


@dataclass(frozen=True, slots=True)
class ForgetRow:
    """One method.

    Attributes:
        facts: how many requests the row is over.
        unknown: how many of these facts the model did not know before (p_pre below .05); they
            count in no mean of `forgetting`.
        means: by metric, each over the facts where it is defined.
        proofs: of the fact by rules, that survive: the mean over facts whose data set has rules.
    """

    model: str
    method: str
    facts: int
    unknown: int
    means: Mapping[str, Mean]
    proofs: Mean


@dataclass(frozen=True, slots=True)
class ForgetTable:
    """The rows, those that forget most first, and what a reader must know about them."""

    rows: tuple[ForgetRow, ...]
    caption: str

    @property
    def ruled(self) -> bool:
        """Whether some fact's data set has rules."""
        return any(row.proofs.n for row in self.rows)


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
    all_facts: bool = False,
) -> ForgetTable:
    """One row a model and method.

    Args:
        scores: of requests to forget; the last one of each fact, model and method counts.
        proofs: {edit: proofs by rules that survive}, as `surviving_proofs` counts them.
        all_facts: each row over its own facts, not over those that all methods of a model have.

    Raises:
        NothingStoredError: there is none.
    """
    grouped: dict[tuple[str, str], dict[str, Score]] = defaultdict(dict)
    for score in scores:
        if score.kind == "forget":
            grouped[score.model, score.method][score.rewrite] = score
    if not grouped:
        raise NothingStoredError(
            "No fact was forgotten yet: there is no scored request to forget.",
            remedy='Score one: thinkeval score --forget "SUBJECT|RELATION|OBJECT" -m npo.',
        )
    rows, left_out = [], 0
    for (model, method), found in grouped.items():
        others = [set(facts) for (other, _), facts in grouped.items() if other == model]
        shared = set.intersection(*others)
        kept = [s for fact, s in found.items() if all_facts or not shared or fact in shared]
        left_out += len(found) - len(kept)
        rows.append(_row(model, method, kept, measure, proofs or {}))
    rows.sort(key=lambda row: (row.model, -(row.means["forgetting"].value or 0.0), row.method))
    return ForgetTable(tuple(rows), _caption(rows, measure, left_out))


def _row(
    model: str,
    method: str,
    scores: Sequence[Score],
    measure: Measure,
    proofs: Mapping[str, int],
) -> ForgetRow:
    values = {metric: [score.number(metric, measure) for score in scores] for metric in COLUMNS}
    known = [score.get("forgetting", measure) for score in scores]
    return ForgetRow(
        model,
        method,
        len(scores),
        sum(value.excluded for value in known if value is not None),
        {metric: mean(found) for metric, found in values.items()},
        mean(proofs.get(score.edit) for score in scores),
    )


def _caption(rows: Sequence[ForgetRow], measure: Measure, left_out: int) -> str:
    text = (
        f"Requests to forget, measure: {MEASURE_NAMES[measure]}. Means over facts, each over those"
        " where it is defined. Forgetting is 1 − p_post/p_pre; leak@k = 1 − (1 − p_post)^k, the"
        " probability that one of k answers begins with the object."
    )
    unknown = max((row.unknown for row in rows), default=0)
    if unknown:
        text += f" {pluralize(unknown, 'fact')} not known before (p_pre < .05): no forgetting."
    if any(row.proofs.n for row in rows):
        text += " Active proofs are those by kept rules that still give the fact."
    if left_out:
        text += f" {pluralize(left_out, 'score')} of facts that not all methods have left out."
    return text


def frame(found: ForgetTable) -> pd.DataFrame:
    """The table as a DataFrame: each metric, with `.n`, `.low` and `.high` beside it."""
    import pandas as pd

    out = []
    for row in found.rows:
        values: dict[str, object] = {
            "Model": row.model, "Method": row.method, "facts": row.facts, "unknown": row.unknown,
        }  # fmt: skip
        columns = {title: row.means[metric] for metric, title in COLUMNS.items()}
        if found.ruled:
            columns[BY_RULES] = row.proofs
        for title, each in columns.items():
            values |= {
                title: each.value, f"{title}.n": each.n,
                f"{title}.low": each.low, f"{title}.high": each.high,
            }  # fmt: skip
        out.append(values)
    return pd.DataFrame(out)
