"""Tables of requests that replace no object: to append (PEAK, Ma et al. 2024), to forget."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...cypher import rows
from ...loaders.records import RequestKind
from ..base.errors import NothingStoredError, UsageError
from ..base.formatting import UNDEFINED, fine, number, pluralize, signed_interval
from ..models.edit import MEASURE_NAMES, AppendOut, Measure, MetricValue, Score
from ..rules.omega import kept_rules, omega
from ..scoring.append import MEASURE, WEIGHTS
from .formats import Column, Table
from .pooling import Key, Mean, MeansRow, MeansTable, mean, rows_over

if TYPE_CHECKING:
    from ...cypher.run import Database


# Appended answers in tables (PEAK, Ma et al. 2024): of one edit, by method and variant, paired.
#
# The table by method is the paper's Table 3: ES, GS, LS, then AFF and ANF over hard and over
# random false answers. AFF and ANF are better when lower, the others when higher. A variant is
# how the other answers were kept: the bare method; "+", whose targets are all answers (§7.7); and
# APP, whole, with one of its three losses left out (§7.5), or with only k correct and k false
# answers (§7.6).

SUCCESS = {"append_es": "ES", "append_gs": "GS", "append_ls": "LS"}
APPEND_COLUMNS = {
    **SUCCESS,
    "aff_hard": "AFF hard",
    "anf_hard": "ANF hard",
    "aff_random": "AFF random",
    "anf_random": "ANF random",
}
"""The metrics of the table by method with their titles, in the order of the paper."""
SETS = ("hard", "random")
BY_SET = {"rff": "RFF", "rnf": "RNF", "cpc": "CPC", "fpc": "FPC", "aff": "AFF", "anf": "ANF"}
"""The metrics of one edit against a set of false answers, in the order of the equations."""
NO_OLD_FACT = (
    "An answer was added and none replaced: there is no old fact that could be recovered, so IFR,"
    " surviving chains and what else speaks of an old fact are not taken."
)
MEANING = (
    "AFF: harm to the correct answers, ANF: gain of the false ones; good: 0. RFF, RNF: fraction"
    " that fell below a false answer, or rose above a correct one; CPC, FPC: mean P after over"
    " before. P is normalised by the length of the answer."
)
OF_SUCCESS = (
    "ES, GS: the new answer is above a correct one at the prompt and its paraphrases; LS: prompts"
    " of locality keep their right answer above it."
)


def variant_of(append: AppendOut) -> str:
    """Return the name of the variant that a score records: `bare`, `+`, `APP −L1`, `APP k=3`."""
    if append.loss == "all-answers":
        return "+"
    weights = [getattr(append, name) for name in WEIGHTS]
    if append.loss == "none" or append.neighbours == "0" or not any(weights):
        return "bare"
    name = "APP" + "".join(f" −L{i}" for i, weight in enumerate(weights, 1) if not weight)
    if append.neighbours != "all":
        name += f" k={append.neighbours}"
    return name + " kept" * (append.lists == "kept")


@dataclass(frozen=True, slots=True)
class AdditivityLine:
    """Additivity of one edit against one set of false answers; `values` as in `BY_SET`."""

    set: str
    values: tuple[MetricValue | None, ...]

    @property
    def n(self) -> int:
        """Prompts that count."""
        return max(value.n for value in self.values if value)

    @property
    def excluded(self) -> int:
        """Prompts that the filter before the edit left out."""
        return max(value.excluded for value in self.values if value)


def _fine(place: int, line: AdditivityLine) -> str:
    value = line.values[place]
    return fine(value.value if value else None)


ADDITIVITY: list[Column[AdditivityLine]] = [
    Column("false answers", lambda line: line.set),
    *(Column(title, partial(_fine, place)) for place, title in enumerate(BY_SET.values())),
    Column("prompts", lambda line: line.n),
    Column("left out by the filter", lambda line: line.excluded, optional=1),
]


def additivity(score: Score) -> Table[AdditivityLine]:
    """Return what else one appended answer moved: a line for hard and one for random answers."""
    found = []
    for of in SETS:
        names = [name if name == "cpc" else f"{name}_{of}" for name in BY_SET]
        values = tuple(score.get(name, MEASURE) for name in names)
        if any(values):
            found.append(AdditivityLine(of, values))
    return Table("additivity", "What else the answer moved", ADDITIVITY, found, MEANING)


def successes(score: Score) -> list[tuple[str, MetricValue]]:
    """Return ES, GS and LS with their titles."""
    found = [(title, score.get(metric, MEASURE)) for metric, title in SUCCESS.items()]
    return [(title, value) for title, value in found if value is not None]


def groups(scores: Sequence[Score]) -> dict[Key, dict[str, Score]]:
    """{(model, method, variant): {request: score}}; other weights of APP make another variant."""
    weights: dict[Key, set[tuple[float | None, ...]]] = defaultdict(set)
    appended = [
        (score, (score.model, score.method, variant_of(score.append)), _weights(score.append))
        for score in scores
        if score.append is not None
    ]
    for _, key, weighed in appended:
        weights[key].add(weighed)
    groups: dict[Key, dict[str, Score]] = defaultdict(dict)
    for score, key, weighed in appended:
        model, method, name = key
        if len(weights[key]) > 1 and name.startswith("APP"):
            name += f" ({', '.join(f'{weight:g}' for weight in weighed)})"
        groups[model, method, name][f"{score.dataset}|{score.rewrite}"] = score
    return dict(groups)


def _weights(append: AppendOut) -> tuple[float, ...]:
    return append.alpha or 0.0, append.beta or 0.0, append.gamma or 0.0


def _values(score: Score) -> dict[str, float | None]:
    return {metric: score.number(metric, MEASURE) for metric in APPEND_COLUMNS}


def appended_table(scores: Sequence[Score], *, all_requests: bool = False) -> MeansTable:
    """Return one row a model, method and variant, in the order of the scores.

    Args:
        scores: of requests to append; the last of each request, model, method and variant counts.
        all_requests: each row over its own requests, not over those that all rows of a model have.

    Raises:
        NothingStoredError: there is none.
    """
    grouped = groups(scores)
    if not grouped:
        raise NothingStoredError(
            "No request to append is scored.",
            remedy="Make requests with `thinkeval graph rewrites GRAPH --build append`, or"
            " import a PEAK"
            " file; then `thinkeval sweep -g GRAPH --kind append`.",
        )
    found, left_out = rows_over(grouped, _values, all_requests=all_requests)
    least = min(m.n for row in found for m in row.means.values())
    rules = (
        "P(o) is the likelihood of an answer, normalised by its length (PEAK, eq. 1 to 6). ES, GS"
        " and LS: higher is better; AFF and ANF: lower is better, 0 is undisturbed. Means over"
        f" requests, undefined ones left out (at least {least} each);"
        " [low, high]: 95 % bootstrap interval over requests."
    )
    return MeansTable(
        "Appended answers", "requests", APPEND_COLUMNS, found, "append", left_out.strip(), rules,
        _percent,
    )  # fmt: skip


def _percent(found: Mean) -> str:
    """Return a mean as the paper prints it: percent with two decimals; the interval with one."""
    if found.value is None:
        return UNDEFINED
    text = f"{100 * found.value:.2f}"
    if found.low is None or found.high is None:
        return text
    return f"{text} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


@dataclass(frozen=True, slots=True)
class Difference:
    """A variant minus the bare method, over the requests where both are defined.

    PEAK tests by a t-test (p < .05); a bootstrap over requests assumes no distribution.

    Attributes:
        difference: with its 95 % interval by paired bootstrap.
        p: of the paired t-test, two-sided; None with fewer than two requests, or where all
            differences are equal.
    """

    model: str
    method: str
    variant: str
    metric: str
    difference: Mean
    p: float | None


def differences(found: MeansTable) -> list[Difference]:
    """Return each variant against its bare method, metric by metric, in the order of the table."""
    bare = {(row.model, row.method): row.values for row in found.rows if row.variant == "bare"}
    out = []
    for row in found.rows:
        against = bare.get((row.model, row.method), {})
        for metric in APPEND_COLUMNS if row.variant != "bare" and against else ():
            pairs = [
                (against[request][metric], values[metric])
                for request, values in row.values.items()
                if request in against
            ]
            each = np.array([b - a for a, b in pairs if a is not None and b is not None])
            out.append(Difference(row.model, row.method, row.variant, metric, *compare(each)))
    return out


def compare(differences: np.ndarray, *, seed: int = 0) -> tuple[Mean, float | None]:
    """Return mean with bootstrap interval, and p of the t-test, of paired differences [n]."""
    found, p = mean(differences, seed=seed), math.nan
    if found.n > 1 and differences.std() > 1e-12 * np.abs(differences).max():
        from scipy.stats import ttest_1samp  # slow to import

        result: Any = ttest_1samp(differences, 0.0)
        p = float(result.pvalue)
    return found, None if math.isnan(p) else p


def paired(found: MeansTable, *, as_text: bool) -> Table[Difference]:
    """Return the differences as a table; for data each number by itself."""
    value: list[Column[Difference]] = [Column("Difference", attrgetter("difference"), _signed)]
    if not as_text:
        value = [Column(t.capitalize(), attrgetter(f"difference.{t}")) for t in _PARTS]
    columns: list[Column[Difference]] = [
        Column("Model", lambda d: d.model),
        Column("Method", lambda d: d.method),
        Column("Variant", lambda d: d.variant),
        Column("Metric", lambda d: APPEND_COLUMNS[d.metric]),
        *value,
        Column("p (t-test)", lambda d: d.p, _p),
        Column("n", lambda d: d.difference.n),
    ]
    return Table("paired", "Against the bare method", columns, differences(found))


_PARTS = ("value", "low", "high")


def _signed(found: Mean) -> str:
    return signed_interval(found.value, found.low, found.high)


def _p(value: float | None) -> str:
    return "< .001" if value is not None and value < 0.001 else number(value)


KINDS = ("correct", "hard", "random")
Probabilities = Mapping[str, tuple[Mean, Mean]]
"""{`correct`, `hard` or `random`: mean P before and after the edit}."""


def probabilities(
    db: Database, scores: Sequence[Score], found: MeansTable
) -> dict[str, Probabilities]:
    """{name of the row: mean P over requests}, of bare, "+" and whole APP (PEAK, Fig. 2).

    P of a request is the mean over its answers of that kind at the edit prompt; all answers, also
    those that the filter drops.
    """
    stored = {
        row.edit: row
        for row in db.read(
            rows.MeanProbabilitiesRow,
            "append/mean_probabilities",
            edits=[score.edit for score in scores],
        )
    }
    edits = {
        key: [stored[s.edit] for s in of.values() if s.edit in stored]
        for key, of in groups(scores).items()
    }

    def means(row: MeansRow, kind: str) -> tuple[Mean, Mean]:
        of = edits[row.model, row.method, row.variant]
        before, after = ([getattr(each, f"{kind}_{t}") for each in of] for t in ("pre", "post"))
        return mean(before), mean(after)

    return {
        row.name: {kind: means(row, kind) for kind in KINDS}
        for row in found.rows
        if row.variant in ("bare", "+", "APP")
    }


# The table of forgotten facts: one row a method, means over the facts that all methods have.
#
# A request to forget names no new object, so that efficacy and generalization do not exist; in
# their place are forgetting and leak@k. A table never holds requests of another kind.

PROOFS = "active_proofs"
"""Proofs of the fact by the kept rules of its data set that survive."""
FORGETTING_COLUMNS = {
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


def forgetting_table(
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
    titles = {name: title for name, title in FORGETTING_COLUMNS.items() if name != PROOFS or proven}

    def values(score: Score) -> dict[str, float | None]:
        found = {name: score.number(name, measure) for name in titles if name != PROOFS}
        return found | ({PROOFS: proven.get(score.edit)} if proven else {})

    rows, left_out = rows_over(groups, values, all_requests=all_requests)
    rows = [
        replace(row, unknown=_unknown(groups[row.model, row.method, "bare"], row.values, measure))
        for row in rows
    ]
    rows.sort(key=lambda row: (row.model, -(row.means["forgetting"].value or 0.0), row.method))
    rules = (
        f"Requests to forget, measure: {MEASURE_NAMES[measure]}. Means over facts, each over those"
        " where it is defined. Forgetting is 1 − p_post/p_pre; leak@k = 1 − (1 − p_post)^k, the"
        " probability that one of k answers begins with the object."
    )
    note = left_out
    if unknown := max(row.unknown or 0 for row in rows):
        note = f"{pluralize(unknown, 'fact')} not known before (p_pre < .05): no forgetting. {note}"
    if proven:
        rules += " Active proofs are those by kept rules that still give the fact."
    title = f"Forgotten facts by method: {MEASURE_NAMES[measure]}"
    return MeansTable(title, "facts", titles, rows, "forget", note.strip(), rules)


def _unknown(scores: Mapping[str, Score], requests: Mapping[str, object], measure: Measure) -> int:
    """Return how many facts of a row the model did not know before (p_pre below .05)."""
    known = [scores[request].get("forgetting", measure) for request in requests]
    return sum(value.excluded for value in known if value is not None)


def table_by_kind(
    scores: Sequence[Score],
    measure: Measure,
    db: Database | None = None,
    *,
    kind: RequestKind = "replace",
    all_requests: bool = False,
) -> MeansTable | None:
    """Return the table of scores that are all of one kind; None for those that replace an object.

    Args:
        db: to count proofs by rules of forgotten facts; None: they are not counted.
        kind: of the requests where there is no score.

    Raises:
        NothingStoredError: there is no score, and the kind is another than to replace.
    """
    kinds = {score.kind for score in scores} or {kind}
    if kinds == {"append"}:
        return appended_table(scores, all_requests=all_requests)
    if kinds == {"forget"}:
        proofs = surviving_proofs(db, scores, measure) if db else {}
        return forgetting_table(scores, measure, proofs, all_requests=all_requests)
    return None
