"""Tables of the questions that a data set asks after an edit: of one edit, and of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ...cypher import rows
from ...cypher.rows.checks import CheckCounts
from ..base.formatting import UNDEFINED, fine, number, with_interval
from ..models.checks import TRUTH_RATIO, ForgetQuality, MethodCheck
from ..models.edit import Score
from .comparison import family_of
from .formats import Column, Table, methods_as_columns
from .forms import over_families

if TYPE_CHECKING:
    from ...cypher.run import Database
    from .pooling import MeansTable

RULES = (
    "The model's own words, in a chat or behind examples; an item is one question, or a group that"
    " counts as one. n: items with a decided answer after the edit; left out: the unedited model"
    " did not meet an item's conditions. Old answer: right before the edit."
)

STATED = "File: as the file states it, by its own tool's protocol: not to be compared with ours."


def checks_table(found: Sequence[CheckCounts]) -> Table[CheckCounts]:
    """One row a criterion; results that the file states beside ours, where there are any."""
    columns: list[Column[CheckCounts]] = [
        Column("criterion", lambda row: row.criterion, whole=True),
        Column("n", lambda row: row.n),
        Column("left out", lambda row: row.left_out, optional=3),
        Column("right before", lambda row: row.right_pre),
        Column("right after", lambda row: row.right),
        Column("old answer before", lambda row: row.old_pre, optional=2),
        Column("old answer after", lambda row: row.old, optional=1),
    ]
    note = ""
    if any(row.n_stated for row in found):
        note = STATED
        columns += [
            Column("file: before", lambda row: row.stated_pre, optional=2),
            Column("file: after", lambda row: row.stated),
        ]
    values: list[Column[CheckCounts]] = [
        Column(name, lambda row, name=name: getattr(row, name))
        for name in CheckCounts.model_fields
        if name != "answers"
    ]
    title = "Questions of the data set"
    return Table("checks", title, columns, found, note, values, rules=RULES)


# Checks over several edits: one row a criterion, one column a method. The means are those of
# cypher/checks/by_method, over edits, or over cases whose facts several edits changed.

METRICS = {
    "multi_hop": "multi-hop accuracy",
    "single_hop": "instance-wise accuracy",
    "edit_wise": "edit-wise success",
}
"""MQuAKE's names of its metrics (Zhong et al. 2023, section 3), by criterion."""
UNDECIDED = "no item has a decided answer"
LEFT_OUT = "the unedited model met the conditions of no item"
NO_RETAIN = (
    "the model before is not known to be trained without the forget set: compare it with that one"
    " as the base, `thinkeval compare RETAIN UNLEARNED -g GRAPH --all`"
)
NO_UTILITY = (
    "it needs ROUGE, probabilities and truth ratios on TOFU's retain set, real authors and world"
    " facts, which no request asks for"
)
COMPARED = "compare:"
"""With this the methods of comparisons begin (`states/compare.py`)."""


def by_method(
    db: Database, scores: Sequence[Score], families: Mapping[str, str] | None = None
) -> list[MethodCheck]:
    """The criteria of each method over its edits; empty where no edit has checks.

    Args:
        scores: over the same rewrites for all methods (`service.reports.comparison`).
        families: {edit: family of its rewrite}; None: each rewrite is one.
    """
    asked = _asked(scores)
    if not asked:
        return []
    family = {score.edit: family_of(score, families or {}) for score in scores}
    found = {
        (row.of, row.criterion): _pooled(row, family)
        for row in db.read(rows.CheckMeansRow, "checks/by_method", edits=asked)
        if row.criterion != TRUTH_RATIO  # whose answers are rated and not judged
    }
    for row in db.read(rows.EditWiseRow, "checks/edit_wise", edits=asked):
        found[row.of, "edit_wise"] = _pooled(row, family)
    order = [each["of"] for each in asked]
    return sorted(found.values(), key=lambda row: order.index(_of(row)))


def _asked(scores: Sequence[Score]) -> list[dict[str, str]]:
    return [
        {"edit": score.edit, "of": f"{score.model}\n{score.method}"}
        for score in scores
        if score.checks
    ]


def _of(row: MethodCheck) -> str:
    return f"{row.model}\n{row.method}"


def _pooled(row: rows.CheckMeansRow | rows.EditWiseRow, family: Mapping[str, str]) -> MethodCheck:
    model, method = row.of.split("\n")
    values = [(each["right"], family[each["edit"]]) for each in row.values]
    low, high = over_families(values)
    more: dict[str, Any] = {"criterion": "edit_wise", "items": row.units, "left_out": 0}
    if isinstance(row, rows.CheckMeansRow):
        names = ("criterion", "items", "left_out", "old_pre", "old", "n_old", "stated_pre",
                 "stated", "n_stated")  # fmt: skip
        more = {name: getattr(row, name) for name in names}
    reason = None if row.n else UNDECIDED if row.units else LEFT_OUT
    return MethodCheck(
        model=model,
        method=method,
        metric=METRICS.get(more["criterion"]),
        units=row.units,
        families=len({each for _, each in values}),
        right_pre=row.right_pre,
        right=row.right,
        n=row.n,
        low=low,
        high=high,
        reason=reason,
        **more,
    )


def forget_quality(db: Database, scores: Sequence[Score]) -> list[ForgetQuality]:
    """TOFU's truth ratios of each method; empty where no question asks for one."""
    asked = _asked(scores)
    found = db.read(rows.TruthRatiosRow, "checks/truth_ratios", edits=asked) if asked else []
    order = [each["of"] for each in asked]
    return [_quality(row) for row in sorted(found, key=lambda row: order.index(row.of))]


def _quality(row: rows.TruthRatiosRow) -> ForgetQuality:
    model, method = row.of.split("\n")
    p, reason = None, NO_RETAIN
    if not row.n:
        reason = "no question has a truth ratio before and after"
    elif method.startswith(COMPARED):
        from scipy.stats import ks_2samp  # slow to import

        result: Any = ks_2samp(row.pre, row.post)
        p, reason = float(result.pvalue), None
    return ForgetQuality(
        model=model,
        method=method,
        asked=row.asked,
        n=row.n,
        ratio_pre=fmean(row.pre) if row.n else None,
        ratio=fmean(row.post) if row.n else None,
        distance=row.distance,
        forget_quality=p,
        reason=reason,
        utility_reason=NO_UTILITY,
    )


def of_means(scores: Sequence[Score], means: MeansTable | None) -> list[Score]:
    """The scores with checks that a table of requests to forget is over; all without a table."""
    if means is None:
        return [score for score in scores if score.checks]
    over = {(row.model, row.method): row.values for row in means.rows}
    return [
        score
        for score in scores
        if score.checks and score.rewrite in over.get((score.model, score.method), ())
    ]


def by_pair(
    db: Database, scores: Sequence[Score], families: Mapping[str, str] | None = None
) -> dict[tuple[str, str], dict[str, Any]]:
    """{(model, method): its `checks` and `truth_ratio`}, JSON-able; {} where no edit has checks."""
    out: dict[tuple[str, str], dict[str, Any]] = {}
    for row in by_method(db, scores, families):
        both = out.setdefault((row.model, row.method), {"checks": [], "truth_ratio": None})
        both["checks"].append(row.model_dump())
    for each in forget_quality(db, scores):
        both = out.setdefault((each.model, each.method), {"checks": [], "truth_ratio": None})
        both["truth_ratio"] = each.model_dump()
    return out


def tables_over_edits(
    db: Database,
    scores: Sequence[Score],
    families: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
) -> list[Table[Any]]:
    """The criteria of all methods, and TOFU's truth ratios; empty where no edit has checks.

    Args:
        families: {edit: family of its rewrite}; None: each rewrite is one.
        names: headers of methods; default: the methods themselves.
    """
    both = (
        methods_table(by_method(db, scores, families), names),
        quality_table(forget_quality(db, scores), names),
    )
    return [each for each in both if each is not None]


METHODS_RULES = (
    "Mean over edits of the fraction of an edit's questions that are answered rightly after it;"
    " [low, high]: 95 % interval over families of rewrites (cluster t; Wilson over families where"
    " all agree). n: edits; edits with the same questions, of a case or an event, are one. Before:"
    " the unedited model. Left out: items whose conditions it did not meet."
)


def methods_table(
    found: Sequence[MethodCheck], names: Mapping[str, str] | None = None
) -> Table[list[MethodCheck]] | None:
    """One row a criterion and model, one column a method; None where no edit has checks.

    Args:
        names: headers of methods; default: the methods themselves.
    """
    if not found:
        return None
    models, methods, groups = methods_as_columns(found, lambda row: row.criterion, _right, names)
    columns: list[Column[list[MethodCheck]]] = [
        *models,
        Column("criterion", _titled, whole=True),
        Column("before", lambda row: row[0].right_pre, number),
        *methods,
        Column("n", lambda row: _each(row, "n")),
        Column("left out", lambda row: _each(row, "left_out"), optional=3),
    ]
    note = []
    undefined = dict.fromkeys(f"{row.criterion}: {row.reason}" for row in found if row.reason)
    if undefined:
        note.append(f"Undefined: {'; '.join(undefined)}.")
    if any(row.n_stated for row in found):
        columns[-2:-2] = [Column("file: after", lambda row: row[0].stated, number, optional=2)]
        note.append(STATED)
    title = "Questions of the data set"
    return Table("checks", title, columns, groups, " ".join(note), rules=METHODS_RULES)


def _titled(row: Sequence[MethodCheck]) -> str:
    return row[0].criterion + (f" ({row[0].metric})" if row[0].metric else "")


def _right(row: MethodCheck | None) -> str:
    return UNDEFINED if row is None else with_interval(row.right, row.low, row.high)


def _each(row: Sequence[MethodCheck], name: str) -> str:
    return ", ".join(dict.fromkeys(str(getattr(each, name)) for each in row))


def quality_table(
    found: Sequence[ForgetQuality], names: Mapping[str, str] | None = None
) -> Table[ForgetQuality] | None:
    """One row a method; None where no question asks for a truth ratio."""
    if not found:
        return None
    columns: list[Column[ForgetQuality]] = [
        Column("method", lambda row: (names or {}).get(row.method, row.method), whole=True),
        Column("n", lambda row: row.n),
        Column("truth ratio before", lambda row: row.ratio_pre),
        Column("after", lambda row: row.ratio),
        Column("KS distance", lambda row: row.distance),
        Column("forget quality", lambda row: row.forget_quality, fine),
        Column("model utility", lambda row: row.model_utility),
    ]
    rules = (
        "Truth ratio (TOFU, Maini et al. 2024, Eq. 1): mean P of the false answers over P of the"
        " right one, each P normalised by length. Forget quality: p of the Kolmogorov-Smirnov test"
        " of the truth ratios against a base that was trained without the forget set; 1 is"
        " indistinguishable."
    )
    reasons = dict.fromkeys(row.reason for row in found if row.reason)
    note = " ".join(f"No forget quality: {reason}." for reason in reasons)
    rules += f" No model utility: {NO_UTILITY}."
    title = "Truth ratio and forget quality"
    return Table("truth-ratio", title, columns, found, note, rules=rules)
