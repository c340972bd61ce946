"""Two scored edits side by side: metric deltas, facts flipped, chains opened and closed.

The edits may be of any method, model or options, as long as they are of one data set; differences
in setup are listed in `Diff.differences`. Chains are counted by each edit's options, and compared
by their sequence of entities, where both edits go from the same subject to the same old
object. Nothing is probed and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ...cypher import rows
from ..base.errors import UsageError
from ..graphs.datasets import require_graph
from ..models.diff import (
    ChainDelta,
    ChainsDiff,
    Diff,
    DiffedEdit,
    Difference,
    FactDelta,
    FactsDiff,
    LoneFact,
    MetricDelta,
)
from ..models.edit import MEASURE_NAMES, Measure, MetricValue, Score
from ..scoring import record
from ..scoring.metrics import chain_rows

if TYPE_CHECKING:
    from ...cypher.run import Database
    from ..scoring.intervals import Bounds


_NOT_COMPARED = "Chains are not compared: they start or end at other entities."
_REWRITE = (
    "They are different rewrites: of the facts, only those are compared that both graphs have."
)
_OPTIONS: dict[str, str] = {
    "max_steps": "Longer chains count in one of them only.",
    "bare": "The edited fact by itself counts as a chain in one of them only.",
    "threshold": "A chain is called cut at different strengths.",
    "unit": "Preservation is pooled in different ways.",
    "parallel": "Of parallel facts, different ones count for R'.",
    "rule": "Other facts and chains count as known before the edit.",
    "known": "Other facts count as known before the edit.",
    "known_chain": "Other chains count as known before the edit.",
}


def differences(a: Score, b: Score, measure: Measure) -> list[Difference]:
    """Differences in setup, stated symmetrically; methods are excluded, as they are compared."""
    found = [
        *_of_rewrite(a, b),
        _where("model", (a.model, b.model), "The probabilities before the edits differ too."),
        *_of_options(a, b, measure),
        *_of_provenance(a, b, measure),
    ]
    return [each for each in found if each is not None]


SCORED_AT = "scored at"
"""Names the difference of two scores whose queries changed in between."""

_SAMPLING = frozenset(
    {"samples", "measures", "max_new_tokens", "seed", "temperature", "top_p", "top_k"}
)
"""Options of a probe that only sampled answers depend on."""


def _where(what: str, values: tuple[object, object], note: str) -> Difference | None:
    if values[0] == values[1]:
        return None
    return Difference(what=what, a=str(values[0]), b=str(values[1]), note=note)


def _of_rewrite(a: Score, b: Score) -> Iterator[Difference | None]:
    yield _where("rewrite", (a.rewrite, b.rewrite), _REWRITE)
    for end in ("subject", "target_true"):
        yield _where(end, (getattr(a, end), getattr(b, end)), _NOT_COMPARED)


def _of_options(a: Score, b: Score, measure: Measure) -> Iterator[Difference | None]:
    for what, note in _OPTIONS.items():
        values = getattr(a.options, what), getattr(b.options, what)
        if what == "threshold":  # None is what the measure makes of it
            values = a.options.threshold_for(measure), b.options.threshold_for(measure)
        yield _where(what, values, note)


def _of_provenance(a: Score, b: Score, measure: Measure) -> Iterator[Difference | None]:
    yield _of_probe(a.provenance.get("probe"), b.provenance.get("probe"), measure)
    note = "The edits were computed with other random numbers."
    yield _where("seed", (a.provenance.get("seed"), b.provenance.get("seed")), note)
    digests = a.provenance.get("graph_digest"), b.provenance.get("graph_digest")
    note = "The data set was changed between them: the graphs may hold other facts."
    yield _where("graph_digest", digests, note)
    models = [s.provenance.get("model", {}) for s in (a, b)]
    if a.model == b.model:
        one, other = (str(m.get("digest"))[:12] for m in models)
        yield _where("model", (one, other), "They are two models of one name.")
    yield _of_formulas(a, b)


def _of_probe(a: object, b: object, measure: Measure) -> Difference | None:
    """Return how the two probes differ; options of sampling decide no likelihood."""
    settings = [
        {key: value for key, value in each.items() if key not in _SAMPLING}
        for each in (a, b)
        if isinstance(each, dict)
    ]
    if len(settings) == 2 and settings[0] == settings[1]:
        if measure != "p":
            return None
        note = "Likelihoods compare; sampled shares do not, as they were drawn in other ways."
        return _where("probe", _only_differing(a, b), note)
    note = "The facts were asked in other ways, so part of every delta may come from that."
    return _where("probe", _only_differing(a, b), note)


def _of_formulas(a: Score, b: Score) -> Difference | None:
    """Metrics whose queries changed between the two scores."""
    one, other = (score.provenance.get("queries", {}) for score in (a, b))
    changed = sorted(q for q in one.keys() & other.keys() if one[q] != other[q])
    if not changed:
        return None
    versions = [str(s.provenance.get("created_at")) for s in (a, b)]
    names = ", ".join(changed)
    return Difference(
        what=SCORED_AT,
        a=versions[0],
        b=versions[1],
        note=f"The queries changed in between ({names}); score both again to be sure.",
    )


def _only_differing(a: object, b: object) -> tuple[object, object]:
    """Of two settings the parts that are not alike, as texts; other values as they are."""
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return a, b
    keys = sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key))

    def parts(of: dict[str, object]) -> str:
        return ", ".join(f"{key} {_plain(of.get(key))}" for key in keys)

    return parts(a), parts(b)


def _plain(value: object) -> str:
    return " and ".join(map(str, value)) if isinstance(value, list) else str(value)


_MEASURE_ORDER = ("likelihood", "p", "likelihood_norm")
_Key = tuple[str, str, int | None]  # metric, measure, step
SAMPLED: Measure = "p"


def diff(db: Database, a: str, b: str, measure: Measure | None = None) -> Diff:
    """Return the differences of edit `b` from edit `a`; every delta is b − a.

    Args:
        a, b: ids of scored edits; any id that an edit ever had.
        measure: of the facts' and chains' probabilities; None: the first that both edits have.
            Metrics are given in all measures.

    Raises:
        NotFoundError, NothingStoredError: there is no such edit, or it has no score.
        UsageError: they are of different data sets, or one was not measured that way.
    """
    one, other = record.get_score(db, a), record.get_score(db, b)
    if one.dataset != other.dataset:
        raise UsageError(
            f"{one.edit!r} is an edit of the data set {one.dataset!r} and {other.edit!r} of"
            f" {other.dataset!r}: they share no facts and no chains.",
            remedy="Compare edits of one data set; `thinkeval results edits --graph NAME`"
            " lists them.",
        )
    by = _common_measure(db, one, other, measure)
    from ..scoring import intervals  # numpy; `--help` should not wait for it

    return Diff(
        dataset=one.dataset,
        measure=by,
        a=_diffed(one),
        b=_diffed(other),
        differences=differences(one, other, by),
        metrics=_metrics(one, other, intervals.difference_intervals(db, one, other)),
        facts=_facts(db, one, other, by),
        chains=_chains(db, one, other, by) if _ends(one) == _ends(other) else None,
    )


def _common_measure(db: Database, one: Score, other: Score, asked: Measure | None) -> Measure:
    stored = [set(require_graph(db, score.edit, kind="edit").measures) for score in (one, other)]
    common = [m for m in MEASURE_NAMES if m in stored[0] & stored[1]]
    common.sort(key=_MEASURE_ORDER.index)
    if not common:
        raise UsageError(
            f"{one.edit!r} and {other.edit!r} have no measure in common.",
            remedy="Score one of them again as the other was; --samples decides on `p`.",
        )
    if asked is None:
        return common[0]  # type: ignore[return-value]  # a key of MEASURE_NAMES
    if asked not in common:
        lacking = " and ".join(
            repr(s.edit) for s, has in zip((one, other), stored, strict=True) if asked not in has
        )
        raise UsageError(
            f"{lacking} was not measured by {asked!r}.",
            remedy=f"Use {' or '.join(common)}, which both have, or score it again.",
        )
    return asked


def _diffed(score: Score) -> DiffedEdit:
    return DiffedEdit.model_validate(score.model_dump(include=set(DiffedEdit.model_fields)))


def _ends(score: Score) -> tuple[str, str]:
    return score.subject, score.target_true


def _metrics(
    one: Score, other: Score, bounds: Mapping[tuple[str, int | None], Bounds]
) -> list[MetricDelta]:
    of_a: dict[_Key, MetricValue] = {(v.metric, v.measure, v.step): v for v in one.values}
    of_b: dict[_Key, MetricValue] = {(v.metric, v.measure, v.step): v for v in other.values}

    def place(key: _Key) -> tuple[int, str, str, int]:
        metric, measure, step = key
        known = measure in _MEASURE_ORDER
        order = _MEASURE_ORDER.index(measure) if known else len(_MEASURE_ORDER)
        return order, measure, metric, step or 0

    keys = sorted(of_a.keys() | of_b.keys(), key=place)
    return [
        _metric(
            key,
            of_a.get(key),
            of_b.get(key),
            bounds.get((key[0], key[2])) if key[1] == SAMPLED else None,
        )
        for key in keys
    ]


def _metric(
    key: _Key, a: MetricValue | None, b: MetricValue | None, bounds: Bounds | None
) -> MetricDelta:
    metric, measure, step = key
    # A value with n = 0 is a convention, not a measurement; only two of a kind can be compared.
    delta = None
    if a is not None and b is not None and (a.n == 0) == (b.n == 0):
        delta = b.value - a.value if a.value is not None and b.value is not None else None
    return MetricDelta(
        metric=metric,
        measure=measure,
        step=step,
        a=a.value if a else None,
        b=b.value if b else None,
        delta=delta,
        n_a=a.n if a else None,
        n_b=b.n if b else None,
        low_a=a.low if a else None,
        high_a=a.high if a else None,
        low_b=b.low if b else None,
        high_b=b.high if b else None,
        delta_low=bounds[0] if bounds and delta is not None else None,
        delta_high=bounds[1] if bounds and delta is not None else None,
    )


def _facts(db: Database, one: Score, other: Score, measure: Measure) -> FactsDiff:
    found = db.read(
        FactDelta,
        "diffs/facts",
        a=one.edit,
        b=other.edit,
        pre=f"{measure}_pre",
        post=f"{measure}_post",
    )
    return FactsDiff(
        shared=sum(row.in_a and row.in_b for row in found),
        flipped=[row for row in found if row.flipped],
        only_a=[_lone(row, "a") for row in found if not row.in_b],
        only_b=[_lone(row, "b") for row in found if not row.in_a],
    )


_OF_SIDE = ("pre", "post", "change", "says_pre", "says_post")
"""Fields of a fact that each edit has."""


def _lone(row: FactDelta, side: str) -> LoneFact:
    about = row.model_dump(include={"subject", "relation", "object", "prompt", "role"})
    values = {name: getattr(row, f"{name}_{side}") for name in _OF_SIDE}
    return LoneFact(**about, **values)


def _chains(db: Database, one: Score, other: Score, measure: Measure) -> ChainsDiff:
    of_a = {row.entities: row for row in chain_rows(db, one, measure)}
    of_b = {row.entities: row for row in chain_rows(db, other, measure)}
    both = [(of_a[entities], of_b[entities]) for entities in of_a.keys() & of_b.keys()]
    opened = [_chain(a, b) for a, b in both if b.surviving and not a.surviving]
    closed = [_chain(a, b) for a, b in both if a.surviving and not b.surviving]
    alone_a = [row for entities, row in of_a.items() if entities not in of_b]
    alone_b = [row for entities, row in of_b.items() if entities not in of_a]
    return ChainsDiff(
        shared=len(both),
        opened=sorted(opened, key=lambda c: (-c.r_post_b, c.steps, c.entities)),
        closed=sorted(closed, key=lambda c: (-c.r_post_a, c.steps, c.entities)),
        surviving_a=sum(row.surviving for row in of_a.values()),
        surviving_b=sum(row.surviving for row in of_b.values()),
        only_a=len(alone_a),
        only_b=len(alone_b),
        surviving_only_a=sum(row.surviving for row in alone_a),
        surviving_only_b=sum(row.surviving for row in alone_b),
    )


def _chain(a: rows.ScoredChainRow, b: rows.ScoredChainRow) -> ChainDelta:
    return ChainDelta(
        steps=a.steps,
        entities=list(a.entities),
        r_pre_a=a.r_pre,
        r_post_a=a.r_post,
        r_pre_b=b.r_pre,
        r_post_b=b.r_post,
    )
